/* One fsync after the last write, not one after each. */
for (size_t i = 0; i < n; i++)
	if (write(fd, &rows[i], sizeof(rows[i])) != sizeof(rows[i]))
		err(1, "%s", path);
if (fsync(fd))
	err(1, "%s", path);
