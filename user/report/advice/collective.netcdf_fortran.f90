! Collective access to the variable: the library combines the ranks' pieces.
status = nf90_var_par_access(ncid, varid, nf90_collective)
