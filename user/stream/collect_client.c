/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Delivers the lines of each interval to "ioprobe collect" over TLS. The collector confirms an interval when it is in its store;
 * what is not confirmed is sent again over the next connection, and the collector reports which intervals it has. Unconfirmed lines
 * wait in memory; beyond PENDING_MOST the follower waits, for the spool has them anyway. When the recording has ended, it tries
 * for a minute and then counts what was not delivered.
 */
#include "stream/outputs.h"

#include <arpa/inet.h>
#include <errno.h>
#include <gnutls/gnutls.h>
#include <jansson.h>
#include <netdb.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "stream/grace.h"
#include "stream/token.h"

#define FORMAT "ioprobe collect 1"
#define PENDING_MOST (8u << 20) /* bytes */
#define RETRY_NS 1000000000ull
#define PAUSE_NS 100000000
#define ANSWER_S 20 /* for one answer; the collector commits to a disk */
#define LINE_MOST 4096 /* of the collector's lines */

struct batch {
	struct batch *next;
	enum live_lines_kind kind;
	uint64_t number;
	bool last;
	char *text;
	size_t len;
};

struct client {
	struct live_output *output; /* whose lines these are */
	char host[256], port[8];
	char token[TOKEN_ROOM];
	gnutls_certificate_credentials_t credentials;
	gnutls_session_t session;
	int fd; /* -1: not connected */
	char *begin; /* the first line */
	struct batch *first, **end;
	size_t pending;
	struct live_done have; /* of the collector's store, when the connection was made */
	uint64_t tried_ns; /* CLOCK_MONOTONIC: the last attempt to connect */
	struct grace grace;
	uint64_t delivered, undelivered; /* intervals */
	int64_t confirmed; /* the last interval that the collector has confirmed, -1: none */
	bool refused;
	bool forgot; /* it has lost what it had confirmed */
	char reason[300]; /* why it is not connected */
};

static uint64_t collect_client_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000ull + now.tv_nsec;
}

/* ---- a connection ---- */

static void collect_client_disconnect(struct client *c)
{
	if (c->session)
		gnutls_deinit(c->session);
	if (c->fd >= 0)
		close(c->fd);
	c->session = NULL;
	c->fd = -1;
}

static bool fail_with(struct client *c, const char *reason)
{
	snprintf(c->reason, sizeof(c->reason), "%s", reason);
	collect_client_disconnect(c);
	return false;
}

