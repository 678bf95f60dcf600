! One call for many rows.
status = nf90_get_var(ncid, varid, values, start=[1, first_row], count=[columns, rows])
