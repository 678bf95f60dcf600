! A chunk cache that holds the chunks of one pass.
status = nf90_def_var(ncid, "pressure", nf90_double, dimids, varid, chunksizes=[columns, rows], cache_size=67108864)
