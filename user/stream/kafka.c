/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Produces the lines of each interval to Apache Kafka, by librdkafka's idempotent producer. The library is loaded when an output
 * needs it: in the follower, which has the user's rights, and never in a recorder. A full queue makes the follower wait, for the
 * spool has what is not delivered. What was delivered is kept in a file of the recording's directory, so that a follower that is
 * started again goes on there.
 */
#include "stream/outputs.h"

#include <dlfcn.h>
#include <errno.h>
#include <librdkafka/rdkafka.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "stream/grace.h"

#define LIBRARY "librdkafka.so.1"
#define DEFAULT_TOPIC "ioprobe"
#define TOPIC_WORD "ioprobe.topic" /* in the file of properties */
#define MESSAGE_MOST 900000 /* bytes: the brokers' default limit is 1 MB */
#define POLL_MS 100
#define PLACE_OF(interval, last) (2 * (interval) + (last) + 1) /* in a recording, in order; 0: before all */
#define PLACE_END UINT64_MAX

#define FUNCTIONS(X) \
	X(rd_kafka_conf_new) \
	X(rd_kafka_conf_destroy) X(rd_kafka_conf_set) X(rd_kafka_conf_set_opaque) X(rd_kafka_conf_set_dr_msg_cb) \
		X(rd_kafka_conf_set_error_cb) X(rd_kafka_conf_set_log_cb) X(rd_kafka_new) X(rd_kafka_destroy) X(rd_kafka_producev) \
			X(rd_kafka_poll) X(rd_kafka_outq_len) X(rd_kafka_err2str) X(rd_kafka_purge) X(rd_kafka_fatal_error)

struct library {
/* The macro's argument is the name of a member. NOLINTNEXTLINE(bugprone-macro-parentheses) */
#define MEMBER(name) typeof(&name) name;
	FUNCTIONS(MEMBER)
};

struct kafka {
	struct live_output *output; /* whose lines these are */
	struct library library;
	rd_kafka_t *handle;
	char topic[256], key[512];
	uint64_t interval; /* of the next message */
	uintptr_t place; /* after the next message; 0: others of its interval follow */
	uint64_t acknowledged, kept; /* the place up to which all is delivered; the one in the file */
	time_t kept_s; /* CLOCK_MONOTONIC */
	char file[64]; /* in the current directory */
	uint64_t produced, delivered;
	struct grace grace;
	bool over; /* it is of no use to wait any more */
	char reason[300];
	char where[300];
};

/* ---- the library ---- */

static int load_library(struct library *library, char *err, size_t err_len)
{
	void *handle = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);

#define LOAD(name) library->name = handle ? (typeof(library->name))dlsym(handle, #name) : NULL;
	FUNCTIONS(LOAD)
#define IS_THERE(name) &&library->name
	if (handle FUNCTIONS(IS_THERE))
		return 0;
	snprintf(err, err_len, "kafka: cannot load " LIBRARY ": %.300s: install librdkafka1 (librdkafka)",
		 handle ? "it is too old" : dlerror());
	return -ENOENT;
}

/* ---- the acknowledged place ---- */

static void name_file(struct kafka *k)
{
	uint64_t hash = 0xcbf29ce484222325ull;

	for (const char *c = k->where; *c; c++)
		hash = (hash ^ (unsigned char)*c) * 0x100000001b3ull;
	snprintf(k->file, sizeof(k->file), "kafka-%016llx.delivered", (unsigned long long)hash);
}

/* That of another recording or topic means nothing. */
static void read_place(struct kafka *k)
{
	FILE *in = fopen(k->file, "re");
	unsigned long long place = 0;
	char topic[256], key[512];

	if (in && fscanf(in, "%llu %255s %511s", &place, topic, key) == 3 && !strcmp(topic, k->topic) && !strcmp(key, k->key))
		k->acknowledged = k->kept = place;
	if (in)
		fclose(in);
}

