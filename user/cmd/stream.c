/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * ioprobe stream DIR: a recording's I/O interval by interval, while it is made: lines of JSON, or an SQLite store.
 */
#include "cmd/commands.h"

#include <stdio.h>
#include <string.h>

#include "cmd/following.h"
#include "stream/outputs.h"

#define DEFAULT_STORE "live.db"

enum { OPT_STORE = 256, OPT_INTERVAL };

struct command {
	struct following following;
	const char *store;
	bool stores;
};

static void set_option(struct cli *cli, int key, const char *value, void *input)
{
	struct command *c = input;

	switch (key) {
	case OPT_STORE:
		c->stores = true;
		c->store = value;
		break;
	case OPT_INTERVAL: c->following.interval_ns = following_interval(cli, value); break;
	}
}

static int create_output(const struct command *c, struct live_output **output, char *err, size_t err_len)
{
	int ret;

	if (c->stores)
		return live_store_create(output, c->store ? c->store : DEFAULT_STORE, err, err_len);
	ret = live_ndjson_create(output, stdout);
	if (ret)
		snprintf(err, err_len, "cannot write the stream: %s", strerror(-ret));
	return ret;
}

static int run_stream(struct cli *cli)
{
	struct command c = { .following = { .dir = -1, .interval_ns = 1000000000 } };
	struct live_output *output = NULL;
	char err[4800] = "";
	int ret;

	cli_parse(cli, set_option, &c);
	if (cli->noperands != 1)
		cli_error(cli, "one recording is expected: the directory that it is written to");
	if (c.store && c.store[0] != '/')
		cli_error(cli,
			  "--store=%s: an absolute path is expected; without a file it is " DEFAULT_STORE
			  " in the recording's directory",
			  c.store);
	c.following.recording.name = cli->operands[0];
	ret = following_open(&c.following, err, sizeof(err));
	if (!ret)
		ret = create_output(&c, &output, err, sizeof(err));
	if (ret) {
		fprintf(stderr, "ioprobe: %s\n", err);
		return CLI_FAILED;
	}
	ret = following_run(&c.following, &output, 1);
	c.stores ? live_store_destroy(output) : live_ndjson_destroy(output);
	return ret;
}

const struct cli_command command_stream = {
	.name = "stream",
	.summary = "Write what a recording sees, interval by interval, while it is made",
	.usage = (const char *const[]){ "[OPTION...] DIR", NULL },
	.description =
		"Follow a recording in DIR while it is made, and write what each interval adds: calls and time per process and "
		"layer, operations and bytes "
		"per process, file and layer. All intervals add up to the recording's summary. It ends with the recording.\n\n"
		"The output is lines of JSON on stdout, or an SQLite store that others may read while it is written. A follower of "
		"a store that was killed and is "
		"started again goes on after the last interval that is there; nothing is there twice. Neither recorder nor program "
		"waits for it. Under sudo it runs as "
		"the calling user, by root as the owner of DIR.",
	.options = (const struct cli_option[]){ { "interval", OPT_INTERVAL, "TIME", "Length of an interval", "1s" },
						{ "store", OPT_STORE, "[FILE]",
						  "Write to an SQLite database; FILE is an absolute path",
						  "lines of JSON on stdout; FILE: DIR/live.db" },
						{ 0 } },
	.operand = "DIR",
	.run = run_stream,
};
