/* More aggregators: for ROMIO two on each node, for OMPIO their number. */
MPI_Info_set(info, "cb_config_list", "*:2");
MPI_Info_set(info, "cb_nodes", "2");
MPI_File_open(comm, path, MPI_MODE_CREATE | MPI_MODE_RDWR, info, &file);
