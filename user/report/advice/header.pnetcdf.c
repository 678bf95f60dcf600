/* Room for attributes that come later, so that data need not move. */
MPI_Info_set(info, "nc_header_align_size", "1048576");
ncmpi_create(comm, path, NC_CLOBBER | NC_64BIT_DATA, info, &ncid);
