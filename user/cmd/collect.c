/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * ioprobe collect DIR: receives the streams of a job's nodes, into one store per job.
 */
#include "cmd/commands.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collect/collector.h"
#include "util/quantity.h"

#define PORT 4790
#define MOST 10000 /* connections */
#define FILES_PER_CONNECTION 5 /* socket, database, its log, its index, journal */

enum {
	OPT_ADDRESS = 256, OPT_PORT, OPT_CERTIFICATE, OPT_KEY, OPT_SECRET, OPT_TOKEN, OPT_MOST, OPT_METRICS, OPT_SIZE, OPT_JOB_SIZE
};

struct command {
	struct collector_options options;
	const char *secret, *token;
};

static uint64_t collect_size(struct cli *cli, const char *option, const char *value)
{
	uint64_t bytes = 0;

	if (!quantity_bytes(value, &bytes) || !bytes)
		cli_error(cli, "%s %s: a size above 0 is expected, such as %s", option, value, QUANTITY_SIZES);
	return bytes;
}

static void collect_set_option(struct cli *cli, int key, const char *value, void *input)
{
	struct command *c = input;
	uint32_t number;

	switch (key) {
	case OPT_ADDRESS: c->options.address = value; break;
	case OPT_PORT:
		number = cli_number(cli, "--port", value);
		if (number > 65535)
			cli_error(cli, "--port %s: a number up to 65535 is expected", value);
		c->options.port = number;
		break;
	case OPT_CERTIFICATE: c->options.certificate = value; break;
	case OPT_KEY: c->options.key = value; break;
	case OPT_SECRET: c->secret = value; break;
	case OPT_TOKEN: c->token = value; break;
	case OPT_SIZE: c->options.most_bytes = collect_size(cli, "--max-size", value); break;
	case OPT_JOB_SIZE: c->options.most_job_bytes = collect_size(cli, "--max-job-size", value); break;
	case OPT_METRICS: c->options.metrics = value; break;
	case OPT_MOST:
		c->options.most = cli_number(cli, "--max-connections", value);
		if (!c->options.most)
			cli_error(cli, "--max-connections %s: a positive number is expected", value);
		break;
	}
}

static void collect_say_ready(uint16_t port)
{
	printf("port %u\n", port);
	fflush(stdout);
}

/* As many as the hard limit allows: a job of many nodes has as many connections. */
static void raise_files(struct command *c)
{
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files))
		return;
	files.rlim_cur = files.rlim_max;
	setrlimit(RLIMIT_NOFILE, &files);
	if (files.rlim_cur / FILES_PER_CONNECTION < c->options.most)
		c->options.most = files.rlim_cur / FILES_PER_CONNECTION;
}

static int print_token(struct cli *cli, const struct command *c, const struct token_secret *secret)
{
	char token[TOKEN_ROOM];

	if (!token_make(token, sizeof(token), secret, c->token))
		cli_error(cli, "--token %s: CLUSTER/JOB/UID is expected, such as cluster/4711/1000", c->token);
	printf("%s\n", token);
	return 0;
}

static int collect_here(struct command *c, const struct token_secret *secret, char *err, size_t err_len)
{
	umask(077); /* names of files are their users' own */
	raise_files(c);
	if (access(c->options.directory, W_OK | X_OK)) {
		snprintf(err, err_len, "%s: cannot write stores to it: %s", c->options.directory, strerror(errno));
		return -errno;
	}
	return collector_run(&c->options, secret, collect_say_ready, err, err_len);
}

static int run_collect(struct cli *cli)
{
	struct command c = { .options = { .port = PORT, .most = MOST } };
	struct token_secret secret;
	char err[700] = "";
	int ret;

	cli_parse(cli, collect_set_option, &c);
	if (!c.secret)
		cli_error(cli, "--secret FILE is needed");
	if (!c.token && (cli->noperands != 1 || !c.options.certificate || !c.options.key))
		cli_error(cli, "--certificate FILE, --key FILE and one directory for the stores are needed");
	ret = token_secret_read(&secret, c.secret, err, sizeof(err));
	if (!ret && c.token)
		return print_token(cli, &c, &secret);
	if (!ret && !geteuid()) {
		snprintf(err, sizeof(err), "cannot run as root, because it receives data from other hosts: "
			 "start it as a user of its own, not as root");
		ret = -EPERM;
	}
	c.options.directory = cli->operands[0];
	if (!ret)
		ret = collect_here(&c, &secret, err, sizeof(err));
	if (ret)
		fprintf(stderr, "ioprobe collect: %s\n", err);
	return ret ? CLI_FAILED : 0;
}

const struct cli_command command_collect = {
	.name = "collect",
	.summary = "Receive the streams of jobs' nodes, into one store per job",
	.usage = (const char *const[]){ "--secret FILE --certificate FILE --key FILE [OPTION...] DIR",
					"--secret FILE --token CLUSTER/JOB/UID", NULL },
	.description = "Receive over TLS what followers with '--to collect:HOST:PORT' send, and write it to a store per job, "
		       "DIR/CLUSTER,JOB,UID.db, which 'ioprobe watch' shows and which has the same tables as the store of one "
		       "recording. An "
		       "interval is confirmed when it is on disk, and stored once, however often it was sent. It runs "
		       "until it is interrupted. Run it as a user of its own.\n\n"
		       "A follower proves with a token that it belongs to a job: the service makes it (policy: collect-secret) "
		       "with the same "
		       "secret that the collector has. With --token, print such a token. Followers recognise the collector by its "
		       "certificate.",
	.options =
		(const struct cli_option[]){
			{ "secret", OPT_SECRET, "FILE", "Verify tokens with the secret in FILE: at least 32 bytes, mode 0600",
			  NULL },
			{ "certificate", OPT_CERTIFICATE, "FILE", "Use the TLS certificate in FILE (PEM)", NULL },
			{ "key", OPT_KEY, "FILE", "Use the private key of the certificate in FILE (PEM)", NULL },
			{ "address", OPT_ADDRESS, "HOST", "Listen on this address only", "all addresses of the host" },
			{ "port", OPT_PORT, "PORT", "Listen on this TCP port; 0: on a free one, which is printed", "4790" },
			{ "max-connections", OPT_MOST, "N", "Serve at most N followers at a time", "10000" },
			{ "max-size", OPT_SIZE, "SIZE",
				"Stop storing when all stores together take SIZE on disk (" QUANTITY_SIZES
				"), until some are removed",
				"unlimited" },
			{ "max-job-size", OPT_JOB_SIZE, "SIZE",
				"Stop storing a job when its store takes SIZE on disk", "unlimited" },
			{ "metrics", OPT_METRICS, "FILE",
				"Write the collector's metrics to FILE every second, for node_exporter's textfile collector",
				NULL },
			{ "token", OPT_TOKEN, "CLUSTER/JOB/UID", "Print the token of a job, and exit", NULL },
			{ 0 } },
	.operand = "DIR",
	.run = run_collect,
};
