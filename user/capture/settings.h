/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * What is recorded and when a recording ends, by words that are the same on the command line (--WORD) and in the service's policy.
 */
#ifndef IOPROBE_SETTINGS_H
#define IOPROBE_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>

#include "capture/bounds.h"
#include "bpf/filter.h"

#define SETTINGS_MAX_MOUNTS 64

struct settings {
	struct filter filter;
	struct bounds bounds;
	double duration_s;              /* 0: no limit */
	char *shared_mounts[SETTINGS_MAX_MOUNTS];
	size_t nshared_mounts;
	bool keep_spool;
	bool no_shared_links;           /* probes are never placed for everybody */
};

/* Words: layers path exclude-path fd-kinds min-duration min-bytes stream-calls max-size min-free max-rate max-duration shared-mount
 * keep shared-links. Returns 0; -ENOENT for another word; -EINVAL or -ENOMEM with one line in err, which begins with the word. */
int settings_set(struct settings *settings, const char *word, const char *value, char *err, size_t err_len);
void settings_deinit(struct settings *settings);

#endif