/* If it cannot be written, a later follower delivers again what this one has. */
static void keep_place(struct kafka *k, bool now)
{
	char next[80];
	struct timespec time;
	FILE *out;

	clock_gettime(CLOCK_MONOTONIC, &time);
	if (k->acknowledged == k->kept || (!now && time.tv_sec == k->kept_s))
		return;
	snprintf(next, sizeof(next), "%s.next", k->file);
	out = fopen(next, "we");
	if (!out)
		return;
	fprintf(out, "%llu %s %s\n", (unsigned long long)k->acknowledged, k->topic, k->key);
	if (!fclose(out) && !rename(next, k->file)) {
		k->kept = k->acknowledged;
		k->kept_s = time.tv_sec;
	}
}

static void on_delivery(rd_kafka_t *handle, const rd_kafka_message_t *message, void *arg)
{
	struct kafka *k = arg;

	(void)handle;
	if (!message->err) {
		k->delivered++;
		if (message->_private)
			k->acknowledged = (uintptr_t)message->_private;
	} else if (message->err != RD_KAFKA_RESP_ERR__PURGE_QUEUE && message->err != RD_KAFKA_RESP_ERR__PURGE_INFLIGHT)
		snprintf(k->reason, sizeof(k->reason), "%s", k->library.rd_kafka_err2str(message->err));
}

static void kafka_on_error(rd_kafka_t *handle, int error, const char *reason, void *arg)
{
	struct kafka *k = arg;
	char fatal[256];

	snprintf(k->reason, sizeof(k->reason), "%s", reason);
	if (error == RD_KAFKA_RESP_ERR__FATAL && k->library.rd_kafka_fatal_error(handle, fatal, sizeof(fatal))) {
		snprintf(k->reason, sizeof(k->reason), "%s", fatal);
		k->over = true;
	}
}

/* The last reason is reported at the end, once. */
static void on_log(const rd_kafka_t *handle, int level, const char *facility, const char *text)
{
	(void)handle, (void)level, (void)facility, (void)text;
}

/* ---- the file of properties ---- */

static int kafka_wrong(const char *file, unsigned line, const char *why, char *err, size_t err_len)
{
	snprintf(err, err_len, "%.200s:%u: %s", file, line, why);
	return -EINVAL;
}

/* NAME=VALUE; blanks around either, empty lines and those that begin with # mean nothing. */
static int read_property(struct kafka *k, rd_kafka_conf_t *conf, const char *file, unsigned number, char *line, char *err,
			 size_t err_len)
{
	char why[300], *name = line + strspn(line, " \t"), *value = strchr(name, '='), *end;

	line[strcspn(line, "\r\n")] = 0;
	if (!*name || *name == '#')
		return 0;
	if (!value)
		return kafka_wrong(file, number, "NAME=VALUE is expected", err, err_len);
	for (end = value; end > name && strchr(" \t", end[-1]); end--)
		;
	*end = 0;
	value += 1 + strspn(value + 1, " \t");
	for (end = value + strlen(value); end > value && strchr(" \t", end[-1]); end--)
		;
	*end = 0;
	if (!strcmp(name, TOPIC_WORD)) {
		snprintf(k->topic, sizeof(k->topic), "%s", value);
		return 0;
	}
	if (k->library.rd_kafka_conf_set(conf, name, value, why, sizeof(why)) == RD_KAFKA_CONF_OK)
		return 0;
	return kafka_wrong(file, number, why, err, err_len);
}

static int read_properties(struct kafka *k, rd_kafka_conf_t *conf, const char *file, char *err, size_t err_len)
{
	FILE *in = fopen(file, "re");
	unsigned number = 0;
	char *line = NULL;
	size_t cap = 0;
	int ret = 0;

	if (!in) {
		ret = -errno;
		snprintf(err, err_len, "%.300s: cannot read the properties for Kafka: %s", file, strerror(errno));
		return ret;
	}
	while (!ret && getline(&line, &cap, in) >= 0)
		ret = read_property(k, conf, file, ++number, line, err, err_len);
	free(line);
	fclose(in);
	return ret;
}

