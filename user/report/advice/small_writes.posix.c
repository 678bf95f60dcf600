/* Collect rows in memory and write them at once. */
size_t bytes = n * sizeof(*rows);
if (write(fd, rows, bytes) != (ssize_t)bytes)
	err(1, "%s", path);
