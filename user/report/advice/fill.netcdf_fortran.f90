! No fill values in variables that are written completely; before they are defined.
status = nf90_set_fill(ncid, nf90_nofill, old_mode)
status = nf90_def_var(ncid, "pressure", nf90_double, dimids, varid)
