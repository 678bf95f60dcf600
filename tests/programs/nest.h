/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * libnest, a site's own library for tests: recursion and calls back into user code. Its table is nest.probes.
 */
#ifndef NEST_H
#define NEST_H

#ifdef __cplusplus
extern "C" {
#endif

/* Sleeps level x 10 ms, then calls itself with level - 1 down to 1. nest_work(3) lasts 60 ms, with 30 ms and 10 ms inside. */
int nest_work(int level);

/* Calls itself n deep without a pause; returns n. */
int nest_deep(int n);

/* Calls fn(arg) and returns its result. */
int nest_call(int (*fn)(void *), void *arg);

/* Four names and an array, which it does not read. Returns the array as a handle. */
const void *nest_names(const char *name, const char *mode, const char *path, const char *path2, const long *values);

#ifdef __cplusplus
}
#endif
#endif
