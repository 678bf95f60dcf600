/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * streams DIR: ISO C streams on DIR/stream: 2 fopen, 200 fwrite of 5 x 20 bytes (20000), 10 fprintf of 10 bytes, 10 fputs of 4, 20
 * fputc, 1 fflush, 2 fseek, 100 fread of 100 bytes, 10 fgets, 1 fread at the end (0 items), 2 fclose. Also built as a static
 * executable.
 */
#include "golden.h"

static void write_stream(const char *path)
{
	char block[100] = { 0 };
	FILE *f = fopen(path, "w");

	must(f != NULL, "fopen");
	memset(block, 'b', sizeof(block));
	for (int i = 0; i < 200; i++)
		must(fwrite(block, 20, 5, f) == 5, "fwrite");
	must(fflush(f) == 0, "fflush");
	for (int i = 0; i < 10; i++)
		must(fprintf(f, "line %04d\n", i) == 10, "fprintf");
	for (int i = 0; i < 10; i++)
		must(fputs("abc\n", f) >= 0, "fputs");
	for (int i = 0; i < 20; i++)
		must(fputc('c', f) == 'c', "fputc");
	must(fclose(f) == 0, "fclose");
}

static void read_stream(const char *path)
{
	char block[100], line[64];
	FILE *f = fopen(path, "r");

	must(f != NULL, "fopen");
	for (int i = 0; i < 100; i++)
		must(fread(block, 1, 100, f) == 100, "fread");
	must(fseek(f, 20000, SEEK_SET) == 0, "fseek");
	for (int i = 0; i < 10; i++)
		must(fgets(line, sizeof(line), f) && strlen(line) == 10, "fgets");
	must(fseek(f, 0, SEEK_END) == 0, "fseek");
	must(fread(block, 1, 1, f) == 0 && feof(f), "fread at the end");
	must(fclose(f) == 0, "fclose");
}

int main(int argc, char **argv)
{
	if (argc != 2)
		return 2;
	write_stream(IN_DIR(argv[1], "stream"));
	read_stream(IN_DIR(argv[1], "stream"));
	return 0;
}
