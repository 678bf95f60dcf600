/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * lines DIR: lines of a stream on DIR/lines whose length the string alone does not show. 2 fputs ("abc\n": 4, 10000 characters
 * and a newline: 10001), 2 fwrite ("a\0b\n": 4, "end": 3). 6 fgets: 4, 5999 (as many as its room allows), 4002 (the rest), 4 (with
 * a NUL inside), 3 (the file's end instead of a newline), 0 (at the end). From a second stream 1 fgetc (1), its character put
 * back, and 1 fgets of 2 characters (2).
 */
#include "golden.h"

static void write_lines(const char *path)
{
	static char text[10002];
	FILE *f = fopen(path, "w");

	memset(text, 'x', 10000);
	text[10000] = '\n';
	must(f && fputs("abc\n", f) >= 0 && fputs(text, f) >= 0, "fputs");
	must(fwrite("a\0b\n", 1, 4, f) == 4 && fwrite("end", 1, 3, f) == 3, "fwrite");
	must(fclose(f) == 0, "fclose");
}

static void read_lines(const char *path)
{
	static char line[8192];
	FILE *f = fopen(path, "r");

	must(f && fgets(line, 100, f) && !strcmp(line, "abc\n"), "a line");
	must(fgets(line, 6000, f) && strlen(line) == 5999, "a part of a line");
	must(fgets(line, sizeof(line), f) && strlen(line) == 4002, "the rest of a line");
	must(fgets(line, 100, f) && !memcmp(line, "a\0b\n", 5), "a line with a NUL");
	must(fgets(line, 100, f) && !strcmp(line, "end"), "the last line");
	must(!fgets(line, 100, f) && feof(f), "the end");
	must(fclose(f) == 0, "fclose");
}

static void put_back(const char *path)
{
	FILE *f = fopen(path, "r");
	char line[3];
	int c;

	must(f && (c = fgetc(f)) == 'a' && ungetc(c, f) == c && fgets(line, sizeof(line), f) && !strcmp(line, "ab"), "put back");
	must(fclose(f) == 0, "fclose");
}

int main(int argc, char **argv)
{
	char path[4096];

	must(argc == 2, "usage: lines DIR");
	snprintf(path, sizeof(path), "%s/lines", argv[1]);
	write_lines(path);
	read_lines(path);
	put_back(path);
	return 0;
}
