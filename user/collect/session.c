/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Lines are kept until an interval is complete, then written in one transaction: no follower holds the database of others while
 * its lines are on their way, and of an interval all or nothing is there.
 */
#include "collect/session.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collect/lines.h"
#include "stream/outputs.h"

#define FORMAT "ioprobe collect 1"
#define INTERVAL_MOST (64u << 20) /* bytes of an interval's lines */

enum session_state { HELLO, BEGIN, ROWS };

struct session {
	const struct token_secret *secret;
	struct collect_space *space;
	struct collect_counts *counts;
	enum session_state state;
	struct live_output *store; /* NULL: not yet */
	char file[4500]; /* the store's */
	char *lines; /* not yet taken: of the current interval, the last one perhaps incomplete */
	size_t len, cap;
	size_t line; /* begin of the last line */
	char *answer;
	char reason[600];
};

struct session *session_create(const struct token_secret *secret, struct collect_space *space, struct collect_counts *counts)
{
	struct session *s = calloc(1, sizeof(*s));

	if (s) {
		s->secret = secret;
		s->space = space;
		s->counts = counts;
	}
	return s;
}

void session_destroy(struct session *s)
{
	if (!s)
		return;
	if (s->store)
		s->store->destroy(s->store);
	free(s->lines);
	free(s->answer);
	free(s);
}

const char *session_reason(const struct session *s)
{
	return s->reason;
}

/* ---- answers ---- */

/* Steals the object. */
static int session_answer(struct session *s, json_t *object)
{
	char *line = object ? json_dumps(object, JSON_COMPACT | JSON_PRESERVE_ORDER) : NULL, *both = NULL;

	json_decref(object);
	if (!line || asprintf(&both, "%s%s\n", s->answer ? s->answer : "", line) < 0)
		both = NULL;
	free(line);
	if (!both)
		return -ENOMEM;
	free(s->answer);
	s->answer = both;
	return 0;
}

/* final: it is of no use to try again. */
static int session_refuse(struct session *s, bool final, const char *reason)
{
	snprintf(s->reason, sizeof(s->reason), "%s", reason);
	session_answer(s, json_pack("{ss ss sb}", "type", "refused", "reason", reason, "final", final));
	return -EACCES;
}

/* A job that has reached its own limit is refused for good: its follower goes on without the collector. At the limit of all
 * stores it tries again, as when the disk is full: room may be made. */
static int session_ask_space(struct session *s, uint64_t bytes)
{
	char reason[300];
	enum space_answer answer = collect_space_ask(s->space, s->file, bytes, reason, sizeof(reason));

	if (answer == SPACE_FREE)
		return 0;
	s->counts->full++;
	return session_refuse(s, answer == SPACE_JOB_FULL, reason);
}

/* ---- lines ---- */

/* The store's name: CLUSTER,JOB,UID.db. None of the three has a comma (token.c), so no two jobs share a name. */
static int session_open_store(struct session *s, char *name)
{
	char err[512] = "";

	for (char *c = name; *c; c++)
		*c = *c == '/' ? ',' : *c;
	snprintf(s->file, sizeof(s->file), "%.4000s/%.400s.db", s->space->directory, name);
	if (session_ask_space(s, 0))
		return -ENOSPC;
	return live_store_create_many(&s->store, s->file, err, sizeof(err)) ? session_refuse(s, false, err) : 0;
}

static int take_hello(struct session *s, const json_t *line)
{
	const char *format = json_string_value(json_object_get(line, "format"));
	const char *token = json_string_value(json_object_get(line, "token"));
	char name[TOKEN_ROOM];

	if (!format || strcmp(format, FORMAT))
		return session_refuse(s, true, "its protocol is not \"" FORMAT "\": the client is another version of "
				      "ioprobe, or not ioprobe");
	if (!token || strlen(token) >= sizeof(name) || !token_verify(token, s->secret, name, sizeof(name)))
		return session_refuse(s, true, "its token is not valid here");
	s->counts->followers++;
	s->state = BEGIN;
	return session_open_store(s, name);
}

static int session_take_begin(struct session *s, const json_t *line)
{
	struct live_done done;
	int ret = lines_take(s->store, &(struct live_interval){ 0 }, line);

	if (ret == LINES_BEGIN) {
		live_store_done(s->store, &done);
		s->state = ROWS;
		return session_answer(s, json_pack("{ss sI sb sb}", "type", "have", "interval", (json_int_t)done.interval, "last",
						   done.last, "ended", done.ended));
	}
	return session_refuse(s, true,
			      ret < 0 && ret != -EBADMSG ? s->store->err : "the line with the recording's begin is not valid");
}

