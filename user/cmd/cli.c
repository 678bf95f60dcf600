/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Parses argv into a command, its options and its operands.
 */
#include "cmd/cli.h"

#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/version.h"

#define MAX_OPTIONS 96
#define MAX_PID 4194304         /* the kernel's PID_MAX_LIMIT */

enum { KEY_VERSION = 'V', KEY_HELP = 'h', KEY_QUIET = 'q' };

const struct cli_option cli_global_options[] = {
	{ "help", KEY_HELP, NULL, "Show the help of the command", NULL },
	{ "version", KEY_VERSION, NULL, "Print the version", NULL },
	{ "quiet", KEY_QUIET, NULL, "Write nothing but errors to stderr", NULL },
	{ 0 }
};

static bool quiet;

bool cli_quiet(void)
{
	return quiet;
}

/* ---- usage errors ---- */

static void print_command(const struct cli *cli)
{
	fprintf(stderr, "ioprobe%s%s: ", cli->bare ? "" : " ", cli->bare ? "" : cli->command->name);
}

static void fail_usage(const struct cli_command *command)
{
	fprintf(stderr, "Try 'ioprobe help%s%s'.\n", command ? " " : "", command ? command->name : "");
	exit(CLI_USAGE);
}

void cli_error(const struct cli *cli, const char *format, ...)
{
	va_list args;

	print_command(cli);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	fail_usage(cli->command);
	abort();
}

pid_t cli_pid(const struct cli *cli, const char *option, const char *text)
{
	char *end;
	long pid = strtol(text, &end, 10);

	if (end == text || *end || pid <= 0 || pid > MAX_PID)
		cli_error(cli, "%s: '%s' is not a process id", option, text);
	return pid;
}

uint32_t cli_number(const struct cli *cli, const char *option, const char *text)
{
	char *end;
	long long number = strtoll(text, &end, 10);

	if (end == text || *end || number < 0 || number > UINT32_MAX)
		cli_error(cli, "%s: '%s' is not a number", option, text);
	return number;
}

/* ---- options ---- */

/* Tables for getopt_long, with the command's options and the global ones. */
struct getopt_tables {
	const struct cli_option *rows[MAX_OPTIONS];
	struct option longs[MAX_OPTIONS + 1];
	char shorts[3 * MAX_OPTIONS + 2];
	size_t n;
};

static bool is_short(int key)
{
	return key > ' ' && key < 127;
}

static void add_option(struct getopt_tables *tables, const struct cli_option *row)
{
	int argument = !row->value ? no_argument : row->value[0] == '[' ? optional_argument : required_argument;
	char text[4] = { (char)row->key };

	if (tables->n == MAX_OPTIONS)
		abort();
	strcat(text, argument == no_argument ? "" : argument == optional_argument ? "::" : ":");
	if (is_short(row->key))
		strcat(tables->shorts, text);
	tables->longs[tables->n] = (struct option){ row->name, argument, NULL, row->key };
	tables->rows[tables->n++] = row;
}

static void add_options(struct getopt_tables *tables, const struct cli_option *rows)
{
	for (; rows && (rows->name || rows->help); rows++)
		if (rows->name)
			add_option(tables, rows);
}

static const char *next_option(void *arg, size_t i)
{
	const struct getopt_tables *tables = arg;

	return i < tables->n ? tables->rows[i]->name : NULL;
}

/* Rejects --NAME, --NAME=VALUE or an abbreviation that getopt_long did not accept. */
static void refuse_long(const struct cli *cli, const struct getopt_tables *tables, const char *word)
{
	int len = strcspn(word, "=");
	char name[64], matches[200] = "";
	const char *meant;
	size_t n = 0;

	snprintf(name, sizeof(name), "%.*s", len, word);
	for (size_t i = 0; i < tables->n; i++) {
		if (!strcmp(tables->rows[i]->name, name))
			cli_error(cli, "--%s takes no value", name);
		if (strncmp(tables->rows[i]->name, name, len))
			continue;
		snprintf(matches + strlen(matches), sizeof(matches) - strlen(matches), "%s--%s", n++ ? " or " : "",
			 tables->rows[i]->name);
	}
	if (n)
		cli_error(cli, "--%s can be %s", name, matches);
	meant = cli_nearest(name, next_option, (void *)tables);
	cli_error(cli, "unknown option --%s%s%s%s", name, meant ? ": did you mean --" : "", meant ? meant : "", meant ? "?" : "");
}

static void refuse_option(const struct cli *cli, const struct getopt_tables *tables, bool no_value)
{
	const char *word = cli->argv[optind - 1];

	for (size_t i = 0; no_value && i < tables->n; i++)
		if (tables->rows[i]->key == optopt)
			cli_error(cli, "--%s needs a value: --%s %s", tables->rows[i]->name, tables->rows[i]->name,
				  tables->rows[i]->value);
	if (!strncmp(word, "--", 2))
		refuse_long(cli, tables, word + 2);
	cli_error(cli, "unknown option -%c", optopt);
}

/* As the shell makes it of a variable that is not set. No file has this name. */
static void refuse_empty_name(const struct cli *cli, const struct getopt_tables *tables, int key)
{
	for (size_t i = 0; i < tables->n; i++)
		if (tables->rows[i]->key == key && tables->rows[i]->value && strstr("[FILE] [DIR]", tables->rows[i]->value))
			cli_error(cli, "--%s '': the name is empty; give --%s %s, or remove the option", tables->rows[i]->name,
				  tables->rows[i]->name, tables->rows[i]->value);
}

