/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Layouts: a table for 3.11 and 3.12; 3.13 states its own at the beginning of _PyRuntime (Include/internal/pycore_runtime.h,
 * _Py_DebugOffsets). Others are not known, and their frames not read.
 */
#include "symbol/python.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "elf/symbols.h"

#define LOOP "_PyEval_EvalFrameDefault"

/* ---- which files ---- */

static const char *python_last_component(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

bool python_is_interpreter(const char *path)
{
	const char *name = python_last_component(path);

	return !fnmatch("python[3-9]*", name, 0) || !fnmatch("libpython[3-9]*.so*", name, 0) || !strcmp(name, "python");
}

/* Parts of a path: libraries that are not the application's. */
static const char *const packages[] = { "h5py",   "netCDF4", "cftime",  "mpi4py",    "numpy",      "scipy",  "torch",
					"zarr",   "xarray",  "pandas",  "numcodecs", "pyarrow",    "tables", "dask",
					"fsspec", "adios2",  "pnetcdf", "h5netcdf",  "tensorflow", "PIL" };

static bool is_data_package(const char *below)
{
	for (size_t i = 0; i < sizeof(packages) / sizeof(packages[0]); i++) {
		size_t len = strlen(packages[i]);

		if (!strncmp(below, packages[i], len) && (below[len] == '/' || below[len] == '.'))
			return true;
	}
	return false;
}

bool python_is_application(const char *file)
{
	const char *site = strstr(file, "/site-packages/"), *dist = strstr(file, "/dist-packages/");

	/* in 3.13 a frame that represents a call of a C function has this file name */
	if (!strncmp(file, "<frozen ", 8) || !strcmp(file, "<shim>") || !strcmp(file, "__init__"))
		return false;
	if (site || dist)
		return !is_data_package(site ? site + 15 : dist + 15);
	return fnmatch("*/lib/python[3-9].*", file, 0) && fnmatch("*/lib64/python[3-9].*", file, 0);
}

/* ---- layouts ---- */

/* PyBytesObject and str are laid out alike in 3.12 and 3.13; 3.11 has a wchar_t pointer in str. */
#define STRINGS_3_11 \
	.string_length = 16, .string_state = 32, .string_ascii = 48, .string_wide = 72, .bytes_length = 16, .bytes_data = 32
#define STRINGS_3_12 \
	.string_length = 16, .string_state = 32, .string_ascii = 40, .string_wide = 56, .bytes_length = 16, .bytes_data = 32

#define FRAME_OWNED_BY_CSTACK 3         /* Include/internal/pycore_frame.h */

static const struct iop_python layout_3_11 = {
	.interpreters = 40,
	.interpreter_next = 0,
	.interpreter_threads = 16,
	.thread_next = 8,
	.thread_id = 152,
	.thread_frame = 56,
	.holder_frame = 8,
	.frame_code = 32,
	.frame_previous = 48,
	.frame_instruction = 56,
	.frame_entry = 68,
	.entry_value = 1,
	.code = 72,
	.code_first_line = 72,
	.code_file = 112,
	.code_name = 128,
	.code_lines = 136,
	.code_instructions = 184,
	STRINGS_3_11,
};

static const struct iop_python layout_3_12 = {
	.interpreters = 40,
	.interpreter_next = 0,
	.interpreter_threads = 72,
	.thread_next = 8,
	.thread_id = 136,
	.thread_frame = 56,
	.holder_frame = 0,
	.frame_code = 0,
	.frame_previous = 8,
	.frame_instruction = 56,
	.frame_entry = 70,
	.entry_value = FRAME_OWNED_BY_CSTACK,
	.entry_is_marker = 1,
	.code = 64,
	.code_first_line = 68,
	.code_file = 112,
	.code_name = 128,
	.code_lines = 136,
	.code_instructions = 192,
	STRINGS_3_12,
};

/* The first members of _Py_DebugOffsets of 3.13. */
struct debug_offsets {
	char cookie[8];
	uint64_t version, free_threaded;
	struct { uint64_t size, finalizing, interpreters_head; } runtime;
	struct { uint64_t size, id, next, threads_head, others[9]; } interpreter;
	struct { uint64_t size, prev, next, interp, current_frame, thread_id, native_thread_id, datastack_chunk, status; } thread;
	struct { uint64_t size, previous, executable, instr_ptr, localsplus, owner; } frame;
	struct { uint64_t size, filename, name, qualname, linetable, firstlineno, others[3], co_code_adaptive; } code;
};

static bool layout_of_offsets(const struct debug_offsets *o, struct iop_python *layout)
{
	if (memcmp(o->cookie, "xdebugpy", 8) || o->version >> 16 != 0x030d || o->free_threaded)
		return false;
	*layout = (struct iop_python){
		.interpreters = o->runtime.interpreters_head, .interpreter_next = o->interpreter.next,
		.interpreter_threads = o->interpreter.threads_head, .thread_next = o->thread.next, .thread_id = o->thread.thread_id,
		.thread_frame = o->thread.current_frame, .holder_frame = IOP_PYTHON_DIRECT, .frame_code = o->frame.executable,
		.frame_previous = o->frame.previous, .frame_instruction = o->frame.instr_ptr, .frame_entry = o->frame.owner,
		.entry_value = FRAME_OWNED_BY_CSTACK, .entry_is_marker = 1, .code = o->code.firstlineno & ~7ull,
		.code_first_line = o->code.firstlineno, .code_file = o->code.filename, .code_name = o->code.qualname,
		.code_lines = o->code.linetable, .code_instructions = o->code.co_code_adaptive, STRINGS_3_12,
	};
	return true;
}

/* From here on members of a code object count from the first that is read. */
static void count_from_first(struct iop_python *layout)
{
	layout->code_first_line -= layout->code;
	layout->code_file -= layout->code;
	layout->code_name -= layout->code;
	layout->code_lines -= layout->code;
}

static bool find_layout(struct elf_file *file, uint64_t runtime, uint32_t version, struct iop_python *layout)
{
	struct debug_offsets offsets;

	switch (version >> 16) {
	case 0x030b: *layout = layout_3_11; break;
	case 0x030c: *layout = layout_3_12; break;
	default:
		if (elf_file_read(file, runtime, &offsets, sizeof(offsets)) != sizeof(offsets) ||
		    !layout_of_offsets(&offsets, layout))
			return false;
	}
	count_from_first(layout);
	return true;
}

static bool python_fits(unsigned offset, unsigned size)
{
	return offset + size <= IOP_PYTHON_WINDOW;
}

bool python_file_is_valid(const struct python_file *file)
{
	const struct iop_python *l = &file->layout;

	if (file->known > 1 || file->loop >= file->loop_end)
		return false;
	return python_fits(l->frame_code, 8) && python_fits(l->frame_previous, 8) && python_fits(l->frame_instruction, 8) &&
	       python_fits(l->frame_entry, 1) && python_fits(l->code_first_line, 4) && python_fits(l->code_file, 8) &&
	       python_fits(l->code_name, 8) && python_fits(l->code_lines, 8) && l->entry_is_marker <= 1;
}

/* ---- the file ---- */

static int read_file(struct python_file *out, struct elf_file *file)
{
	static const char *const names[] = { LOOP };
	struct elf_function *functions;
	uint64_t runtime, size, at;
	unsigned long version = 0;
	size_t n;
	int err;

	if (!elf_file_object(file, "_PyRuntime", &runtime, &size))
		return 0;
	out->version = PYTHON_OLD;
	if (!elf_file_object(file, "Py_Version", &at, &size) ||
	    elf_file_read(file, at, &version, sizeof(version)) != sizeof(version))
		return 0;
	err = elf_file_functions(file, names, 1, &functions, &n);
	if (err)
		return err;
	out->version = version;
	if (n && functions[0].size) {
		out->loop = functions[0].file_offset;
		out->loop_end = out->loop + functions[0].size;
		out->known = find_layout(file, runtime, version, &out->layout);
		out->layout.runtime = runtime - (functions[0].vaddr - functions[0].file_offset);
	}
	free(functions);
	return 0;
}

int python_file_read(struct python_file *out, int fd, const char **reason)
{
	struct elf_file *file;
	int err = elf_file_open(&file, fd, reason);

	*out = (struct python_file){ 0 };
	if (err)
		return err;
	err = read_file(out, file);
	if (err)
		*reason = "out of memory";
	if (out->known && !python_file_is_valid(out))
		out->known = 0;
	elf_file_destroy(file);
	return err;
}

/* ---- lines ---- */

struct location_table { const uint8_t *v; size_t n, at; };

static unsigned next_byte(struct location_table *table)
{
	return table->at < table->n ? table->v[table->at++] : 0;
}

/* Six bits in a byte, the lowest first; bit 6: more follow. */
static uint64_t next_number(struct location_table *table)
{
	uint64_t value = 0;

	for (unsigned shift = 0; shift < 60; shift += 6) {
		unsigned byte = next_byte(table);

		value |= (uint64_t)(byte & 63) << shift;
		if (!(byte & 64))
			break;
	}
	return value;
}

static int64_t next_signed(struct location_table *table)
{
	uint64_t value = next_number(table);

	return value & 1 ? -(int64_t)(value >> 1) : (int64_t)(value >> 1);
}

enum location_kind {
	LOCATION_SHORT_END = 9,
	LOCATION_ONE_LINE_END = 12,
	LOCATION_LINE = 13,
	LOCATION_LONG = 14,
	LOCATION_NONE = 15
};

/* What an entry adds to the line; its columns are skipped. */
static int64_t line_delta(struct location_table *table, unsigned kind)
{
	int64_t delta = 0;

	if (kind <= LOCATION_SHORT_END) {
		table->at++;
	} else if (kind <= LOCATION_ONE_LINE_END) {
		table->at += 2;
		delta = kind - 10;
	} else if (kind <= LOCATION_LONG) {
		delta = next_signed(table);
		for (int i = 0; kind == LOCATION_LONG && i < 3; i++)
			next_number(table);
	}
	return delta;
}

uint32_t python_line(const uint8_t *table, size_t len, int32_t first_line, uint32_t offset)
{
	struct location_table t = { table, len, 0 };
	int64_t line = first_line;
	uint64_t at = 0;

	while (t.at < t.n) {
		unsigned head = next_byte(&t), kind = head >> 3 & 15;

		if (!(head & 128))
			return 0;
		line += line_delta(&t, kind);
		at += 2 * ((head & 7) + 1);
		if (t.at > t.n || line < INT32_MIN || line > INT32_MAX)
			return 0;
		if (offset < at)
			return kind == LOCATION_NONE || line < 0 ? 0 : line;
	}
	return 0;
}
