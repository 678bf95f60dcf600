/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * What to change: snippets of advice/, chosen for the libraries, the language and the file system of a finding.
 */
#ifndef IOPROBE_REPORT_ADVICE_H
#define IOPROBE_REPORT_ADVICE_H

#include <stddef.h>

#include "analysis/analysis.h"

#define ADVICE_MAX 4

/* interface: a programming interface, or what reads an environment (ROMIO, OMPIO, HDF5 with language "sh") or a file system
 * (Lustre). text: a first line of comment, which says what the change does, and a few lines of code. */
struct advice { const char *topic, *interface, *language, *text; };

/* Fills list with the advice of a finding: environments first, because they need no change of the program. Returns how many. */
size_t advice_of_finding(const struct analysis *a, const struct finding *f, const struct advice *list[ADVICE_MAX]);

/* Returns the next advice of a topic behind one, NULL: the first one, or none. */
const struct advice *advice_next(const char *topic, const struct advice *behind);

/* The first line without its comment characters. */
void advice_title(const struct advice *advice, char *text, size_t len);
const char *advice_interface_name(const struct advice *advice);        /* for users: "netCDF-Fortran" */

#endif
