/* A chunk cache that holds the chunks of one pass, opened with the dataset. */
hid_t dapl = H5Pcreate(H5P_DATASET_ACCESS);
H5Pset_chunk_cache(dapl, 12421, 64 << 20, 1.0);
hid_t opened = H5Dopen2(file, "field", dapl);
