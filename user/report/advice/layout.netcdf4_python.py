# Chunks of the shape that one assignment writes.
created = dataset.createVariable("pressure", "f8", ("row", "column"), chunksizes=(rows, columns))
