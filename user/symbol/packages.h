/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Code that is not the application's: a call that comes from there is shown at the first frame outside of it.
 */
#ifndef IOPROBE_PACKAGES_H
#define IOPROBE_PACKAGES_H

#include <stdbool.h>

#include "table/table.h"

/* Whether the file is a library of the layers in the tables, a language's run time, or a binding; by its path. */
bool packages_look_through(const struct table_set *set, const char *path);

#endif
