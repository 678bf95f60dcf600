/* All ranks open the file together and write their own part. */
hid_t fapl = H5Pcreate(H5P_FILE_ACCESS);
H5Pset_fapl_mpio(fapl, comm, MPI_INFO_NULL);
hid_t created = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, fapl);
