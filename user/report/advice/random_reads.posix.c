/* Announce the parts that come next, so that the kernel reads them ahead; or sort the reads by offset. */
for (size_t i = 0; i < n; i++)
	posix_fadvise(fd, i * sizeof(rows[i]), sizeof(rows[i]), POSIX_FADV_WILLNEED);
