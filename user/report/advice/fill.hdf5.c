/* No fill values in a dataset that is written completely. */
hid_t dcpl = H5Pcreate(H5P_DATASET_CREATE);
H5Pset_fill_time(dcpl, H5D_FILL_TIME_NEVER);
hid_t created = H5Dcreate2(file, "pressure", H5T_NATIVE_DOUBLE, filespace, H5P_DEFAULT, dcpl, H5P_DEFAULT);
