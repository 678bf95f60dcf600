/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * A stream to librdkafka's own mock cluster of three brokers: what a consumer gets are the lines that a file gets, once and in
 * order, also with errors and an outage; what was not delivered is counted.
 */
#include "replay_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <glob.h>
#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "stream/live.h"
#include "stream/outputs.h"

#define BROKERS 3
#define INTERVALS 40
#define MS 1000000ull
#define WAIT_MS 30000
#define FLAW_MS 1500 /* how long a duplicate may take to come */

static rd_kafka_t *owner; /* of the cluster */
static rd_kafka_mock_cluster_t *cluster;
static char directory[64], properties[128], file[128];

static int setup(void **state)
{
	rd_kafka_conf_t *conf = rd_kafka_conf_new();
	FILE *out;
	char why[256];

	rd_kafka_conf_set(conf, "log_level", "0", why, sizeof(why));
	owner = rd_kafka_new(RD_KAFKA_PRODUCER, conf, why, sizeof(why));
	cluster = owner ? rd_kafka_mock_cluster_new(owner, BROKERS) : NULL;
	strcpy(directory, "/tmp/ioprobe-kafka-XXXXXX");
	if (!cluster || !mkdtemp(directory))
		return -1;
	if (chdir(directory))
		return -1;
	snprintf(properties, sizeof(properties), "%s/properties", directory);
	snprintf(file, sizeof(file), "%s/lines", directory);
	out = fopen(properties, "w");
	if (!out)
		return -1;
	fprintf(out, "# of this test\n bootstrap.servers = %s\nioprobe.topic=io\nretry.backoff.ms=50\n",
		rd_kafka_mock_cluster_bootstraps(cluster));
	fclose(out);
	return sb_setup(state);
}

/* The file in the current directory that has what was delivered. Returns how many there were. */
static size_t remove_place(void)
{
	glob_t found = { 0 };
	size_t n;

	glob("kafka-*.delivered", 0, NULL, &found);
	n = found.gl_pathc;
	for (size_t i = 0; i < n; i++)
		unlink(found.gl_pathv[i]);
	globfree(&found);
	return n;
}

static int teardown(void **state)
{
	rd_kafka_mock_cluster_destroy(cluster);
	rd_kafka_destroy(owner);
	unlink(properties);
	unlink(file);
	remove_place();
	if (chdir("/"))
		return -1;
	rmdir(directory);
	return sb_teardown(state);
}

static void record_calls(void)
{
	sb_text(&sb, IOP_REC_HOST, 0, 1, "host=n1\nrealtime_ns=1000000000\nmonotonic_ns=0\n", NULL);
	for (uint64_t i = 0; i < INTERVALS; i++) {
		sb_call(&sb, 100, "write", (100 * i + 10) * MS, (100 * i + 20) * MS, 0, 1, ARGS(ARG(HANDLE, 1), ARG(BYTES, 1)));
		sb_round(&sb, (100 * i + 21) * MS);
	}
	sb_text(&sb, IOP_REC_END, 0, 100 * INTERVALS * MS, "reason=test\nend_ns=4000000000\n", NULL);
	replay();
}

/* Returns the status of the output. */
static int follow(const char *kind, const char *where, char *err, size_t err_len)
{
	const struct live_options options = { .interval_ns = 100 * MS };
	struct live_output *outputs[1];
	struct spool_reader *reader;
	struct sink *sink;
	struct model model;
	char text[256], reason[512] = "";
	int failed;

	snprintf(text, sizeof(text), "%s:%s", kind, where);
	failed = live_output_create(&outputs[0], text, err, err_len);
	if (failed)
		return failed;
	assert_int_equal(live_sink_create(&sink, outputs, 1, &options), 0);
	assert_int_equal(spool_reader_open(&reader, sb.path), 0);
	replay_run(reader, &model, &sink, 1, reason, sizeof(reason));
	failed = outputs[0]->failed;
	snprintf(err, err_len, "%s", outputs[0]->err);
	live_sink_destroy(sink);
	spool_reader_destroy(reader);
	model_deinit(&model);
	outputs[0]->destroy(outputs[0]);
	return failed;
}

/* ---- what consumers get ---- */

static rd_kafka_t *consumer_create(void)
{
	rd_kafka_topic_partition_list_t *topics = rd_kafka_topic_partition_list_new(1);
	rd_kafka_conf_t *conf = rd_kafka_conf_new();
	rd_kafka_t *consumer;
	char why[256];

	rd_kafka_conf_set(conf, "bootstrap.servers", rd_kafka_mock_cluster_bootstraps(cluster), why, sizeof(why));
	rd_kafka_conf_set(conf, "group.id", "test", why, sizeof(why));
	rd_kafka_conf_set(conf, "auto.offset.reset", "earliest", why, sizeof(why));
	consumer = rd_kafka_new(RD_KAFKA_CONSUMER, conf, why, sizeof(why));
	assert_non_null(consumer);
	rd_kafka_topic_partition_list_add(topics, "io", RD_KAFKA_PARTITION_UA);
	assert_int_equal(rd_kafka_subscribe(consumer, topics), 0);
	rd_kafka_topic_partition_list_destroy(topics);
	return consumer;
}

static bool is_last(const rd_kafka_message_t *message)
{
	rd_kafka_headers_t *headers;
	const void *value;
	size_t size;

	assert_int_equal(rd_kafka_message_headers(message, &headers), 0);
	assert_int_equal(rd_kafka_header_get_last(headers, "type", &value, &size), 0);
	return size == 3 && !memcmp(value, "end", 3);
}

