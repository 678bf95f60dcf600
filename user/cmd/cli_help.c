/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The help text, wrapped to the terminal's width, and the table from which tools/manual makes manual pages and completion.
 */
#include "cmd/cli.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define MIN_WIDTH 40
#define MAX_WIDTH 110   /* longer lines are hard to read */
#define DEFAULT_WIDTH 80
#define MAX_LEFT 30     /* width of the column with the names; a longer name gets a line of its own */

static const char overview[] =
	"Record what a running, unmodified parallel program does with its files, on every layer at once, as an OTF2 archive and a "
	"summary.";
static const char *const overview_usage[] = {
	"COMMAND [OPTION...]", "[RECORD_OPTION...] --pid PID[,PID...]", "[RECORD_OPTION...] --job JOBID",
	"[RECORD_OPTION...] -- PROGRAM [ARGUMENT...]", NULL
};

static int terminal_width(void)
{
	const char *columns = getenv("COLUMNS");
	struct winsize size;
	int width = columns ? atoi(columns) : 0;

	if (width <= 0 && !ioctl(STDOUT_FILENO, TIOCGWINSZ, &size))
		width = size.ws_col;
	if (width <= 0)
		width = DEFAULT_WIDTH;
	return width < MIN_WIDTH ? MIN_WIDTH : width > MAX_WIDTH ? MAX_WIDTH : width;
}

/* Prints one paragraph; the cursor is at column, continuation lines begin at indent. */
static void print_wrapped(const char *text, int column, int indent)
{
	int width = terminal_width(), at = column;

	for (bool first = true; *text && *text != '\n'; first = false) {
		int len = strcspn(text, " \n");

		if (!first && at + 1 + len > width)
			at = printf("\n%*s", indent, "") - 1;
		else if (!first)
			at += printf(" ");
		at += printf("%.*s", len, text);
		text += len + (text[len] == ' ');
	}
	putchar('\n');
}

static void print_paragraphs(const char *text)
{
	while (text && *text) {
		print_wrapped(text, 0, 0);
		text += strcspn(text, "\n");
		if (!strncmp(text, "\n\n", 2))
			putchar('\n');
		text += strspn(text, "\n");
	}
}

static void print_usage(const char *name, const char *const *lines)
{
	for (size_t i = 0; lines[i]; i++) {
		int column = printf("%s ioprobe%s%s%s", i ? "      " : "Usage:", *name ? " " : "", name, *lines[i] ? " " : "");

		print_wrapped(lines[i], column, column);
	}
}

/* Formats "-o, --output DIR", without the indent. Returns its length. */
static int option_text(const struct cli_option *row, char *text, size_t len)
{
	char letter[5] = "    ";

	if (row->key > ' ' && row->key < 127)
		snprintf(letter, sizeof(letter), "-%c, ", row->key);
	if (row->value && row->value[0] == '[')
		return snprintf(text, len, "%s--%s[=%.*s", letter, row->name, (int)strlen(row->value) - 1, row->value + 1);
	return snprintf(text, len, "%s--%s%s%s", letter, row->name, row->value ? " " : "", row->value ? row->value : "");
}

static void cli_help_print_row(const char *left, const char *text, int column)
{
	int used = printf("  %s", left);

	if (used + 2 > column)
		used = printf("\n") - 1;
	printf("%*s", column - used, "");
	print_wrapped(text, column, column);
}

static int left_column(const struct cli_option *rows)
{
	char text[128];
	int widest = 0;

	for (; rows->name || rows->help; rows++) {
		int len = rows->name ? option_text(rows, text, sizeof(text)) : 0;

		if (len > widest && len <= MAX_LEFT)
			widest = len;
	}
	return widest + 4;      /* two spaces on each side */
}

static void print_options(const struct cli_option *rows, int column)
{
	char left[128], text[600];

	for (; rows && (rows->name || rows->help); rows++) {
		if (!rows->name) {
			printf("\n%s:\n", rows->help);
			continue;
		}
		option_text(rows, left, sizeof(left));
		snprintf(text, sizeof(text), "%s%s%s%s", rows->help, rows->fallback ? " (default: "
			"" : "", rows->fallback ? rows->fallback : "",
			 rows->fallback ? ")" : "");
		cli_help_print_row(left, text, column);
	}
}

static void print_overview(void)
{
	print_usage("", overview_usage);
	putchar('\n');
	print_paragraphs(overview);
	printf("\nCommands:\n");
	for (size_t i = 0; cli_commands[i]; i++)
		cli_help_print_row(cli_commands[i]->name, cli_commands[i]->summary, 14);
	cli_help_print_row("help", "Show the help of a command: ioprobe help COMMAND", 14);
	printf("\nOptions of every command, before or after its name:\n");
	print_options(cli_global_options, 20);
	putchar('\n');
	print_paragraphs("'ioprobe [RECORD_OPTION...] ...' is short for 'ioprobe record'. Exit status: 0, 1 (failed), 2 (wrong "
			 "use), or that of the launched program.");
}

void cli_print_help(const struct cli_command *command)
{
	char text[400];
	int column;

	if (!command) {
		print_overview();
		return;
	}
	print_usage(command->name, command->usage);
	putchar('\n');
	print_paragraphs(command->description);
	column = left_column(command->options ? command->options : cli_global_options);
	if (command->options) {
		if (command->options->name)
			printf("\nOptions:\n");
		print_options(command->options, column);
	}
	printf("\nOptions of every command:\n");
	print_options(cli_global_options, column);
	putchar('\n');
	snprintf(text, sizeof(text), "Exit status: 0, 1 (failed), 2 (usage error)%s%s.", command->statuses ? ", " : "",
		 command->statuses ? command->statuses : "");
	print_wrapped(text, 0, 0);
}

/* ---- the table ---- */

static json_t *json_lines(const char *const *lines)
{
	json_t *array = json_array();

	for (size_t i = 0; lines[i]; i++)
		json_array_append_new(array, json_string(lines[i]));
	return array;
}

static json_t *json_options(const struct cli_option *rows)
{
	json_t *array = json_array();
	const char *heading = "";

	for (; rows && (rows->name || rows->help); rows++) {
		char letter[2] = { rows->key > ' ' && rows->key < 127 ? (char)rows->key : 0 };

		if (!rows->name)
			heading = rows->help;
		else
			json_array_append_new(array, json_pack("{s:s, s:s, s:s?, s:s, s:s?, s:s}",
							       "name", rows->name, "short", letter, "value", rows->value, "help",
							       rows->help, "default", rows->fallback, "heading", heading));
	}
	return array;
}

static json_t *json_command(const struct cli_command *command)
{
	return json_pack("{s:s, s:s, s:o, s:s, s:s?, s:s?, s:b, s:o}", "name", command->name, "summary", command->summary, "usage",
			 json_lines(command->usage), "description", command->description, "operand", command->operand, "statuses",
			 command->statuses, "stops_at_operand", command->stops_at_operand, "options",
			 json_options(command->options));
}

void cli_print_table(void)
{
	json_t *commands = json_array(), *table;

	for (size_t i = 0; cli_commands[i]; i++)
		json_array_append_new(commands, json_command(cli_commands[i]));
	table = json_pack("{s:s, s:o, s:o, "
		"s:o}", "description", overview, "usage", json_lines(overview_usage), "commands", commands, "options",
			  json_options(cli_global_options));
	json_dumpf(table, stdout, JSON_INDENT(1));
	putchar('\n');
	json_decref(table);
}
