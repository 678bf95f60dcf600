/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Opens a recording that is followed, and drops privileges.
 */
#include "cmd/following.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "cmd/job_directory.h"
#include "privilege/identity.h"
#include "stream/follow.h"
#include "stream/follower.h"

#define NICE 10 /* lower priority than the recorded programs */

uint64_t following_interval(const struct cli *cli, const char *option, const char *value)
{
	uint64_t ns;

	if (!follower_interval(value, &ns))
		cli_error(cli, "%s %s: a time from 100ms to 3600s is expected, such as 1s", option, value);
	return ns;
}

enum live_names following_names(const struct cli *cli, const char *option, const char *value)
{
	enum live_names names;

	if (!follower_names(value, &names))
		cli_error(cli, "%s %s: one of full, mount, hash is expected", option, value);
	return names;
}

void following_events(const struct cli *cli, const char *option, const char *value, struct live_options *options)
{
	if (!follower_events(value, options))
		cli_error(cli, "%s %s: one of none, errors, slow=TIME (slow=10ms), 1/N, all is expected", option, value);
}

int following_open(struct following *f, char *err, size_t err_len)
{
	struct identity who = { 0 };
	int ret = 0;

	if (job_directory_is_name(f->recording.name)) {
		ret = job_directory_find(f->recording.name, f->job_dir, sizeof(f->job_dir), err, err_len);
		f->recording.name = f->job_dir;
	}
	if (!ret)
		ret = trace_argument_locate(&f->recording, err, err_len);
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

	if (!follow_recording(f->dir, f->recording.name, outputs, noutputs, &f->options, err, sizeof(err)))
		return 0;
	fprintf(stderr, "ioprobe: %s\n", err);
	return CLI_FAILED;
}
