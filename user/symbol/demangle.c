/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "symbol/demangle.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_SYMBOL 4096         /* longer symbols are not demangled: the result can be even longer */

typedef char *cxa_demangle(const char *name, char *buf, size_t *len, int *status);

/* Itanium C++ ABI, 3.4. A C program is not linked with a C++ library. */
static cxa_demangle *find_cxa_demangle(void)
{
	static cxa_demangle *found;
	static int looked;
	void *library;

	if (looked)
		return found;
	looked = 1;
	library = dlopen("libstdc++.so.6", RTLD_NOW | RTLD_LOCAL);
	found = library ? (cxa_demangle *)dlsym(library, "__cxa_demangle") : NULL;
	return found;
}

static char *demangle_cxx(const char *symbol)
{
	cxa_demangle *function = find_cxa_demangle();
	int status = -1;

	return function ? function(symbol, NULL, NULL, &status) : NULL;
}

static char *demangle_fortran(const char *symbol)
{
	const char *procedure = strstr(symbol + 2, "_MOD_");
	char *name = NULL;

	if (procedure && procedure > symbol + 2 && procedure[5] &&
	    asprintf(&name, "%.*s::%s", (int)(procedure - symbol - 2), symbol + 2, procedure + 5) < 0)
		name = NULL;
	return name;
}

char *symbol_demangle(const char *symbol)
{
	char *name = NULL;

	if (strlen(symbol) <= MAX_SYMBOL && !strncmp(symbol, "_Z", 2))
		name = demangle_cxx(symbol);
	else if (!strncmp(symbol, "__", 2))
		name = demangle_fortran(symbol);
	return name ? name : strdup(symbol);
}
