! Chunks of the shape that one call writes.
status = nf90_def_var(ncid, "pressure", nf90_double, dimids, varid, chunksizes=[columns, rows])