/* Rows, and the line that ends the interval. */
static int take_rows(struct session *s, const struct live_interval *now)
{
	char *at = s->lines, *end;
	int ret = LINES_OTHER;

	while (ret >= 0 && (end = memchr(at, '\n', s->lines + s->len - at))) {
		json_t *line = json_loadb(at, end - at, 0, NULL);

		ret = line ? lines_take(s->store, now, line) : -EBADMSG;
		json_decref(line);
		at = end + 1;
	}
	if (ret == -EBADMSG)
		return session_refuse(s, true, "a line of an interval is not valid");
	return ret < 0 ? session_refuse(s, false, s->store->err) : 0;
}

/* Whether the last line, which is complete, ends an interval or the stream. */
static int ends_interval(struct session *s, struct live_interval *now)
{
	json_t *line = json_loadb(s->lines + s->line, s->len - s->line, 0, NULL);
	const char *type = line ? json_string_value(json_object_get(line, "type")) : NULL;
	int ret = type && !strcmp(type, "end") ? LINES_END : line && lines_interval(now, line) ? LINES_INTERVAL : LINES_OTHER;

	json_decref(line);
	return ret;
}

static int session_take_interval(struct session *s)
{
	struct live_interval now = { .number = INT64_MAX };
	int type = ends_interval(s, &now), ret;

	if (type == LINES_OTHER)
		return 0;
	ret = session_ask_space(s, s->len);
	if (!ret)
		ret = take_rows(s, &now);
	if (!ret) {
		s->counts->bytes += s->len;
		s->space->used += s->len;
		*(type == LINES_END ? &s->counts->ended : &s->counts->intervals) += 1;
	}
	s->len = 0;
	if (ret)
		return ret;
	return session_answer(s, type == LINES_END
				 ? json_pack("{ss sb}", "type", "ack", "end", 1)
				 : json_pack("{ss sI sb}", "type", "ack", "interval", (json_int_t)now.number, "last", now.last));
}

static bool may_end_interval(const char *line, size_t len)
{
	static const char interval[] = "{\"type\":\"interval\"", end[] = "{\"type\":\"end\"";

	return (len > sizeof(interval) && !memcmp(line, interval, sizeof(interval) - 1)) ||
	       (len > sizeof(end) && !memcmp(line, end, sizeof(end) - 1));
}

/* A line has become complete: the bytes from s->line to s->len. */
static int take_line(struct session *s)
{
	json_t *line;
	int ret;

	if (s->state == ROWS)
		return may_end_interval(s->lines + s->line, s->len - s->line) ? session_take_interval(s) : 0;
	line = json_loadb(s->lines, s->len, 0, NULL);
	ret = !line               ? session_refuse(s, true, "its first line is not valid JSON")
	      : s->state == HELLO ? take_hello(s, line)
				  : session_take_begin(s, line);
	json_decref(line);
	s->len = 0;
	return ret;
}

static int add_bytes(struct session *s, const char *bytes, size_t len)
{
	size_t cap = s->cap ? s->cap : 65536;
	char *grown;

	if (s->len + len > (s->state == ROWS ? INTERVAL_MOST : 65536u))
		return session_refuse(s, true, "an interval has more than 64 MiB of lines");
	while (cap < s->len + len)
		cap *= 2;
	grown = cap > s->cap ? realloc(s->lines, cap) : s->lines;
	if (!grown)
		return session_refuse(s, false, "out of memory");
	s->lines = grown;
	s->cap = cap;
	memcpy(s->lines + s->len, bytes, len);
	s->len += len;
	return 0;
}

bool session_take(struct session *s, const char *bytes, size_t len, char **answered)
{
	int ret = 0;

	while (len && !ret) {
		const char *end = memchr(bytes, '\n', len);
		size_t part = end ? (size_t)(end + 1 - bytes) : len;

		ret = add_bytes(s, bytes, part);
		if (!ret && end) {
			ret = take_line(s);
			s->line = s->len;
		}
		bytes += part;
		len -= part;
	}
	*answered = s->answer;
	s->answer = NULL;
	return !ret;
}
