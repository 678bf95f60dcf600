/* Read many rows at once and take them from memory. */
size_t bytes = n * sizeof(*rows);
if (pread(fd, rows, bytes, 0) != (ssize_t)bytes)
	err(1, "%s", path);
