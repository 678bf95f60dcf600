# A chunk cache that holds the chunks of one pass.
variable.set_var_chunk_cache(size=64 << 20, nelems=1009, preemption=0.75)
