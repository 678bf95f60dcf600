/* Objects of 64 KiB and more begin at multiples of the stripe size. */
hid_t fapl = H5Pcreate(H5P_FILE_ACCESS);
H5Pset_fapl_mpio(fapl, comm, MPI_INFO_NULL);
H5Pset_alignment(fapl, 64 << 10, 4 << 20);
hid_t created = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, fapl);
