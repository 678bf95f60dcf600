# One flush after the last write, not one after each.
dset[first_row:first_row + rows, :] = values
file.flush()