/* false: not a global option. */
static bool take_global(const struct cli_command *command, int key)
{
	switch (key) {
	case KEY_HELP:
		cli_print_help(command);
		exit(fflush(stdout) ? CLI_FAILED : 0);
	case KEY_VERSION:
		printf("ioprobe %s\n", ioprobe_version);
		exit(fflush(stdout) ? CLI_FAILED : 0);
	case KEY_QUIET: quiet = true; return true;
	default: return false;
	}
}

void cli_parse(struct cli *cli, void (*set)(struct cli *, int, const char *, void *), void *input)
{
	struct getopt_tables tables = { .n = 0 };
	const char *last_value = NULL;
	int key;

	/* '+': stop at the first operand; ':': messages are printed here */
	strcpy(tables.shorts, cli->command->stops_at_operand ? "+:" : ":");
	add_options(&tables, cli->command->options);
	add_options(&tables, cli_global_options);
	optind = 0;
	while ((key = getopt_long(cli->argc, cli->argv, tables.shorts, tables.longs, NULL)) != -1) {
		if (key == '?' || key == ':')
			refuse_option(cli, &tables, key == ':');
		if (optarg && !*optarg)
			refuse_empty_name(cli, &tables, key);
		if (!take_global(cli->command, key))
			set(cli, key, optarg, input);
		last_value = optarg;
	}
	cli->operands = cli->argv + optind;
	cli->noperands = cli->argc - optind;
	cli->after_dashes = !strcmp(cli->argv[optind - 1], "--") && cli->argv[optind - 1] != last_value;
	if (cli->noperands && !cli->command->operand)
		cli_error(cli, "unexpected '%s'", cli->operands[0]);
}

/* ---- commands ---- */

static const char *next_command(void *arg, size_t i)
{
	(void)arg;
	return cli_commands[i] ? cli_commands[i]->name : NULL;
}

static const struct cli_command *find_command(const char *name)
{
	for (size_t i = 0; cli_commands[i]; i++)
		if (!strcmp(cli_commands[i]->name, name))
			return cli_commands[i];
	return NULL;
}

static void refuse_word(const char *word)
{
	const char *meant = cli_nearest(word, next_command, NULL);

	if (meant)
		fprintf(stderr, "ioprobe: '%s' is not a command: did you mean '%s'?\n", word, meant);
	else
		fprintf(stderr, "ioprobe: '%s' is not a command\n", word);
}

/* An unknown word is never taken for a program to launch: a mistyped command must not start anything. */
static void refuse_command(const char *word)
{
	for (const struct cli_option *row = cli_global_options; row->name; row++)
		if (!strcmp(row->name, word)) {
			fprintf(stderr, "ioprobe: '%s' is not a command: did you mean '--%s'?\n", word, word);
			fail_usage(NULL);
		}
	refuse_word(word);
	fprintf(stderr, "To record a program: ioprobe record -- %s\n", word);
	fail_usage(NULL);
}

/* help [COMMAND] */
static int show_help(int argc, char **argv)
{
	const struct cli_command *command = argc > 1 ? find_command(argv[1]) : NULL;

	if (argc > 1 && !command && argv[1][0] != '-' && strcmp(argv[1], "help")) {
		refuse_word(argv[1]);
		fail_usage(NULL);
	}
	cli_print_help(command);
	return fflush(stdout) ? CLI_FAILED : 0;
}

/* Parses global options before the command; help is shown once the command is known. Returns the number of words. */
static int take_leading(int argc, char **argv, bool *help)
{
	int i = 1;

	for (; i < argc && argv[i][0] == '-'; i++) {
		const struct cli_option *row = cli_global_options;

		while (row->name && !(argv[i][1] == '-' ? !strcmp(argv[i] + 2, row->name) : argv[i][1] == row->key && !argv[i][2]))
			row++;
		if (!row->name)
			break;
		if (row->key == KEY_HELP)
			*help = true;
		else
			take_global(NULL, row->key);
	}
	return i;
}

int cli_main(int argc, char **argv)
{
	bool help = false;
	int words = take_leading(argc, argv, &help);
	struct cli cli = { .argc = argc - words, .argv = argv + words };

	if (help && !cli.argc)
		return show_help(0, NULL);
	if (!cli.argc) {
		fprintf(stderr, "ioprobe: nothing to do: give a command, or what to record: --pid PID, --job JOBID or -- "
			"PROGRAM\n");
		fail_usage(NULL);
	}
	if (!strcmp(cli.argv[0], "help"))
		return show_help(cli.argc, cli.argv);
	if (!strcmp(cli.argv[0], "help-table")) {
		cli_print_table();
		return fflush(stdout) ? CLI_FAILED : 0;
	}
	cli.bare = cli.argv[0][0] == '-';
	cli.command = find_command(cli.bare ? "record" : cli.argv[0]);
	if (!cli.command)
		refuse_command(cli.argv[0]);
	if (help)
		return show_help(2, (char *[]){ NULL, (char *)cli.command->name });
	if (cli.bare)           /* there is always a word before: ioprobe's own name, or a global option */
		cli.argv--, cli.argc++;
	return cli.command->run(&cli);
}
