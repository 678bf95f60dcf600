/* Open the file once and keep the descriptor. */
int file = open(path, O_RDONLY);
for (size_t i = 0; i < n; i++)
	if (pread(file, &rows[i], sizeof(rows[i]), i * sizeof(rows[i])) != sizeof(rows[i]))
		err(1, "%s", path);
close(file);
