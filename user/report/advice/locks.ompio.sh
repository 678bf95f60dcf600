# OMPIO, without a change of the program: no locks round each write (only if no other node writes to the file).
export OMPI_MCA_fs_ufs_lock_algorithm=1
