# HDF5, without a change of the program: no lock on the file (only if no other program writes to it).
export HDF5_USE_FILE_LOCKING=FALSE
