/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * For whatever is linked without build/version.o: the tests.
 */
#include "util/version.h"

__attribute__((weak)) const char ioprobe_version[] = "unknown";
