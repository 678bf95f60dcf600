/* Collective transfer: the library combines the ranks' pieces. H5Dread takes the same list. */
hid_t dxpl = H5Pcreate(H5P_DATASET_XFER);
H5Pset_dxpl_mpio(dxpl, H5FD_MPIO_COLLECTIVE);
H5Dwrite(dset, H5T_NATIVE_DOUBLE, memspace, filespace, dxpl, values);
H5Pclose(dxpl);
