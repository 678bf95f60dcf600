# One assignment for many rows.
variable[first_row:first_row + rows, :] = values