/* The file's come first: the producer stays idempotent, and nothing times out as long as there is hope. */
static int set_properties(struct kafka *k, rd_kafka_conf_t *conf, const char *file, char *err, size_t err_len)
{
	static const char *const before[][2] = { { "client.id", "ioprobe" },
						 { "linger.ms", "100" },
						 { "queue.buffering.max.kbytes", "8192" } };
	static const char *const after[][2] = { { "enable.idempotence", "true" }, { "message.timeout.ms", "0" } };
	char why[300];
	int ret;

	for (size_t i = 0; i < sizeof(before) / sizeof(before[0]); i++)
		k->library.rd_kafka_conf_set(conf, before[i][0], before[i][1], why, sizeof(why));
	ret = read_properties(k, conf, file, err, err_len);
	for (size_t i = 0; i < sizeof(after) / sizeof(after[0]) && !ret; i++)
		if (k->library.rd_kafka_conf_set(conf, after[i][0], after[i][1], why, sizeof(why)) != RD_KAFKA_CONF_OK) {
			snprintf(err, err_len, "%.200s: %.200s", file, why);
			ret = -EINVAL;
		}
	k->library.rd_kafka_conf_set_opaque(conf, k);
	k->library.rd_kafka_conf_set_dr_msg_cb(conf, on_delivery);
	k->library.rd_kafka_conf_set_error_cb(conf, kafka_on_error);
	k->library.rd_kafka_conf_set_log_cb(conf, on_log);
	return ret;
}

/* ---- messages ---- */

/* One partition has all messages of a recording, in order. */
static void set_key(struct kafka *k, const char *begin)
{
	const char *host = strstr(begin, "\"host\":"), *recording = strstr(begin, "\"recording\":");

	snprintf(k->key, sizeof(k->key), "%.*s/%.*s", host ? (int)strcspn(host + 7, ",") : 0, host ? host + 7 : "",
		 recording ? (int)strcspn(recording + 12, ",}") : 0, recording ? recording + 12 : "");
}

static void kafka_give_up(struct kafka *k)
{
	k->over = true;
	k->library.rd_kafka_purge(k->handle, RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT);
	while (k->library.rd_kafka_outq_len(k->handle) && k->library.rd_kafka_poll(k->handle, POLL_MS))
		;
}

/* type, interval and part are headers: consumers that get an interval again, from a follower that was started again, recognise it.
 * */
static void kafka_produce(struct kafka *k, const char *type, uint64_t part, const char *text, size_t len)
{
	char interval[24], part_text[24];
	rd_kafka_resp_err_t error;

	snprintf(interval, sizeof(interval), "%llu", (unsigned long long)k->interval);
	snprintf(part_text, sizeof(part_text), "%llu", (unsigned long long)part);
	k->produced++;
	while (!k->over) {
		error = k->library.rd_kafka_producev(k->handle, RD_KAFKA_V_TOPIC(k->topic), RD_KAFKA_V_KEY(k->key, strlen(k->key)),
						     RD_KAFKA_V_VALUE((void *)text, len), RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY),
						     RD_KAFKA_V_OPAQUE((void *)k->place), RD_KAFKA_V_HEADER("type", type, -1),
						     RD_KAFKA_V_HEADER("interval", interval, -1),
						     RD_KAFKA_V_HEADER("part", part_text, -1), RD_KAFKA_V_END);
		if (error == RD_KAFKA_RESP_ERR_NO_ERROR)
			break;
		if (error != RD_KAFKA_RESP_ERR__QUEUE_FULL) {
			snprintf(k->reason, sizeof(k->reason), "%s", k->library.rd_kafka_err2str(error));
			break;
		}
		if (grace_is_up(&k->grace, k->output, false))
			kafka_give_up(k);
		k->library.rd_kafka_poll(k->handle, POLL_MS);
	}
	k->library.rd_kafka_poll(k->handle, 0);
	keep_place(k, false);
}

