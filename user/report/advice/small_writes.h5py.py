# One assignment for many rows.
dset[first_row:first_row + rows, :] = values
