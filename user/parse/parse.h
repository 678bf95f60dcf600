/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Users' files are read in processes of their own, which have neither the agent's rights nor its memory: a file that is made to
 * break its reader breaks a parser process, and costs the probes of that file.
 *
 * There is one parser process for each owner of files: it runs as that user, as nobody for root's files. So whoever can write a
 * file gains no right by taking its parser over, and cannot change what is read from the files of others. Files come by descriptor
 * over a socket, results go back as bytes that the agent checks (plan_wire.h). A process is started with the first file of its
 * owner and ends with the pool.
 *
 * A further kind of request is a constant in parse_wire.h, a case in parse_process.c and a function here.
 */
#ifndef IOPROBE_PARSE_H
#define IOPROBE_PARSE_H

#include <ioprobe/sites.h>
#include <stddef.h>
#include <sys/types.h>

#include "elf/code_file.h"
#include "elf/plan.h"

/* The name by which the program runs as a parser: not for users. */
#define PARSE_COMMAND "parser-process"

struct parse_pool;

/* set must outlive the pool and not change. Not for two threads at once. */
int parse_pool_create(struct parse_pool **out, const struct table_set *set);
void parse_pool_destroy(struct parse_pool *pool);       /* NULL is fine */

/* Starts the process for root's files before there is one to read; does not wait for it. */
void parse_pool_warm(struct parse_pool *pool);

/* plan_create() of a file, in its owner's parser process. Returns 0, or -errno with the reason in err (-ENOEXEC: it is no ELF file;
 * -EIO: the process was ended, or its answer was refused). Waits for PARSE_DEADLINE_NS at most. */
int parse_plan(struct parse_pool *pool, const struct code_file *file, const char *name, struct plan *out, char *err,
	       size_t err_len);

/* The dynamic linker that an executable asks for; "" if it asks for none. The same errors. */
int parse_interpreter(struct parse_pool *pool, const struct code_file *file, char *buf, size_t len, char *err, size_t err_len);

/* The GNU build-id in hexadecimal digits, "" if it has none. The same errors. */
int parse_build_id(struct parse_pool *pool, const struct code_file *file, char *buf, size_t len, char *err, size_t err_len);

/* The unwind rule of the return address at this offset of the file; never pending, never of the application. The same errors. */
int parse_rule(struct parse_pool *pool, const struct code_file *file, uint64_t offset, struct iop_site_rule *rule, char *err,
	       size_t err_len);

/* Functions, files and lines at up to PARSE_MAX_PLACES offsets, as the text that code_parser.h describes; the caller's, nothing in
 * it has been checked but that it has no 0. The same errors. */
#define PARSE_MAX_PLACES 14
int parse_symbols(struct parse_pool *pool, const struct code_file *file, const uint64_t *offsets, size_t n, char **text, char *err,
		  size_t err_len);

/* Hands a file with debug information to the process that reads `file`, which has wanted it by this key. fd stays the caller's; it
 * must be one that the owner of `file` may read. The same errors. */
int parse_debug_file(struct parse_pool *pool, const struct code_file *file, int fd, const char *key, char *err, size_t err_len);

/* What such a process does: arguments as the pool gives them. Returns the exit status. */
int parse_process_main(int argc, char **argv);

#endif
