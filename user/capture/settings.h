/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Settings of a recording, by words that are the same on the command line (--WORD) and in the service's policy.
 */
#ifndef IOPROBE_SETTINGS_H
#define IOPROBE_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>

#include "capture/bounds.h"
#include "bpf/filter.h"

#define SETTINGS_MAX_MOUNTS 64
#define SETTINGS_MAX_STREAMS 8

struct settings {
	struct filter filter;
	struct bounds bounds;
	double duration_s;              /* 0: no limit */
	char *shared_mounts[SETTINGS_MAX_MOUNTS];
	size_t nshared_mounts;
	char *streams[SETTINGS_MAX_STREAMS];    /* outputs of the stream (stream/outputs.h); none: it is not streamed */
	size_t nstreams;
	char stream_interval[32], stream_names[8], stream_events[64];   /* "": the default */
	char collect_secret[1024], collect_ca[1024];    /* files, for outputs collect:HOST:PORT; "": none */
	bool keep_spool;
	bool no_shared_links;           /* probes are never placed for all processes */
	bool lazy_streams;              /* probes on streams only in processes that live longer than 10 ms */
	unsigned call_sites;            /* application frames in a chain; 0: no call sites */
};

/* Words: layers path exclude-path fd-kinds min-duration min-bytes stream-calls max-size min-free max-rate max-duration shared-mount
 * keep shared-links lazy-streams call-sites collect-secret collect-ca; stream stream-interval stream-names stream-events, whose
 * values are not checked here. Returns 0; -ENOENT for an unknown word; -EINVAL or -ENOMEM with one line in err that begins with the
 * word. */
int settings_set(struct settings *settings, const char *word, const char *value, char *err, size_t err_len);
void settings_deinit(struct settings *settings);

#endif
