# Read many rows at once and take them from the array.
block = variable[first_row:first_row + rows, :]
