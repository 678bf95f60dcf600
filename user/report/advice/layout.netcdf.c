/* Chunks of the shape that one call writes. */
nc_def_var(ncid, "pressure", NC_DOUBLE, 2, dimids, &varid);
nc_def_var_chunking(ncid, varid, NC_CHUNKED, (size_t[]){ rows, columns });
