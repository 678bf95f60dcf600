/* Collective access to the variable: the library combines the ranks' pieces. */
nc_var_par_access(ncid, varid, NC_COLLECTIVE);
