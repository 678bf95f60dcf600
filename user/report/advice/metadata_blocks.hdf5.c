/* Metadata in blocks of 1 MiB instead of 2 KiB. */
hid_t fapl = H5Pcreate(H5P_FILE_ACCESS);
H5Pset_meta_block_size(fapl, 1 << 20);
hid_t created = H5Fcreate(own_path, H5F_ACC_TRUNC, H5P_DEFAULT, fapl);
