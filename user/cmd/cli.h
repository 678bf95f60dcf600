/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The command line: one description of each command, from which come the parser, --help, the manual pages, the completion of shells
 * and "did you mean".
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
	int key;                /* for the set function; a printable character is the short option, too: others begin at 256 */
	const char *value;      /* placeholder of the value; NULL: takes none; [VALUE]: may be left out. Shells complete DIR, FILE, PID, a|b */
	const char *help;       /* one sentence, imperative, with the unit, without the default */
	const char *fallback;   /* the default, NULL: there is none */
};

struct cli;

struct cli_command {
	const char *name;
	const char *summary;            /* one line for the list of commands, imperative, without a full stop */
	const char *const *usage;       /* what follows "ioprobe NAME" on each usage line; ends with NULL */
	const char *description;        /* paragraphs, separated by an empty line */
	const struct cli_option *options;       /* ends with an empty row; NULL: none */
	const char *operand;            /* placeholder of its operands, as value above; NULL: takes none */
	const char *statuses;           /* exit statuses besides 0, 1 and 2; NULL: none */
	bool stops_at_operand;          /* what follows the first operand belongs to another program */
	int (*run)(struct cli *cli);    /* returns the exit status */
};

/* One invocation. */
struct cli {
	const struct cli_command *command;
	int argc;
	char **argv;            /* [0] is the command's name, whether it was written or not */
	bool bare;              /* the name was not written: a recording */
	char **operands;        /* after cli_parse; NULL-terminated */
	int noperands;
	bool after_dashes;      /* the operands follow "--" */
};

extern const struct cli_command *const cli_commands[];  /* in the order of the help; ends with NULL */
extern const struct cli_option cli_global_options[];    /* before or after every command */

/* Picks the command and runs it. Returns the exit status. */
int cli_main(int argc, char **argv);

typedef void cli_set_option(struct cli *cli, int key, const char *value, void *input);  /* value NULL: it has none */

/* Calls set for each option of the command; fills in the operands. Ends the process after --help, and with a message and status 2 after a
 * mistake. */
void cli_parse(struct cli *cli, cli_set_option *set, void *input);

/* Writes "ioprobe COMMAND: MESSAGE" and where the help is; ends the process with status 2. */
void cli_error(const struct cli *cli, const char *format, ...) __attribute__((format(printf, 2, 3), noreturn));

/* Values; a bad one ends the process by cli_error. option: with its dashes, for the message. */
pid_t cli_pid(const struct cli *cli, const char *option, const char *text);
uint32_t cli_number(const struct cli *cli, const char *option, const char *text);

bool cli_quiet(void);           /* --quiet was given: only errors on stderr */

/* ---- for the help, cli_help.c ---- */

void cli_print_help(const struct cli_command *command);         /* NULL: of ioprobe as a whole */
void cli_print_table(void);             /* all commands and options as JSON, for manual pages and completion */

/* The name that a mistyped word was meant to be, NULL: none is near. next returns the names one by one, NULL after the last. */
const char *cli_nearest(const char *word, const char *(*next)(void *arg, size_t i), void *arg);

#endif
