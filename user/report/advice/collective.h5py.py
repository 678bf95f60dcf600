# Collective transfer: the library combines the ranks' pieces.
with dset.collective:
    dset[first_row:first_row + rows, :] = values
