/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Default version for programs that are linked without build/version.o: the tests.
 */
#include "util/version.h"

__attribute__((weak)) const char ioprobe_version[] = "unknown";
