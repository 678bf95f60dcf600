# A chunk cache that holds the chunks of one pass.
file = h5py.File(path, "r+", rdcc_nbytes=64 << 20, rdcc_nslots=12421)
