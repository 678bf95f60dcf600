/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The fuzz targets: each feeds one input to one parser of what users, other hosts or damaged disks hand in. With libFuzzer they are
 * programs of their own (make fuzz); tests/unit/fuzz_regression_test.c feeds them the inputs that once failed.
 */
#ifndef FUZZ_H
#define FUZZ_H

#include <stddef.h>
#include <stdint.h>

/* The fastest first. */
#define FUZZ_TARGETS(X) \
	X(plan) \
	X(table) \
	X(wire) \
	X(elf) \
	X(placement) \
	X(maps) \
	X(mounts) \
	X(spool) \
	X(code) \
	X(sides) \
	X(policy) \
	X(collect) \
	X(replay) \
	X(node)

#define FUZZ_DECLARE(name) int fuzz_##name(const uint8_t *data, size_t size);
FUZZ_TARGETS(FUZZ_DECLARE)

/* The input as a file whose content changes with each call, for parsers that open by name; the same name each time. */
const char *fuzz_file(const char *name, const void *data, size_t size);
const char *fuzz_directory(void);

/* The input as text: a copy that ends with NUL, to be freed. */
char *fuzz_text(const uint8_t *data, size_t size);

/* The built-in tables cut down to a few functions of every kind: parsing all of them would take most of the time. */
const char *fuzz_tables(void);

#endif
