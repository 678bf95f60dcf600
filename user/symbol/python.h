/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Python: where a CPython interpreter keeps the frames of its threads, and from which lines instructions come.
 */
#ifndef IOPROBE_SYMBOL_PYTHON_H
#define IOPROBE_SYMBOL_PYTHON_H

#include <ioprobe/sites.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PYTHON_OLD 1

/* What the file of an interpreter (python[3]*, libpython*.so) contains about its frames. Plain data: sent as it is. */
struct python_file {
	uint32_t version;               /* as PY_VERSION_HEX; PYTHON_OLD: 3.7 to 3.10, 0: it is no interpreter, or an older one */
	uint32_t known;                 /* 1: its frames can be read */
	uint64_t loop, loop_end;        /* offsets in the file of _PyEval_EvalFrameDefault, which runs frames */
	struct iop_python layout; /* runtime: counted from where the file's offset 0 would be mapped together with that function */
};

/* Whether a file may be an interpreter, by its path. */
bool python_is_interpreter(const char *path);

/* Runs in the parser process. fd stays the caller's. Returns 0, or -errno with static text in *reason. */
int python_file_read(struct python_file *out, int fd, const char **reason);

/* Whether all offsets are within what the BPF programs read at once. */
bool python_file_is_valid(const struct python_file *file);

/* The line of the instruction at this offset (bytes) in a code object, by its location table (CPython, Objects/locations.md, 3.11
 * and later). 0: it has none, or the table is damaged or cut. */
uint32_t python_line(const uint8_t *table, size_t len, int32_t first_line, uint32_t offset);

/* Whether code of this source file is the application's: not of Python's own library, nor of a package that reads and writes data
 * for others. */
bool python_is_application(const char *file);

#endif
