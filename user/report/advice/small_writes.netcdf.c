/* One call for many rows. */
nc_put_vara_double(ncid, varid, (size_t[]){ first_row, 0 }, (size_t[]){ rows, columns }, values);
