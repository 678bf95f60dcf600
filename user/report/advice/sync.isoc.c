/* One fflush after the last record, not one after each. */
for (size_t i = 0; i < n; i++)
	fwrite(&rows[i], sizeof(rows[i]), 1, file);
if (fflush(file))
	err(1, "%s", path);
