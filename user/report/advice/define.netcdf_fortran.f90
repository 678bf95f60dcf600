! All dimensions, variables and attributes, then one nf90_enddef.
status = nf90_put_att(ncid, varid, "units", "K")
status = nf90_put_att(ncid, varid, "long_name", "temperature")
status = nf90_enddef(ncid)
