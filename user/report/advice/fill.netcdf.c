/* No fill values in variables that are written completely; before they are defined. */
nc_set_fill(ncid, NC_NOFILL, NULL);
nc_def_var(ncid, "pressure", NC_DOUBLE, 2, dimids, &varid);