static bool collect_client_open_socket(struct client *c)
{
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
	const struct timeval limit = { .tv_sec = ANSWER_S };
	struct addrinfo *found = NULL;
	int error = getaddrinfo(c->host, c->port, &hints, &found);

	if (error)
		return fail_with(c, gai_strerror(error));
	errno = 0;
	for (const struct addrinfo *a = found; a && c->fd < 0; a = a->ai_next) {
		c->fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
		if (c->fd < 0)
			continue;
		setsockopt(c->fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
		setsockopt(c->fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
		if (connect(c->fd, a->ai_addr, a->ai_addrlen)) {
			error = errno;
			close(c->fd);
			c->fd = -1;
			errno = error;
		}
	}
	freeaddrinfo(found);
	return c->fd >= 0 || fail_with(c, strerror(errno));
}

static bool is_address(const char *host)
{
	unsigned char room[16];

	return inet_pton(AF_INET, host, room) == 1 || inet_pton(AF_INET6, host, room) == 1;
}

/* The collector's certificate must be signed by the site's, and be for this host. */
static bool shake_hands(struct client *c)
{
	int ret = gnutls_init(&c->session, GNUTLS_CLIENT);

	if (ret >= 0)
		ret = gnutls_set_default_priority(c->session);
	if (ret >= 0)
		ret = gnutls_credentials_set(c->session, GNUTLS_CRD_CERTIFICATE, c->credentials);
	if (ret >= 0 && !is_address(c->host))
		ret = gnutls_server_name_set(c->session, GNUTLS_NAME_DNS, c->host, strlen(c->host));
	if (ret < 0)
		return fail_with(c, gnutls_strerror(ret));
	gnutls_session_set_verify_cert(c->session, c->host, 0);
	gnutls_transport_set_int(c->session, c->fd);
	do
		ret = gnutls_handshake(c->session);
	while (ret == GNUTLS_E_INTERRUPTED);
	return ret >= 0 || fail_with(c, gnutls_strerror(ret));
}

static bool send_text(struct client *c, const char *text, size_t len)
{
	while (len) {
		ssize_t sent = gnutls_record_send(c->session, text, len);

		if (sent == GNUTLS_E_INTERRUPTED)
			continue;
		if (sent < 0)
			return fail_with(c, gnutls_strerror(sent));
		text += sent;
		len -= sent;
	}
	return true;
}

/* A line of the collector; NULL: the connection is broken. */
static json_t *collect_client_receive(struct client *c)
{
	char line[LINE_MOST];
	size_t len = 0;
	json_t *answer;

	do {
		ssize_t got = gnutls_record_recv(c->session, line + len, 1);

		if (got == GNUTLS_E_INTERRUPTED)
			continue;
		if (got <= 0) {
			fail_with(c, got ? gnutls_strerror(got) : "the collector closed the connection");
			return NULL;
		}
		len++;
	} while (line[len - 1] != '\n' && len < sizeof(line));
	answer = json_loadb(line, len, 0, NULL);
	if (!answer)
		fail_with(c, "its answer is not a message of ioprobe's collector");
	return answer;
}

static bool has_type(const json_t *answer, const char *type)
{
	const char *found = json_string_value(json_object_get(answer, "type"));

	return found && !strcmp(found, type);
}

/* Of the type, or the connection is closed. The caller frees it. */
static json_t *receive_type(struct client *c, const char *type)
{
	json_t *answer = collect_client_receive(c);
	const char *reason;

	if (!answer || has_type(answer, type))
		return answer;
	reason = json_string_value(json_object_get(answer, "reason"));
	c->refused = has_type(answer, "refused") && json_is_true(json_object_get(answer, "final"));
	fail_with(c, reason ? reason : "its answer is not a message of ioprobe's collector");
	json_decref(answer);
	return NULL;
}

/* The collector's store was lost after it had confirmed intervals, whose lines are gone here. No more is delivered, so that the
 * store has no hole and a follower that begins again delivers them all. */
static bool collect_client_forgotten(struct client *c)
{
	uint64_t n = c->confirmed - c->have.interval;

	if (c->have.interval >= c->confirmed)
		return false;
	n = n < c->delivered ? n : c->delivered;
	c->delivered -= n;
	c->undelivered += n;
	c->refused = c->forgot = true;
	fail_with(c, "it has lost intervals that it had confirmed: follow the recording again ('ioprobe stream') to deliver all of "
		     "them; after its end that needs --keep-spool");
	return true;
}

/* Learns which intervals the collector has. */
static bool collect_client_introduce(struct client *c)
{
	json_t *answer = NULL, *hello = json_pack("{ss ss ss}", "type", "hello", "format", FORMAT, "token", c->token);
	char *text = json_dumps(hello, JSON_COMPACT | JSON_PRESERVE_ORDER);

	if (text && send_text(c, text, strlen(text)) && send_text(c, "\n", 1) && send_text(c, c->begin, strlen(c->begin)))
		answer = receive_type(c, "have");
	free(text);
	json_decref(hello);
	if (!answer)
		return false;
	c->have =
		(struct live_done){ json_integer_value(json_object_get(answer, "interval")),
				    json_is_true(json_object_get(answer, "last")), json_is_true(json_object_get(answer, "ended")) };
	json_decref(answer);
	return !collect_client_forgotten(c);
}

static bool connect_when_due(struct client *c)
{
	if (c->fd >= 0)
		return true;
	if (c->forgot)
		return false;
	if (collect_client_now_ns() - c->tried_ns < RETRY_NS)
		return false;
	c->tried_ns = collect_client_now_ns();
	return collect_client_open_socket(c) && shake_hands(c) && collect_client_introduce(c);
}

/* ---- the lines ---- */

static bool collect_client_is_there(const struct client *c, const struct batch *b)
{
	if (b->kind == LIVE_LINES_END || c->have.last)
		return b->kind == LIVE_LINES_END ? c->have.ended : true;
	return b->last ? (int64_t)b->number < c->have.interval : (int64_t)b->number <= c->have.interval;
}

static bool collect_client_deliver(struct client *c, const struct batch *b)
{
	json_t *answer;

	if (collect_client_is_there(c, b))
		return true;
	if (!send_text(c, b->text, b->len))
		return false;
	answer = receive_type(c, "ack");
	json_decref(answer);
	if (answer && b->kind == LIVE_LINES_INTERVAL)
		c->confirmed = b->number;
	return answer != NULL;
}

static void drop_first(struct client *c, bool delivered)
{
	struct batch *b = c->first;

	if (b->kind == LIVE_LINES_INTERVAL)
		*(delivered ? &c->delivered : &c->undelivered) += 1;
	c->first = b->next;
	if (!c->first)
		c->end = &c->first;
	c->pending -= b->len;
	free(b->text);
	free(b);
}

static void drop_all(struct client *c)
{
	while (c->first)
		drop_first(c, false);
}

/* ended: no more lines will come. */
static void deliver_pending(struct client *c, bool ended)
{
	const struct timespec pause = { 0, PAUSE_NS };

	while (c->first) {
		if (connect_when_due(c) && collect_client_deliver(c, c->first)) {
			drop_first(c, true);
			continue;
		}
		if (c->refused || grace_is_up(&c->grace, c->output, ended)) {
			drop_all(c);
			return;
		}
		if (!ended && c->pending < PENDING_MOST)
			return;
		nanosleep(&pause, NULL);
	}
}

static int report_undelivered(struct client *c)
{
	if (!c->undelivered && !c->refused)
		return 0;
	snprintf(c->output->err, sizeof(c->output->err), "collector %.100s:%s: %llu of %llu intervals were not delivered: %.250s",
		 c->host, c->port, (unsigned long long)c->undelivered, (unsigned long long)c->delivered + c->undelivered,
		 c->reason);
	return -EIO;
}

static int collect_client_on_lines(void *arg, enum live_lines_kind kind, const struct live_interval *interval, char *text,
				   size_t len)
{
	struct client *c = arg;
	struct batch *b;

	if (kind == LIVE_LINES_BEGIN) {
		c->begin = text;
		return 0;
	}
	b = calloc(1, sizeof(*b));
	if (!b) {
		free(text);
		return -ENOMEM;
	}
	*b = (struct batch){ .kind = kind,
			     .number = interval ? interval->number : 0,
			     .last = interval && interval->last,
			     .text = text,
			     .len = len };
	*c->end = b;
	c->end = &b->next;
	c->pending += len;
	deliver_pending(c, kind == LIVE_LINES_END);
	return kind == LIVE_LINES_END ? report_undelivered(c) : 0;
}

/* ---- begin and end ---- */

static void client_destroy(void *arg)
{
	struct client *c = arg;

	if (c->fd >= 0)
		gnutls_bye(c->session, GNUTLS_SHUT_WR);
	collect_client_disconnect(c);
	drop_all(c);
	if (c->credentials)
		gnutls_certificate_free_credentials(c->credentials);
	free(c->begin);
	free(c);
}

static int collect_client_refuse(const char *where, const char *why, char *err, size_t err_len)
{
	snprintf(err, err_len, "collector %s: cannot deliver to it: %s", where, why);
	return -EINVAL;
}

static int set_up(struct client *c, const char *where, char *err, size_t err_len)
{
	const char *token = getenv(TOKEN_VARIABLE), *ca = getenv(TOKEN_CA_VARIABLE), *colon = strrchr(where, ':');
	int ret;

	if (!token || !*token || strlen(token) >= sizeof(c->token))
		return collect_client_refuse(where,
					     "there is no token in " TOKEN_VARIABLE
					     " (the service makes one per job; see 'ioprobe help collect')",
					     err, err_len);
	if (!ca)
		return collect_client_refuse(where, TOKEN_CA_VARIABLE " does not name the file with the site's certificate", err,
					     err_len);
	grace_init(&c->grace);
	strcpy(c->token, token);
	snprintf(c->host, sizeof(c->host), "%.*s", (int)(colon - where), where);
	snprintf(c->port, sizeof(c->port), "%.5s", colon + 1);
	ret = gnutls_certificate_allocate_credentials(&c->credentials);
	if (ret >= 0)
		ret = gnutls_certificate_set_x509_trust_file(c->credentials, ca, GNUTLS_X509_FMT_PEM);
	if (ret > 0)
		return 0;
	snprintf(err, err_len, "%.300s: cannot read the site's certificate: %s", ca,
		 ret ? gnutls_strerror(ret) : "there is none in it");
	return -EINVAL;
}

static int collect_create(struct live_output **output, const char *where, char *err, size_t err_len)
{
	static const struct live_lines functions = { collect_client_on_lines, client_destroy };
	struct client *c = calloc(1, sizeof(*c));
	int ret;

	if (!c)
		return -ENOMEM;
	signal(SIGPIPE, SIG_IGN);
	c->fd = -1;
	c->confirmed = -1;
	c->end = &c->first;
	ret = set_up(c, where, err, err_len);
	if (!ret)
		ret = live_lines_create(&c->output, &functions, c);
	if (ret) {
		client_destroy(c);
		return ret;
	}
	*output = c->output;
	return 0;
}

const struct live_output_kind live_collect_kind = {
	.name = "collect", .where = "HOST:PORT",
	.where_kind = WHERE_HOST, .create = collect_create,
};
