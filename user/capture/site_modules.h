/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Code mappings for call sites: the files in which call sites were found, and their addresses in each process.
 */
#ifndef IOPROBE_SITE_MODULES_H
#define IOPROBE_SITE_MODULES_H

#include <ioprobe/sites.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/bpf_side.h"
#include "elf/code_file.h"
#include "parse/parse.h"
#include "symbol/python.h"
#include "util/hash.h"

#define SITE_MAX_MODULES 2048   /* descriptors that are kept open */
#define SITE_BUILD_ID_TEXT 129

/* One place in a file: a return address. image, pc: where the programs were given its rule last. */
struct site_place { uint64_t offset, pc; struct iop_site_rule rule; uint32_t image; UT_hash_handle hh; };

struct site_module {
	struct code_file file;
	char *path;
	char build_id[SITE_BUILD_ID_TEXT];      /* "" if the file has none */
	char *reason;                   /* why it cannot be read, NULL: readable as far as is known */
	bool application;
	bool asked;                     /* for its build-id, and what it has of Python */
	bool python_noted;
	struct python_file python;
	struct site_place *places;
};

struct site_mapping { uint64_t start, end, offset; uint32_t module; bool noted; };

/* The code of one or several processes (bpf/DESIGN.md, "Call sites"). */
struct site_image {
	uint32_t image;
	struct site_mapping *v;
	size_t n;
	size_t searched;                /* of these, for a Python interpreter */
	UT_hash_handle hh;
};

struct site_modules {
	const struct bpf_side *kernel;
	const struct table_set *set;
	struct parse_pool *parsers;
	struct site_module **v;
	size_t n;
	struct site_image *images;
};

void site_modules_deinit(struct site_modules *modules);

/* The mapping of an address, NULL if it is in none. What is mapped now is read from /proc where the address is new; *gone: it could
 * not be, because the process has ended, or its code is not that of the image any more. */
struct site_mapping *site_modules_find(struct site_modules *modules, const struct iop_site_ask *ask, uint64_t pc, bool *gone);

/* Reads what a process maps before it has called anything: process is its slot, image the number of its code. */
void site_modules_prepare(struct site_modules *modules, pid_t tgid, uint32_t process, uint32_t image);

/* Forgets the code of images that no process has any more. */
void site_modules_keep(struct site_modules *modules, const struct image_numbers *images);

/* The rule of a return address in a module, with IOP_RULE_APPLICATION where it is due. NULL: the file cannot be read
 * (module->reason), or there is no memory. */
struct site_place *site_modules_place(struct site_modules *modules, struct site_module *module, uint64_t offset);

#endif
