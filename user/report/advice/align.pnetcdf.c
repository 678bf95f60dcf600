/* Variables begin at multiples of the stripe size. */
MPI_Info_set(info, "nc_var_align_size", "4194304");
ncmpi_create(comm, path, NC_CLOBBER | NC_64BIT_DATA, info, &ncid);
