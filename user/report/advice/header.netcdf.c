/* Room for attributes that come later, so that data need not move; instead of nc_enddef. */
nc__enddef(ncid, 1 << 20, 4, 0, 4);
