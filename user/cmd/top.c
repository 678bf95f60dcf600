/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * ioprobe top DIR: shows the current activity of a recording on a terminal.
 */
#include "cmd/commands.h"

#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cmd/following.h"
#include "view/top.h"

enum { OPT_INTERVAL = 256 };

static void top_set_option(struct cli *cli, int key, const char *value, void *input)
{
	struct following *f = input;

	if (key == OPT_INTERVAL)
		f->options.interval_ns = following_interval(cli, "--interval", value);
}

static int run_top(struct cli *cli)
{
	struct following following = { .dir = -1, .options = { .interval_ns = 1000000000 } };
	struct winsize size = { .ws_col = 80, .ws_row = 40 };
	struct live_output *output = NULL;
	char err[4800] = "";
	bool terminal = isatty(STDOUT_FILENO);
	int ret;

	cli_parse(cli, top_set_option, &following);
	if (cli->noperands != 1)
		cli_error(cli, "one recording is expected: the directory that it is written to, or a job");
	following.recording.name = cli->operands[0];
	if (terminal && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size))
		terminal = false;
	ret = following_open(&following, err, sizeof(err));
	if (!ret && top_create(&output, stdout, size.ws_col, size.ws_row, terminal)) {
		snprintf(err, sizeof(err), "out of memory");
		ret = -1;
	}
	if (ret) {
		fprintf(stderr, "ioprobe: %s\n", err);
		return CLI_FAILED;
	}
	ret = following_run(&following, &output, 1);
	top_destroy(output);
	return ret;
}

const struct cli_command command_top = {
	.name = "top",
	.summary = "Show the current I/O of a recording in a terminal",
	.usage = (const char *const[]){ "[OPTION...] DIR", "[OPTION...] JOB", NULL },
	.description =
		"Follow a running recording in DIR, and show on the terminal for each interval: calls, failures and "
		"bandwidth by layer, the processes and files "
		"with most time in I/O calls. It ends with the recording, or with ^C; the recording goes on. JOB is the id of a "
		"job that the node's service records.\n\n"
		"Calls of an upper layer contain calls of lower ones: the same bytes are counted in each layer.",
	.options = (const struct cli_option[]){ { "interval", OPT_INTERVAL, "TIME", "Length of an interval", "1s" }, { 0 } },
	.operand = "DIR",
	.run = run_top,
};
