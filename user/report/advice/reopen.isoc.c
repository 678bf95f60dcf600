/* Open the stream once; rewind instead of opening it again. */
FILE *in = fopen(path, "r");
for (int step = 0; step < 3; step++) {
	rewind(in);
	if (fread(rows, sizeof(*rows), n, in) != n)
		err(1, "%s", path);
}
fclose(in);
