/* Read the file once and keep it in memory. */
char *copy = malloc(n * sizeof(*rows));
ssize_t got = copy ? pread(fd, copy, n * sizeof(*rows), 0) : -1;
if (got < 0)
	err(1, "%s", path);
