! Room for attributes that come later, so that data need not move.
status = nf90_enddef(ncid, h_minfree=1048576)
