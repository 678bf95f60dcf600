# All ranks open the file together and write their own part.
shared = h5py.File(path, "w", driver="mpio", comm=MPI.COMM_WORLD)
