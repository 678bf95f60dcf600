/* One flush after the last write, not one after each. */
H5Dwrite(dset, H5T_NATIVE_DOUBLE, memspace, filespace, H5P_DEFAULT, values);
H5Fflush(file, H5F_SCOPE_GLOBAL);
