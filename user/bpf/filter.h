/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Filters of the user, in the form that the BPF programs apply them. Excluded calls are counted there.
 */
#ifndef IOPROBE_FILTER_H
#define IOPROBE_FILTER_H

#include <ioprobe/descriptor.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct filter {
	uint32_t kinds;                         /* bit st_mode >> 12; 0: all */
	struct iop_path_filter paths[IOP_MAX_PATH_FILTERS];
	size_t npaths;
	uint64_t min_duration_ns, min_bytes;
	bool count_streams;
	char text[IOP_FILTERS][1024];           /* the options that define it, for readers; "" if there are none */
	char layers[1024];                      /* --layers as given, "" if not; it takes effect in the tables (table_set_select) */
};

/* Each parses an option's value as the user wrote it. Returns 0, or -EINVAL with one line in err. */
int filter_add_paths(struct filter *filter, const char *list, bool exclude, char *err, size_t err_len);
int filter_set_kinds(struct filter *filter, const char *list, char *err, size_t err_len);
int filter_set_min_duration(struct filter *filter, const char *text, char *err, size_t err_len);        /* 10us, 1.5ms, 2s */
int filter_set_min_bytes(struct filter *filter, const char *text, char *err, size_t err_len);           /* 4096, 4KiB, 1M */
int filter_set_stream_calls(struct filter *filter, const char *text, char *err, size_t err_len);        /* record, count */

/* Converts "/a/b" to "b\0a\0", the form in which BPF programs send paths. Returns the length. */
size_t path_reverse(char *out, size_t room, const char *path);

bool filter_by_file(const struct filter *filter);
/* Makes the BPF programs' decision for a descriptor found in /proc; path is NULL if it has none there. */
bool filter_wants_file(const struct filter *filter, mode_t mode, const char *path);

#endif
