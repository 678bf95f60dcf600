/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The command line: one description of each command, from which the parser, --help, the manual pages, shell completion and "did you
 * mean" are generated.
 *
 * A command is a file of this directory with a public struct cli_command, and a row in commands.c. An option is a row of its
 * options and a case in its set function.
 */
#ifndef IOPROBE_CLI_H
#define IOPROBE_CLI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { CLI_FAILED = 1, CLI_USAGE = 2, CLI_CANNOT_EXECUTE = 126, CLI_NOT_FOUND = 127 };   /* exit statuses, as in shells */

struct cli_option {
	const char *name;       /* without dashes; NULL: a heading, whose text is help */
	int key;                /* for the set function; a printable character is also the short option; others begin at 256 */
	const char *value; /* placeholder of the value; NULL: no value; [VALUE]: optional. Shells complete DIR, FILE, PID, a|b */
	const char *help;       /* one sentence, imperative, with the unit, without the default */
	const char *fallback;   /* the default, NULL: none */
};

struct cli;

struct cli_command {
	const char *name;
	const char *summary;            /* one line for the list of commands, imperative, without a full stop */
	const char *const *usage;       /* text after "ioprobe NAME" on each usage line; ends with NULL */
	const char *description;        /* paragraphs, separated by an empty line */
	const struct cli_option *options;       /* ends with an empty row; NULL: none */
	const char *operand;            /* placeholder of its operands, like value above; NULL: none */
	const char *statuses;           /* exit statuses besides 0, 1 and 2; NULL: none */
	bool stops_at_operand;          /* words after the first operand belong to another program */
	int (*run)(struct cli *cli);    /* returns the exit status */
};

/* One invocation. */
struct cli {
	const struct cli_command *command;
	int argc;
	char **argv;            /* [0] is the command's name, even if it was omitted */
	bool bare;              /* the name was omitted: a recording */
	char **operands;        /* set by cli_parse; NULL-terminated */
	int noperands;
	bool after_dashes;      /* the operands follow "--" */
};

extern const struct cli_command *const cli_commands[];  /* in the order of the help; ends with NULL */
extern const struct cli_option cli_global_options[];    /* allowed before and after every command */

/* Picks the command and runs it. Returns the exit status. */
int cli_main(int argc, char **argv);

typedef void cli_set_option(struct cli *cli, int key, const char *value, void *input);  /* value NULL: none was given */

/* Calls set for each option of the command; fills in the operands. Exits after --help, and with a message and status 2 after a
 * usage error. */
void cli_parse(struct cli *cli, cli_set_option *set, void *input);

/* Writes "ioprobe COMMAND: MESSAGE" and a pointer to the help; exits with status 2. */
void cli_error(const struct cli *cli, const char *format, ...) __attribute__((format(printf, 2, 3), noreturn));

/* Parse values; an invalid one exits through cli_error. option: with its dashes, for the message. */
pid_t cli_pid(const struct cli *cli, const char *option, const char *text);
uint32_t cli_number(const struct cli *cli, const char *option, const char *text);

bool cli_quiet(void);           /* --quiet: only errors on stderr */

/* ---- for the help, cli_help.c ---- */

void cli_print_help(const struct cli_command *command);         /* NULL: help of ioprobe as a whole */
void cli_print_table(void);             /* all commands and options as JSON, for manual pages and completion */

/* Returns the name that is closest to a mistyped word, NULL if none is close. next returns the names one by one, NULL after the
 * last. */
const char *cli_nearest(const char *word, const char *(*next)(void *arg, size_t i), void *arg);

#endif
