/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "collect/counts.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/replace.h"

static void counts_metric(FILE *out, const char *name, const char *type, const char *help, uint64_t value)
{
	fprintf(out, "# HELP ioprobe_collect_%s %s\n# TYPE ioprobe_collect_%s %s\nioprobe_collect_%s %" PRIu64 "\n", name, help,
		name, type, name, value);
}

static void counts_print(FILE *out, const struct collect_counts *c, const struct collect_now *now)
{
	counts_metric(out, "connections", "gauge", "Connections that are open.", now->connections);
	counts_metric(out, "followers_total", "counter", "Connections with a valid token.", c->followers);
	counts_metric(out, "streams_ended_total", "counter", "Streams that came to their end.", c->ended);
	counts_metric(out, "intervals_total", "counter", "Intervals that were written to stores.", c->intervals);
	counts_metric(out, "bytes_total", "counter", "Bytes of the lines of these intervals.", c->bytes);
	counts_metric(out, "full_total", "counter",
		      "Intervals and connections that were refused because the stores have reached a limit.", c->full);
	if (now->stores_most) {
		counts_metric(out, "stores_bytes", "gauge", "Bytes of all stores on disk.", now->stores_bytes);
		counts_metric(out, "stores_limit_bytes", "gauge", "Their limit (--max-size).", now->stores_most);
	}
	counts_metric(out, "refused_total", "counter",
		      "Connections that were closed with a reason, or not served for want of room.", c->refused);
}

int collect_counts_write(const struct collect_counts *counts, const char *file, const struct collect_now *now, char *err,
			 size_t err_len)
{
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);
	int ret = -ENOMEM;

	if (out) {
		counts_print(out, counts, now);
		ret = fclose(out) ? -ENOMEM : file_replace(AT_FDCWD, file, text, len);
	}
	free(text);
	if (ret)
		snprintf(err, err_len, "%s: cannot write the collector's metrics: %s", file, strerror(-ret));
	return ret;
}
