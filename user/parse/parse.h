/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Users' files are read in separate processes, which have neither the agent's privileges nor its memory: a file crafted to exploit
 * its reader compromises only a parser process, and costs the probes of that file.
 *
 * There is one parser process per owner of files. It runs as that user, as nobody for root's files, so a user who takes over a
 * parser with a crafted file gains no rights, and cannot change what is read from the files of others. Files are passed by
 * descriptor over a socket, results are returned as bytes that the agent validates (plan_wire.h). A process is started with the
 * first file of its owner and ends with the pool.
 *
 * To add a kind of request: a constant in parse_wire.h, a case in parse_process.c and a function here.
 */
#ifndef IOPROBE_PARSE_H
#define IOPROBE_PARSE_H

#include <ioprobe/sites.h>
#include <stddef.h>
#include <sys/types.h>

#include "elf/code_file.h"
#include "elf/plan.h"
#include "symbol/python.h"

/* The command name of a parser process: not for users. */
#define PARSE_COMMAND "parser-process"

struct parse_pool;

/* set must outlive the pool and not change. Not thread-safe. */
int parse_pool_create(struct parse_pool **out, const struct table_set *set);
void parse_pool_destroy(struct parse_pool *pool);       /* NULL is allowed */

/* Work to do while the parser has not answered: work(arg) is called when fd is readable, and at least every PARSE_WORK_MS. It must
 * not ask the pool for anything. */
#define PARSE_WORK_MS 20
void parse_pool_set_work(struct parse_pool *pool, int fd, void (*work)(void *arg), void *arg);

/* Starts the process for root's files in advance; does not wait for it. */
void parse_pool_warm(struct parse_pool *pool);

/* Runs plan_create() on a file in its owner's parser process. Returns 0, or -errno with the reason in err (-ENOEXEC: not an ELF
 * file; -EIO: the process was killed, or its answer was rejected). Waits at most PARSE_DEADLINE_NS. */
int parse_plan(struct parse_pool *pool, const struct code_file *file, const char *name, struct plan *out, char *err,
	       size_t err_len);

/* Reads the path of the dynamic linker that an executable requests; "" if there is none. The same errors. */
int parse_interpreter(struct parse_pool *pool, const struct code_file *file, char *buf, size_t len, char *err, size_t err_len);

/* Reads the GNU build-id in hexadecimal digits, "" if there is none. The same errors. */
int parse_build_id(struct parse_pool *pool, const struct code_file *file, char *buf, size_t len, char *err, size_t err_len);

/* Reads the unwind rule of the return address at this offset of the file; never pending, never of the application. The same
 * errors. */
int parse_rule(struct parse_pool *pool, const struct code_file *file, uint64_t offset, struct iop_site_rule *rule, char *err,
	       size_t err_len);

/* Layout of a Python interpreter's frames, from its file; checked. The same errors. */
int parse_python(struct parse_pool *pool, const struct code_file *file, struct python_file *out, char *err, size_t err_len);

/* Functions, files and lines at up to PARSE_MAX_PLACES offsets, as the text that code_parser.h describes; the caller's, nothing in
 * it has been checked but that it has no 0. The same errors. */
#define PARSE_MAX_PLACES 14
int parse_symbols(struct parse_pool *pool, const struct code_file *file, const uint64_t *offsets, size_t n, char **text, char *err,
		  size_t err_len);

/* Passes a debug file to the process that reads `file`, which has requested it by this key. fd stays the caller's; the owner of
 * `file` must be permitted to read it. The same errors. */
int parse_debug_file(struct parse_pool *pool, const struct code_file *file, int fd, const char *key, char *err, size_t err_len);

/* Main function of a parser process, with the arguments that the pool passes. Returns the exit status. */
int parse_process_main(int argc, char **argv);

#endif
