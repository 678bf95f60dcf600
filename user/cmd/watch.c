/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * ioprobe watch DIR: what a recording does now, on a page for the browser.
 */
#include "cmd/commands.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cmd/following.h"
#include "view/server.h"

enum { OPT_INTERVAL = 256, OPT_PORT };

struct command {
	struct following following;
	uint32_t port;
};

static void set_option(struct cli *cli, int key, const char *value, void *input)
{
	struct command *c = input;

	switch (key) {
	case OPT_INTERVAL: c->following.interval_ns = following_interval(cli, value); break;
	case OPT_PORT:
		c->port = cli_number(cli, "--port", value);
		if (c->port > 65535)
			cli_error(cli, "--port %s: a number up to 65535 is expected", value);
		break;
	}
}

/* The page stays when the recording has ended. */
static int serve(struct command *c, struct history *history, struct live_output *output, char *err, size_t err_len)
{
	struct view_server *server;
	char address[128];
	int ret = view_server_start(&server, history, c->port, err, err_len);

	if (ret)
		return ret;
	view_server_address(server, address, sizeof(address));
	printf("%s\n", address);
	fflush(stdout);
	ret = following_run(&c->following, &output, 1);
	if (!ret && !cli_quiet())
		fprintf(stderr, "ioprobe: the recording has ended; the page stays until ^C\n");
	while (!ret)
		pause();
	view_server_stop(server);
	return ret;
}

static int run_watch(struct cli *cli)
{
	struct command c = { .following = { .dir = -1, .interval_ns = 1000000000 } };
	struct history *history = NULL;
	struct live_output *output;
	char err[4800] = "";
	int ret;

	cli_parse(cli, set_option, &c);
	if (cli->noperands != 1)
		cli_error(cli, "one recording is expected: the directory that it is written to");
	c.following.recording.name = cli->operands[0];
	ret = following_open(&c.following, err, sizeof(err));
	if (!ret && history_create(&history, &output)) {
		snprintf(err, sizeof(err), "out of memory");
		ret = -1;
	}
	if (!ret)
		ret = serve(&c, history, output, err, sizeof(err));
	if (err[0])
		fprintf(stderr, "ioprobe: %s\n", err);
	history_destroy(history);
	return ret ? CLI_FAILED : 0;
}

const struct cli_command command_watch = {
	.name = "watch",
	.summary = "Show what a recording does now, on a page for the browser",
	.usage = (const char *const[]){ "[OPTION...] DIR", NULL },
	.description = "Follow a recording in DIR while it is made, and serve a page on 127.0.0.1 that shows it: bandwidth and "
		       "calls by layer, time in I/O calls by rank, "
		       "the busiest files. The page's address is printed; it contains a token, without which the server refuses every request. "
		       "The page stays when the recording "
		       "has ended, until ^C.\n\n"
		       "From another host: ssh -L PORT:127.0.0.1:PORT, with --port PORT.",
	.options =
		(const struct cli_option[]){ { "interval", OPT_INTERVAL, "TIME", "Length of an interval", "1s" },
					     { "port", OPT_PORT, "PORT", "Listen on this port of 127.0.0.1", "any that is free" },
					     { 0 } },
	.operand = "DIR",
	.run = run_watch,
};
