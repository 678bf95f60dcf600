/* One nc_sync after the last write, not one after each. */
nc_put_vara_double(ncid, varid, (size_t[]){ first_row, 0 }, (size_t[]){ rows, columns }, values);
nc_sync(ncid);
