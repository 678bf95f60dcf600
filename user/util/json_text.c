/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "util/json_text.h"

#include <stdlib.h>

#include "util/utf8.h"

json_t *json_text(const char *text)
{
	char *printable = text ? utf8_printable(text) : NULL;
	json_t *json = !text ? json_null() : printable ? json_string(printable) : NULL;

	free(printable);
	return json;
}
