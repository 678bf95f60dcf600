/* Chunks of the shape that one call writes. */
hid_t dcpl = H5Pcreate(H5P_DATASET_CREATE);
H5Pset_chunk(dcpl, 2, (hsize_t[]){ rows, columns });
hid_t created = H5Dcreate2(file, "pressure", H5T_NATIVE_DOUBLE, filespace, H5P_DEFAULT, dcpl, H5P_DEFAULT);
