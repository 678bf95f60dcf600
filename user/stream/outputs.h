/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Destinations of a stream: a table of the kinds of outputs. Each kind is one file.
 */
#ifndef IOPROBE_STREAM_OUTPUTS_H
#define IOPROBE_STREAM_OUTPUTS_H

#include <stddef.h>
#include <stdio.h>

#include "stream/live.h"

/* What follows the kind's name: lines may go to a socket, too. */
enum live_where { WHERE_FILE, WHERE_TEXT, WHERE_HOST };

struct live_output_kind {
	const char *name;
	const char *where; /* what may follow the name and a colon, for messages */
	const char *default_where; /* NULL: one must be given */
	enum live_where where_kind;
	const char *const *words; /* that may follow instead, ends with NULL; NULL: none */
	bool events; /* it is made of events: they are all wanted unless others are asked for */
	/* where: an absolute path, a word that the kind knows, or default_where. Returns 0, or -errno with one line in err. */
	int (*create)(struct live_output **output, const char *where, char *err, size_t err_len);
};

/* The kinds. To add one: a file with a struct live_output_kind named live_NAME_kind, and its name here. */
#define LIVE_OUTPUTS(X) \
	X(ndjson) X(sqlite) X(ldms) X(prometheus) X(collect) X(kafka)

#define LIVE_OUTPUT_DECLARE(name) extern const struct live_output_kind live_##name##_kind;
LIVE_OUTPUTS(LIVE_OUTPUT_DECLARE)
#undef LIVE_OUTPUT_DECLARE

/* Creates the output described by "KIND" or "KIND:WHERE"; the owner calls its destroy(). Returns 0, or -errno with one line
 * in err. */
int live_output_create(struct live_output **output, const char *text, char *err, size_t err_len);
/* Whether the text describes an output; else one line is in err. Touches no file. */
bool live_output_valid(const char *text, char *err, size_t err_len);

bool live_output_is_stdout(const char *text);
bool live_output_wants_events(const char *text);

/* For kinds that write text: "-" is stdout, "unix:/PATH" a socket on which a reader listens, else an absolute path. Returns 0, or
 * -errno with one line in err. */
int live_output_open(FILE **out, const char *where, char *err, size_t err_len);
void live_output_close(FILE *out);

/* ---- outputs for programs of their own ---- */

/* The lines of ndjson for a caller: those of the begin, of each interval with the definitions before it, and of the end. */
enum live_lines_kind { LIVE_LINES_BEGIN, LIVE_LINES_INTERVAL, LIVE_LINES_END };
struct live_lines {
	/* interval: of LIVE_LINES_INTERVAL; text is malloc'ed and becomes the callee's. Returns 0, or -errno with a line in the
	 * output's err. */
	int (*lines)(void *arg, enum live_lines_kind kind, const struct live_interval *interval, char *text, size_t len);
	void (*destroy)(void *arg);
};
int live_lines_create(struct live_output **output, const struct live_lines *to, void *arg);
/* The store of sqlite for the recordings of a job's nodes: each has an output of its own on the one file. */
int live_store_create_many(struct live_output **output, const char *file, char *err, size_t err_len);

/* What a store had of a recording when begin() was called: its last interval, -1 for none; whether it is the recording's last one;
 * whether its end is there, too. */
struct live_done {
	int64_t interval;
	bool last, ended;
};
void live_store_done(const struct live_output *output, struct live_done *done);

#endif
