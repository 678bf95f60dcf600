/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * From the name of a recording to its records, without root's rights.
 */
#include "cmd/following.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "privilege/identity.h"
#include "stream/follow.h"
#include "util/quantity.h"

#define LEAST_INTERVAL_NS 100000000ull
#define LONGEST_INTERVAL_NS 3600000000000ull
#define NICE 10 /* programs that are recorded go first */

uint64_t following_interval(const struct cli *cli, const char *value)
{
	uint64_t ns;

	if (!quantity_ns(value, &ns) || ns < LEAST_INTERVAL_NS || ns > LONGEST_INTERVAL_NS)
		cli_error(cli, "--interval %s: a time from 100ms to 3600s is expected, such as 1s", value);
	return ns;
}

int following_open(struct following *f, char *err, size_t err_len)
{
	struct identity who = { 0 };
	int ret = trace_argument_locate(&f->recording, err, err_len);

	if (!ret)
		ret = trace_argument_open(&f->recording, &f->dir, &who, err, err_len);
	if (ret)
		return ret;
	setpriority(PRIO_PROCESS, 0, NICE);
	if (!who.own)
		ret = identity_become(&who);
	if (ret)
		snprintf(err, err_len, "%s: cannot take the rights of its owner: %s", f->recording.name, strerror(-ret));
	else if (fchdir(f->dir)) {
		ret = -errno;
		snprintf(err, err_len, "%s: cannot open it: %s", f->recording.name, strerror(-ret));
	}
	identity_deinit(&who);
	return ret;
}

int following_run(struct following *f, struct live_output **outputs, size_t noutputs)
{
	char err[4800] = "";

	if (!follow_recording(f->dir, f->recording.name, outputs, noutputs, f->interval_ns, err, sizeof(err)))
		return 0;
	fprintf(stderr, "ioprobe: %s\n", err);
	return CLI_FAILED;
}
