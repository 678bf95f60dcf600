/* All dimensions, variables and attributes, then one nc_enddef. */
nc_put_att_text(ncid, varid, "units", 1, "K");
nc_put_att_text(ncid, varid, "long_name", 11, "temperature");
nc_enddef(ncid);
