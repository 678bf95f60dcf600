/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * standard DIR: the standard streams, by functions that are given the stream and by functions that are not. On stdout 3 fprintf of
 * 4 bytes, 5 fputc, 1 puts and 2 printf of 4; on stderr 1 fprintf and 1 fputc; on stdin 1 getchar and 2 fgetc, at the end of the
 * file. Then freopen of stdout on DIR/reopened, and there 1 fprintf and 1 printf of 4 bytes. Nothing is flushed but by freopen and
 * the exit.
 */
#include "golden.h"

int main(int argc, char **argv)
{
	volatile char text[] = "text";

	if (argc != 2)
		return 2;
	for (int i = 0; i < 3; i++)
		must(fprintf(stdout, "%03d\n", i) == 4, "fprintf");
	for (int i = 0; i < 5; i++)
		must(fputc('c', stdout) == 'c', "fputc");
	must(puts((char *)text) >= 0, "puts");
	for (int i = 0; i < 2; i++)
		must(printf("%03d\n", i) == 4, "printf");
	must(fprintf(stderr, "%03d\n", 1) == 4 && fputc('e', stderr) == 'e', "stderr");
	must(getchar() == EOF && fgetc(stdin) == EOF && fgetc(stdin) == EOF, "stdin");
	must(freopen(IN_DIR(argv[1], "reopened"), "w", stdout) == stdout, "freopen");
	must(fprintf(stdout, "%03d\n", 1) == 4 && printf("%03d\n", 2) == 4, "reopened");
	return 0;
}
