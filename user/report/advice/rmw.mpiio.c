/* ROMIO: no data sieving of writes, which reads what lies between the pieces; or write collectively. */
MPI_Info_set(info, "romio_ds_write", "disable");
MPI_File_open(comm, path, MPI_MODE_CREATE | MPI_MODE_RDWR, info, &file);
