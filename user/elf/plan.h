/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Determines which rows of the tables a file provides, and where to probe them.
 */
#ifndef IOPROBE_PLAN_H
#define IOPROBE_PLAN_H

#include "elf/build_id.h"
#include "elf/placement.h"
#include "elf/switchers.h"
#include "table/table.h"

struct plan_point {
	uint16_t row;                   /* probe number */
	uint64_t file_offset;           /* of the probe, placement.offset included */
	struct placement placement;
	uint64_t second_offset;         /* file offset at which only the entry is observed (placement_second), 0: none */
	uint32_t second_frame;
	const char *function;           /* its name, as in the row */
};

/* In the table, but not probed here; the reason is static text, or in plan.texts. A function that a library does not have (other
 * version) cannot be called in it either. */
struct plan_missing { uint16_t row; const char *reason; };
#define PLAN_ABSENT "not in this file"
#define PLAN_JUMPS "only jumps to another function of the table, under whose name its calls are recorded"

/* Properties of one layer of the tables in this file. */
struct plan_layer {
	uint16_t layer;                 /* index in table_set.layers */
	bool parallel;                  /* its parallel_symbol is exported here, or the layer is always parallel */
	bool known_abi;                 /* table_layer.abi is present and matches */
	bool narrow;                    /* table_layer.narrow_symbol is present: handles are 32-bit numbers */
	char version[48];               /* "" if unknown */
};

struct plan {
	struct plan_point *points;
	size_t npoints;
	struct plan_missing *missing;
	size_t nmissing;
	struct plan_layer *layers;
	size_t nlayers;
	/* link-time addresses of any layer's predefined communicators (table_layer.comms), 0 if not defined here; an executable may
	 * have the effective copy (copy relocation) although it provides no layer */
	uint64_t comm_vaddr[TABLE_COMM_KINDS];
	/* the same for standard streams (table_layer.streams) */
	uint64_t stream_vaddr[TABLE_STREAMS];
	/* a bit for each of the first 64 layers: table_layer.abi matches here, although the layer may be in another file */
	uint64_t known_abis;
	/* the same for those predefined types that are symbols (table_layer.types), in the order of the tables, 0 if not defined
	 * here. NULL: none is */
	uint64_t *constants;
	size_t nconstants;              /* plan_constants_of() for all layers, or 0 */
	uint64_t first_vaddr;           /* elf_file_first_vaddr: load bias = module base - first_vaddr */
	uint64_t rendezvous_offset;     /* file offset of _dl_debug_state if this is a dynamic linker, else 0 */
	uint8_t build_id[BUILD_ID_MAX];
	size_t build_id_len;            /* 0: it has none */
	enum stack_switching switching;
	bool stripped_static;           /* a static executable without symbols: its library calls cannot be observed */
	char *texts;                    /* storage of reasons that are not static; NULL if there are none */
};

#define PLAN_MAX_POINTS 16384   /* more than any library has; a file with more is rejected */

struct elf_names;

/* What is looked up in each file; set must outlive it. Returns 0 or -ENOMEM. */
int plan_names_create(struct elf_names **out, const struct table_set *set);

/* Reads the file behind fd, which is open for reading and stays the caller's; name is compared with the library patterns (the
 * path's last component). A file that provides no layer gives an empty plan. Returns 0, or -errno with the reason in err (-ENOEXEC:
 * not an ELF file). set must outlive the plan. names: of
 * plan_names_create. */
int plan_create(struct plan *out, const struct table_set *set, struct elf_names *names, int fd, const char *name, char *err,
		size_t err_len);
void plan_destroy(struct plan *plan);

/* Returns the index in plan.constants at which a layer's types begin; for the number of layers: the total. */
size_t plan_constants_of(const struct table_set *set, size_t layer);

#endif
