# No fill values in a dataset that is written completely.
dcpl = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
dcpl.set_fill_time(h5py.h5d.FILL_TIME_NEVER)
space = h5py.h5s.create_simple((rows, columns))
created = h5py.Dataset(h5py.h5d.create(file.id, b"pressure", h5py.h5t.NATIVE_DOUBLE, space, dcpl))
