# One sync after the last write, not one after each.
variable[first_row:first_row + rows, :] = values
dataset.sync()
