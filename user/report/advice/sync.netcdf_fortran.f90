! One nf90_sync after the last write, not one after each.
status = nf90_put_var(ncid, varid, values, start=[1, first_row], count=[columns, rows])
status = nf90_sync(ncid)