/* All messages, one behind the other. */
static char *consume(size_t *messages)
{
	rd_kafka_t *consumer = consumer_create();
	rd_kafka_message_t *message;
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);
	bool last = false;
	int32_t partition = -1;

	*messages = 0;
	while ((message = rd_kafka_consumer_poll(consumer, last ? FLAW_MS : WAIT_MS))) {
		if (!message->err) {
			assert_true(partition == -1 || partition == message->partition);
			partition = message->partition;
			fwrite(message->payload, 1, message->len, out);
			++*messages;
			last |= is_last(message);
		}
		rd_kafka_message_destroy(message);
	}
	rd_kafka_consumer_close(consumer);
	rd_kafka_destroy(consumer);
	fclose(out);
	return text;
}

/* The lag is another one each time. */
static void mask_lags(char *text)
{
	static const char key[] = "\"lag_ns\":";

	for (char *at = text; (at = strstr(at, key));) {
		size_t digits;

		at += sizeof(key) - 1;
		digits = strspn(at, "0123456789");
		memmove(at, at + digits, strlen(at + digits) + 1);
	}
}

static char *lines_of_file(void)
{
	char err[512] = "", *text = NULL;
	size_t cap = 0;
	FILE *in;

	assert_int_equal(follow("ndjson", file, err, sizeof(err)), 0);
	in = fopen(file, "r");
	assert_non_null(in);
	assert_true(getdelim(&text, &cap, 0, in) > 0);
	fclose(in);
	return text;
}

static void expect_all(void)
{
	size_t messages;
	char *expected = lines_of_file(), *got = consume(&messages);

	mask_lags(expected);
	mask_lags(got);
	assert_string_equal(got, expected);
	assert_int_equal(messages, INTERVALS + 3); /* begin, the intervals, the last one, end */
	free(expected);
	free(got);
}

static void deliver(void)
{
	char err[512] = "";

	if (follow("kafka", properties, err, sizeof(err)))
		fail_msg("%s", err);
}

/* ---- tests ---- */

static void once_and_in_order(void **state)
{
	(void)state;
	record_calls();
	deliver();
	expect_all();
}

/* The brokers had written some of the messages and answer with errors: the producer repeats them. */
static void errors_cost_nothing(void **state)
{
	(void)state;
	record_calls();
	rd_kafka_mock_push_request_errors(cluster, 0 /* Produce */, 4, RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION,
					  RD_KAFKA_RESP_ERR__TRANSPORT, RD_KAFKA_RESP_ERR_REQUEST_TIMED_OUT,
					  RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS);
	deliver();
	expect_all();
}

/* A follower that is started again begins anew, but does not deliver again what was acknowledged. */
static void goes_on(void **state)
{
	size_t messages;

	(void)state;
	record_calls();
	deliver();
	deliver();
	assert_int_equal(remove_place(), 1);
	deliver();
	free(consume(&messages));
	/* all, the begin again, and all again without the file */
	assert_int_equal(messages, INTERVALS + 3 + 1 + INTERVALS + 3);
}

static void *end_outage(void *arg)
{
	(void)arg;
	sleep(2);
	for (int i = 1; i <= BROKERS; i++)
		rd_kafka_mock_broker_set_up(cluster, i);
	return NULL;
}

static void outage(void **state)
{
	pthread_t thread;

	(void)state;
	record_calls();
	for (int i = 1; i <= BROKERS; i++)
		rd_kafka_mock_broker_set_down(cluster, i);
	assert_int_equal(pthread_create(&thread, NULL, end_outage, NULL), 0);
	deliver();
	pthread_join(thread, NULL);
	expect_all();
}

static void down_for_good(void **state)
{
	char err[512] = "";

	(void)state;
	record_calls();
	for (int i = 1; i <= BROKERS; i++)
		rd_kafka_mock_broker_set_down(cluster, i);
	setenv("IOPROBE_STREAM_GRACE_S", "1", 1);
	assert_int_not_equal(follow("kafka", properties, err, sizeof(err)), 0);
	unsetenv("IOPROBE_STREAM_GRACE_S");
	if (!strstr(err, ": 43 of 43 messages were not delivered: "))
		fail_msg("%s", err);
}

static void wrong_properties(void **state)
{
	static const char *const lines[][2] = { { "no.such.property=1\n", ":1: No such configuration property" },
						{ "# c\nx\n", ":2: NAME=VALUE is expected" },
						{ "linger.ms=many\n", ":1: Invalid value" },
						{ "acks=0\n", "cannot produce to Kafka" } };
	char err[512];

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		FILE *out = fopen(properties, "w");

		fputs(lines[i][0], out);
		fclose(out);
		assert_int_not_equal(follow("kafka", properties, err, sizeof(err)), 0);
		if (!strstr(err, lines[i][1]))
			fail_msg("%s: %s", lines[i][0], err);
	}
	assert_int_not_equal(follow("kafka", "/nowhere", err, sizeof(err)), 0);
	assert_non_null(strstr(err, "cannot read the properties"));
}

int main(void)
{
#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)
	const struct CMUnitTest tests[] = { TEST(once_and_in_order), TEST(goes_on),         TEST(errors_cost_nothing), TEST(outage),
					    TEST(down_for_good),     TEST(wrong_properties) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
