/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * names: calls nest_names with four names of 1022 characters, more than a record has room for, and with an array whose bytes are a
 * name; with four short ones and the array; and with these and no array.
 */
#include "golden.h"
#include "nest.h"

#define LONG_NAME 1022

static const char *long_name(char letter)
{
	char *name = malloc(LONG_NAME + 1);

	must(name != NULL, "malloc");
	memset(name, letter, LONG_NAME);
	name[0] = '/';
	name[LONG_NAME] = 0;
	return name;
}

/* In memory that was written: a page of constants that was not read yet is not mapped for an observer, either. */
static const char *in_memory(const char *name)
{
	const char *copy = strdup(name);

	must(copy != NULL, "strdup");
	return copy;
}

int main(void)
{
	long values[8];

	memset(values, 'A', sizeof(values));
	must(nest_names(long_name('b'), long_name('c'), long_name('d'), long_name('e'), values) != NULL, "nest_names");
	must(nest_names(in_memory("/short"), in_memory("mode"), in_memory("/from"), in_memory("/to"), values) != NULL,
	     "nest_names");
	must(nest_names(in_memory("/short"), in_memory("mode"), in_memory("/from"), in_memory("/null"), NULL) == NULL,
	     "nest_names");
	return 0;
}
