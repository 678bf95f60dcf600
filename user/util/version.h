/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The version of this build, from tools/version. Only the program itself is linked with it, so that a new commit does not relink
 * the tests.
 */
#ifndef IOPROBE_VERSION_H
#define IOPROBE_VERSION_H

extern const char ioprobe_version[];    /* 0.1, 0.1-12-g1309657, … */

#endif
