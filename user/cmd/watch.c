/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * ioprobe watch DIR: shows the current activity of a recording on a page for the browser.
 */
#include "cmd/commands.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cmd/following.h"
#include "stream/follower.h"
#include "stream/store_read.h"
#include "view/server.h"

enum { OPT_INTERVAL = 256, OPT_PORT };

struct command {
	struct following following;
	uint32_t port;
};

static void watch_set_option(struct cli *cli, int key, const char *value, void *input)
{
	struct command *c = input;

	switch (key) {
	case OPT_INTERVAL: c->following.options.interval_ns = following_interval(cli, "--interval", value); break;
	case OPT_PORT:
		c->port = cli_number(cli, "--port", value);
		if (c->port > 65535)
			cli_error(cli, "--port %s: a number up to 65535 is expected", value);
		break;
	}
}

/* A store is read at once; DIR of a recording that has ended has one if it was streamed. */
static const char *store_of(const struct command *c)
{
	const char *file = c->following.recording.anchor;

	if (strcmp(file, TRACE_ANCHOR))
		return file;
	return faccessat(c->following.dir, "spool", F_OK, AT_SYMLINK_NOFOLLOW) &&
			       !faccessat(c->following.dir, FOLLOWER_STORE, F_OK, 0)
		       ? FOLLOWER_STORE
		       : NULL;
}

static int watch_fill(struct command *c, struct live_output **outputs)
{
	const char *store = store_of(c);
	char err[4800] = "";

	if (!store)
		return following_run(&c->following, outputs, 2);
	if (!store_read(store, c->following.recording.name, HISTORY_INTERVALS - 2, outputs, 2, err, sizeof(err)))
		return 0;
	fprintf(stderr, "ioprobe: %s\n", err);
	return CLI_FAILED;
}

/* The page stays when the recording has ended. */
static int watch_serve(struct command *c, struct history *history, struct metrics *metrics, struct live_output **outputs, char *err,
		       size_t err_len)
{
	struct view_server *server;
	char address[128];
	int ret = view_server_start(&server, history, metrics, c->port, err, err_len);

	if (ret)
		return ret;
	view_server_address(server, address, sizeof(address));
	printf("%s\n", address);
	fflush(stdout);
	ret = watch_fill(c, outputs);
	if (!ret && !cli_quiet())
		fprintf(stderr, "ioprobe: the recording has ended; the page stays until ^C\n");
	if (!ret)
		for (;;)
			pause();
	view_server_stop(server);
	return ret;
}

static int run_watch(struct cli *cli)
{
	struct command c = { .following = { .dir = -1, .options = { .interval_ns = 1000000000 } } };
	struct history *history = NULL;
	struct metrics *metrics = NULL;
	struct live_output *outputs[2];
	char err[4800] = "";
	int ret;

	cli_parse(cli, watch_set_option, &c);
	if (cli->noperands != 1)
		cli_error(cli, "one recording is expected: the directory that it is written to, a job, or a store");
	c.following.recording.name = cli->operands[0];
	ret = following_open(&c.following, err, sizeof(err));
	if (!ret && (history_create(&history, &outputs[0]) || metrics_create(&metrics, &outputs[1]))) {
		snprintf(err, sizeof(err), "out of memory");
		ret = -1;
	}
	if (!ret)
		ret = watch_serve(&c, history, metrics, outputs, err, sizeof(err));
	if (err[0])
		fprintf(stderr, "ioprobe: %s\n", err);
	history_destroy(history);
	metrics_destroy(metrics);
	return ret ? CLI_FAILED : 0;
}

const struct cli_command command_watch = {
	.name = "watch",
	.summary = "Show the current I/O of a recording in a browser",
	.usage = (const char *const[]){ "[OPTION...] DIR", "[OPTION...] JOB", "[OPTION...] STORE", NULL },
	.description = "Follow a running recording in DIR, and serve a page on 127.0.0.1 that shows: bandwidth and "
		       "calls by layer, time in I/O calls by rank, "
		       "the busiest files. The page's address is printed; it contains a token, without which the server refuses "
		       "every request. "
		       "The page stays when the recording "
		       "has ended, until ^C.\n\n"
		       "JOB is the id of a job that the node's service records or recorded ('ioprobe job status'). With a STORE "
		       "(of 'ioprobe record --stream' or 'ioprobe stream --store'), or a DIR that has only a store, the page "
		       "shows the intervals in it.\n\n"
		       "From another host: ssh -L PORT:127.0.0.1:PORT, with --port PORT.",
	.options =
		(const struct cli_option[]){ { "interval", OPT_INTERVAL, "TIME", "Length of an interval", "1s" },
					     { "port", OPT_PORT, "PORT", "Listen on this port of 127.0.0.1", "any that is free" },
					     { 0 } },
	.operand = "DIR",
	.run = run_watch,
};
