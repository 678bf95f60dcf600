/* One rank reads metadata for all, and writes are combined. */
hid_t fapl = H5Pcreate(H5P_FILE_ACCESS);
H5Pset_fapl_mpio(fapl, comm, MPI_INFO_NULL);
H5Pset_all_coll_metadata_ops(fapl, true);
H5Pset_coll_metadata_write(fapl, true);
hid_t created = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, fapl);
