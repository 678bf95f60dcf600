/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Code that does not belong to the application: a call from there is attributed to the first frame outside.
 */
#ifndef IOPROBE_PACKAGES_H
#define IOPROBE_PACKAGES_H

#include <stdbool.h>

#include "table/table.h"

/* Returns whether the file at this path is a library of the layers in the tables, a language's run-time library, or a binding. */
bool packages_look_through(const struct table_set *set, const char *path);

#endif
