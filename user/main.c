/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Entry point of every ioprobe process.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "proc/launch.h"
#include "capture/stripes_reader.h"
#include "cmd/cli.h"
#include "parse/parse.h"
#include "service/job_recorder.h"
#include "stream/follower.h"
#include "util/limits.h"

/* Helper programs that ioprobe starts itself; not for users. */
static const struct { const char *name; int (*run)(int argc, char **argv); } internal[] = {
	{ RECORDER_COMMAND, job_recorder_main },
	{ PARSE_COMMAND, parse_process_main },
	{ FOLLOWER_COMMAND, follower_main },
	{ STRIPES_COMMAND, stripes_reader_main },
};

/* If a standard stream is closed, the next opened file gets its number and messages would be written into it. A launched program
 * still finds the stream closed. */
static void fill_standard_streams(void)
{
	for (int fd = 0; fd <= 2; fd++)
		if (fcntl(fd, F_GETFD) < 0 && errno == EBADF && open("/dev/null", O_RDWR | O_CLOEXEC) != fd)
			_exit(1);
}

int main(int argc, char **argv)
{
	char err[256];

	fill_standard_streams();
	launch_keep_inherited();
	for (size_t i = 0; argc > 1 && i < sizeof(internal) / sizeof(internal[0]); i++)
		if (!strcmp(argv[1], internal[i].name))
			return internal[i].run(argc - 1, argv + 1);
	if (limits_check_stack(err, sizeof(err))) {
		fprintf(stderr, "ioprobe: %s\n", err);
		return 1;
	}
	return cli_main(argc, argv);
}
