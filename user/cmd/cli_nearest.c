/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * "Did you mean": finds the known name that is closest to a mistyped word.
 */
#include "cmd/cli.h"

#include <limits.h>
#include <string.h>

#define MAX_WORD 32     /* longer words get no suggestion */

static int cli_nearest_least(int a, int b)
{
	return a < b ? a : b;
}

/* Returns the number of insertions, deletions, replacements and transpositions that turn a into b (optimal string alignment). */
static int cli_nearest_distance(const char *a, const char *b)
{
	int table[MAX_WORD + 1][MAX_WORD + 1], rows = strlen(a), columns = strlen(b);

	if (rows > MAX_WORD || columns > MAX_WORD)
		return INT_MAX;
	for (int i = 0; i <= rows; i++)
		table[i][0] = i;
	for (int j = 0; j <= columns; j++)
		table[0][j] = j;
	for (int i = 1; i <= rows; i++)
		for (int j = 1; j <= columns; j++) {
			table[i][j] = cli_nearest_least(cli_nearest_least(table[i - 1][j], table[i][j - 1]) + 1,
							table[i - 1][j - 1] + (a[i - 1] != b[j - 1]));
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				table[i][j] = cli_nearest_least(table[i][j], table[i - 2][j - 2] + 1);
		}
	return table[rows][columns];
}

const char *cli_nearest(const char *word, const char *(*next)(void *, size_t), void *arg)
{
	int limit = strlen(word) > 5 ? 3 : strlen(word) > 2 ? 2 : 1, best = limit;
	const char *found = NULL, *name;

	for (size_t i = 0; (name = next(arg, i)); i++) {
		int d = cli_nearest_distance(word, name);

		if (d < best || (d == best && !found)) {
			best = d;
			found = name;
		}
	}
	return found;
}
