/* Reserve the final size once, before the first write. */
if ((errno = posix_fallocate(fd, 0, n * sizeof(*rows))))
	err(1, "%s", path);