/* Splits after a line. */
static void produce_parts(struct kafka *k, const char *type, uint64_t place, const char *text, size_t len)
{
	uint64_t part = 0;

	k->place = 0;
	while (len > MESSAGE_MOST) {
		const char *end = memrchr(text, '\n', MESSAGE_MOST);
		size_t size = end ? (size_t)(end + 1 - text) : len;

		kafka_produce(k, type, part++, text, size);
		text += size;
		len -= size;
	}
	k->place = place;
	if (len)
		kafka_produce(k, type, part, text, len);
}

static int kafka_finish(struct kafka *k)
{
	while (k->library.rd_kafka_outq_len(k->handle) && !k->over) {
		k->library.rd_kafka_poll(k->handle, POLL_MS);
		if (k->library.rd_kafka_outq_len(k->handle) && grace_is_up(&k->grace, k->output, true))
			kafka_give_up(k);
	}
	keep_place(k, true);
	if (k->delivered == k->produced)
		return 0;
	snprintf(k->output->err, sizeof(k->output->err), "kafka:%.150s: %llu of %llu messages were not delivered: %.200s", k->where,
		 (unsigned long long)(k->produced - k->delivered), (unsigned long long)k->produced, k->reason);
	return -EIO;
}

static int kafka_on_lines(void *arg, enum live_lines_kind kind, const struct live_interval *interval, char *text, size_t len)
{
	static const char *const types[] = {
		[LIVE_LINES_BEGIN] = "begin", [LIVE_LINES_INTERVAL] = "interval", [LIVE_LINES_END] = "end"
	};
	struct kafka *k = arg;
	uint64_t place = interval ? PLACE_OF(interval->number, interval->last) : kind == LIVE_LINES_END ? PLACE_END : 0;

	if (kind == LIVE_LINES_BEGIN) {
		set_key(k, text);
		read_place(k);
	}
	if (interval)
		k->interval = interval->number;
	if (!place || place > k->acknowledged)
		produce_parts(k, types[kind], place, text, len);
	free(text);
	return kind == LIVE_LINES_END ? kafka_finish(k) : 0;
}

/* ---- begin and end ---- */

static void kafka_destroy(void *arg)
{
	struct kafka *k = arg;

	if (k->handle) {
		kafka_give_up(k);
		keep_place(k, true);
		k->library.rd_kafka_destroy(k->handle);
	}
	free(k);
}

static int open_producer(struct kafka *k, const char *file, char *err, size_t err_len)
{
	rd_kafka_conf_t *conf = k->library.rd_kafka_conf_new();
	char why[300] = "";
	int ret = set_properties(k, conf, file, err, err_len);

	if (!ret) {
		k->handle = k->library.rd_kafka_new(RD_KAFKA_PRODUCER, conf, why, sizeof(why));
		if (k->handle)
			return 0; /* it has taken conf */
		snprintf(err, err_len, "%.200s: cannot produce to Kafka: %.250s", file, why);
		ret = -EINVAL;
	}
	k->library.rd_kafka_conf_destroy(conf);
	return ret;
}

static int kafka_create(struct live_output **output, const char *where, char *err, size_t err_len)
{
	static const struct live_lines functions = { kafka_on_lines, kafka_destroy };
	struct kafka *k = calloc(1, sizeof(*k));
	int ret = k ? load_library(&k->library, err, err_len) : -ENOMEM;

	if (!ret) {
		snprintf(k->topic, sizeof(k->topic), DEFAULT_TOPIC);
		snprintf(k->where, sizeof(k->where), "%s", where);
		name_file(k);
		grace_init(&k->grace);
		ret = open_producer(k, where, err, err_len);
	}
	if (!ret)
		ret = live_lines_create(&k->output, &functions, k);
	if (!ret) {
		*output = k->output;
		return 0;
	}
	if (k)
		kafka_destroy(k);
	return ret;
}

const struct live_output_kind live_kafka_kind = {
	.name = "kafka", .where = "an absolute path of a file with librdkafka's properties",
	.where_kind = WHERE_FILE, .create = kafka_create,
};
