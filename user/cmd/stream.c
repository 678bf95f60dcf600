/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * ioprobe stream DIR: reports a running recording's I/O interval by interval, as lines of JSON or in an SQLite store.
 */
#include "cmd/commands.h"

#include <stdio.h>
#include <string.h>

#include "cmd/following.h"
#include "stream/follower.h"
#include "stream/outputs.h"

#define MAX_OUTPUTS FOLLOWER_MAX_OUTPUTS

enum { OPT_STORE = 256, OPT_TO, OPT_INTERVAL, OPT_NAMES, OPT_EVENTS };

struct command {
	struct following following;
	char outputs[MAX_OUTPUTS][4200];
	size_t noutputs;
	bool events_given;
};

static void add_output(struct cli *cli, struct command *c, const char *option, const char *text)
{
	char err[512];

	if (c->noutputs == MAX_OUTPUTS)
		cli_error(cli, "%s %s: at most %d outputs are possible", option, text, MAX_OUTPUTS);
	if (!live_output_valid(text, err, sizeof(err)))
		cli_error(cli, "%s %s", option, err);
	snprintf(c->outputs[c->noutputs++], sizeof(c->outputs[0]), "%s", text);
}

static void stream_set_option(struct cli *cli, int key, const char *value, void *input)
{
	struct command *c = input;
	char text[4200];

	switch (key) {
	case OPT_STORE:
		snprintf(text, sizeof(text), value ? "sqlite:%s" : "sqlite", value);
		add_output(cli, c, "--store", text);
		break;
	case OPT_NAMES: c->following.options.names = following_names(cli, "--names", value); break;
	case OPT_EVENTS:
		c->events_given = true;
		following_events(cli, "--events", value, &c->following.options);
		break;
	case OPT_TO: add_output(cli, c, "--to", value); break;
	case OPT_INTERVAL: c->following.options.interval_ns = following_interval(cli, "--interval", value); break;
	}
}

static int create_outputs(const struct command *c, struct live_output **outputs, char *err, size_t err_len)
{
	int ret = 0;

	for (size_t i = 0; i < c->noutputs && !ret; i++)
		ret = live_output_create(&outputs[i], c->outputs[i], err, err_len);
	return ret;
}

static int run_stream(struct cli *cli)
{
	static struct command c = { .following = { .dir = -1, .options = { .interval_ns = 1000000000 } } };
	struct live_output *outputs[MAX_OUTPUTS] = { 0 };
	char err[4800] = "";
	int ret;

	cli_parse(cli, stream_set_option, &c);
	if (cli->noperands != 1)
		cli_error(cli, "one recording is expected: the directory that it is written to, or a job");
	if (!c.noutputs)
		add_output(cli, &c, "--to", "ndjson");
	for (size_t i = 0; i < c.noutputs && !c.events_given; i++)
		if (live_output_wants_events(c.outputs[i]))
			c.following.options.events = LIVE_EVENTS_ALL;
	c.following.recording.name = cli->operands[0];
	ret = following_open(&c.following, err, sizeof(err));
	if (!ret)
		ret = create_outputs(&c, outputs, err, sizeof(err));
	if (ret)
		fprintf(stderr, "ioprobe: %s\n", err);
	ret = ret ? CLI_FAILED : following_run(&c.following, outputs, c.noutputs);
	for (size_t i = 0; i < c.noutputs; i++)
		if (outputs[i])
			outputs[i]->destroy(outputs[i]);
	return ret;
}

const struct cli_command command_stream = {
	.name = "stream",
	.summary = "Write the calls, bytes and times of each interval while a recording runs",
	.usage = (const char *const[]){ "[OPTION...] DIR", "[OPTION...] JOB", NULL },
	.description =
		"Follow a running recording in DIR (or that of a job which the node's service records), and write for each "
		"interval: calls and time per process and "
		"layer, operations and bytes "
		"per process, file and layer. All intervals add up to the recording's summary. It ends with the recording.\n\n"
		"The output is lines of JSON on stdout, or an SQLite store that others may read while it is written. A follower "
		"that was killed and is started again continues after the last interval in the store; no interval is stored "
		"twice. Neither recorder nor program "
		"waits for it. Under sudo it runs as the calling user; started by root, as the owner of DIR.",
	.options =
		(const struct cli_option[]){
			{ "interval", OPT_INTERVAL, "TIME", "Length of an interval", "1s" },
			{ "events", OPT_EVENTS, "none|errors|slow=TIME|1/N|all",
			  "Also write single calls: failed ones (errors), those that took TIME or longer (slow=10ms), one of N "
			  "(1/N), all",
			  "none; all with --to ldms" },
			{ "names", OPT_NAMES, "full|mount|hash",
			  "Write full names of files, only their mount points, or mount points with a hash of the name", "full" },
			{ "store", OPT_STORE, "[FILE]", "Write to an SQLite database, the same as --to sqlite[:FILE]",
			  "FILE: DIR/live.db" },
			{ "to", OPT_TO, "OUTPUT",
			  "Write to ndjson[:FILE] (lines of JSON), sqlite[:FILE], prometheus:FILE, collect:HOST:PORT (see 'ioprobe "
			  "help collect'), kafka:FILE (librdkafka's properties) or ldms[:FILE] (the lines of Darshan's connector "
			  "to LDMS; ldms:ldmsd_stream_publish and ldms:ldms_msg_publish start these programs); FILE is an "
			  "absolute path, without it: stdout or DIR/live.db. May be repeated",
			  "ndjson" },
			{ 0 } },
	.operand = "DIR",
	.run = run_stream,
};
