/* All ranks open the file together and write their own part. */
nc_create_par(path, NC_NETCDF4 | NC_CLOBBER, comm, MPI_INFO_NULL, &ncid);
