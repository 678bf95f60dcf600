# Chunks of the shape that one assignment writes.
created = file.create_dataset("pressure", (rows, columns), "f8", chunks=(rows, columns))
