/* A chunk cache that holds the chunks of one pass. */
nc_set_var_chunk_cache(ncid, varid, 64 << 20, 1009, 0.75f);
