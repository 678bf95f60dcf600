/* One call for many rows. */
H5Sselect_hyperslab(filespace, H5S_SELECT_SET, (hsize_t[]){ first_row, 0 }, NULL, (hsize_t[]){ rows, columns }, NULL);
H5Dwrite(dset, H5T_NATIVE_DOUBLE, memspace, filespace, H5P_DEFAULT, values);
