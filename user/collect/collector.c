/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * One thread waits for all connections. A connection that says nothing valid for HELLO_MS is closed; one whose follower is busy
 * stays open as long as it likes, for a job may be silent for hours. Strangers, those that have not proved that they are followers,
 * have STRANGERS_MOST places: whoever takes all of them delays followers, but keeps none out.
 */
#include "collect/collector.h"

#include <errno.h>
#include <gnutls/gnutls.h>
#include <netdb.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "collect/session.h"

#define HELLO_MS 30000
#define SWEEP_MS 1000
#define FULL_MS 100 /* until it is looked again whether there is a place for a stranger */
#define STRANGERS_MOST 256
#define STRANGER_LEAST_MS 1500 /* that each has, however many there are */
#define EVENTS 64
#define ANSWER_MOST 65536 /* bytes that a follower has not read */
#define REPORTS_PER_S 1

struct connection {
	struct connection *prev, *next;
	int fd;
	gnutls_session_t tls;
	struct session *session;
	bool shaken, known, closing; /* known: its token is valid; closing: when the answer is sent */
	uint64_t begun_ms;
	char *answer;
	size_t answer_len, sent;
	char peer[64];
};

struct collector {
	const struct collector_options *options;
	const struct token_secret *secret;
	gnutls_certificate_credentials_t credentials;
	int listen_fd, signal_fd, epoll_fd;
	struct connection *connections;
	unsigned n, strangers; /* connections, and those that are not known */
	bool full; /* of strangers: no connection is accepted */
	struct collect_counts counts;
	struct collect_space space;
	bool metrics_failed; /* said */
	uint64_t reported_ms, unreported; /* of refusals */
	char *err;
	size_t err_len;
};

static uint64_t collector_now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000ull + now.tv_nsec / 1000000;
}

/* A stranger who tries often does not fill the log. */
static void collector_report(struct collector *c, const struct connection *k, const char *reason)
{
	uint64_t now = collector_now_ms();

	c->counts.refused++;
	if (now - c->reported_ms < 1000 / REPORTS_PER_S) {
		c->unreported++;
		return;
	}
	fprintf(stderr, "ioprobe collect: %s: connection closed: %s", k->peer, reason);
	if (c->unreported)
		fprintf(stderr, " (%llu others are not listed)", (unsigned long long)c->unreported);
	fputc('\n', stderr);
	c->reported_ms = now;
	c->unreported = 0;
}

/* ---- a connection ---- */

static void connection_destroy(struct collector *c, struct connection *k)
{
	if (k->prev)
		k->prev->next = k->next;
	else
		c->connections = k->next;
	if (k->next)
		k->next->prev = k->prev;
	c->n--;
	c->strangers -= !k->known;
	gnutls_deinit(k->tls);
	close(k->fd);
	session_destroy(k->session);
	free(k->answer);
	free(k);
}

static void watch_connection(struct collector *c, struct connection *k, bool write)
{
	struct epoll_event event = { .events = EPOLLIN | (write ? EPOLLOUT : 0), .data.ptr = k };

	epoll_ctl(c->epoll_fd, EPOLL_CTL_MOD, k->fd, &event);
}

static bool wants_again(ssize_t ret)
{
	return ret == GNUTLS_E_AGAIN || ret == GNUTLS_E_INTERRUPTED;
}

/* Returns false if the connection is to be closed. */
static bool collector_send_answer(struct collector *c, struct connection *k)
{
	while (k->sent < k->answer_len) {
		ssize_t sent = gnutls_record_send(k->tls, k->answer + k->sent, k->answer_len - k->sent);

		if (sent == GNUTLS_E_INTERRUPTED)
			continue;
		if (sent == GNUTLS_E_AGAIN) {
			watch_connection(c, k, true);
			return true;
		}
		if (sent < 0)
			return false;
		k->sent += sent;
	}
	free(k->answer);
	k->answer = NULL;
	k->answer_len = k->sent = 0;
	watch_connection(c, k, false);
	return !k->closing;
}

/* TLS asks for the same bytes again after an interrupted send: they are only appended to. */
static bool add_answer(struct connection *k, char *answer)
{
	size_t len = answer ? strlen(answer) : 0;
	char *grown;

	if (!len) {
		free(answer);
		return true;
	}
	grown = k->answer_len + len <= ANSWER_MOST ? realloc(k->answer, k->answer_len + len) : NULL;
	if (grown) {
		/* Bytes, no string. NOLINTNEXTLINE(bugprone-not-null-terminated-result) */
		memcpy(grown + k->answer_len, answer, len);
		k->answer = grown;
		k->answer_len += len;
	}
	free(answer);
	return grown != NULL;
}

/* A follower that was refused is a stranger again: it does not stay if it does not read the answer. */
static void set_known(struct collector *c, struct connection *k, bool known)
{
	if (k->known == known)
		return;
	k->known = known;
	k->begun_ms = collector_now_ms();
	c->strangers += known ? -1 : 1;
}

static bool collector_receive(struct collector *c, struct connection *k)
{
	static char room[65536];

	while (!k->closing) {
		ssize_t got = gnutls_record_recv(k->tls, room, sizeof(room));
		char *answer = NULL;

		if (wants_again(got))
			return true;
		if (got <= 0)
			return false; /* the follower goes; what it had not completed is not kept */
		k->closing = !session_take(k->session, room, got, &answer);
		if (k->closing)
			collector_report(c, k, session_reason(k->session));
		set_known(c, k, !k->closing && (k->known || answer));
		if (!add_answer(k, answer) || !collector_send_answer(c, k))
			return false;
	}
	return true;
}

/* Returns false if the connection is to be closed. */
static bool collector_serve(struct collector *c, struct connection *k)
{
	if (!k->shaken) {
		int ret = gnutls_handshake(k->tls);

		if (wants_again(ret)) {
			watch_connection(c, k, gnutls_record_get_direction(k->tls));
			return true;
		}
		if (ret < 0 && !gnutls_error_is_fatal(ret))
			return true;
		if (ret < 0) {
			collector_report(c, k, gnutls_strerror(ret));
			return false;
		}
		k->shaken = true;
		watch_connection(c, k, false);
	}
	if (k->answer_len && !collector_send_answer(c, k))
		return false;
	return collector_receive(c, k);
}

/* ---- the listener ---- */

static struct connection *connection_create(struct collector *c, int fd)
{
	struct connection *k = calloc(1, sizeof(*k));

	if (!k)
		return NULL;
	k->fd = fd;
	k->begun_ms = collector_now_ms();
	k->session = session_create(c->secret, &c->space, &c->counts);
	if (!k->session || gnutls_init(&k->tls, GNUTLS_SERVER | GNUTLS_NONBLOCK) < 0) {
		session_destroy(k->session);
		free(k);
		return NULL;
	}
	gnutls_set_default_priority(k->tls);
	gnutls_credentials_set(k->tls, GNUTLS_CRD_CERTIFICATE, c->credentials);
	gnutls_certificate_server_set_request(k->tls, GNUTLS_CERT_IGNORE);
	gnutls_transport_set_int(k->tls, fd);
	k->next = c->connections;
	if (k->next)
		k->next->prev = k;
	c->connections = k;
	c->n++;
	c->strangers++;
	return k;
}

static void listen_again(struct collector *c, bool on)
{
	struct epoll_event event = { .events = on ? EPOLLIN : 0, .data.ptr = &c->listen_fd };

	c->full = !on;
	epoll_ctl(c->epoll_fd, EPOLL_CTL_MOD, c->listen_fd, &event);
}

static unsigned strangers_most(const struct collector *c)
{
	return c->options->most / 2 < STRANGERS_MOST ? c->options->most / 2 + 1 : STRANGERS_MOST;
}

/* Ends the oldest stranger if there are too many, and if it had its time. Returns false if there is no place. */
static bool collector_make_room(struct collector *c)
{
	struct connection *oldest = NULL;

	if (c->strangers < strangers_most(c))
		return true;
	for (struct connection *k = c->connections; k; k = k->next)
		if (!k->known)
			oldest = oldest && oldest->begun_ms < k->begun_ms ? oldest : k;
	if (!oldest || collector_now_ms() - oldest->begun_ms < STRANGER_LEAST_MS)
		return false;
	collector_report(c, oldest, "others wait, and it did not introduce itself");
	connection_destroy(c, oldest);
	return true;
}

/* Not while events are handled: it may end a connection that has one. */
static void collector_accept_one(struct collector *c)
{
	struct sockaddr_storage address;
	socklen_t len = sizeof(address);
	struct epoll_event event = { .events = EPOLLIN };
	struct connection *k;
	int fd;

	if (!collector_make_room(c)) {
		listen_again(c, false);
		return;
	}
	fd = accept4(c->listen_fd, (struct sockaddr *)&address, &len, SOCK_NONBLOCK | SOCK_CLOEXEC);
	if (fd < 0)
		return;
	k = c->n < c->options->most ? connection_create(c, fd) : NULL;
	if (!k) {
		close(fd); /* the follower tries again */
		c->unreported++;
		c->counts.refused++;
		return;
	}
	if (getnameinfo((struct sockaddr *)&address, len, k->peer, sizeof(k->peer), NULL, 0, NI_NUMERICHOST))
		strcpy(k->peer, "(unknown)");
	event.data.ptr = k;
	if (epoll_ctl(c->epoll_fd, EPOLL_CTL_ADD, fd, &event))
		connection_destroy(c, k);
}

static void close_strangers(struct collector *c)
{
	uint64_t now = collector_now_ms();
	struct connection *next;

	for (struct connection *k = c->connections; k; k = next) {
		next = k->next;
		if (k->known || now - k->begun_ms < HELLO_MS)
			continue;
		collector_report(c, k, "it did not introduce itself in time");
		connection_destroy(c, k);
	}
}

/* The collector goes on without the file; what is wrong with it is said once, until it can be written again. */
static void collector_write_metrics(struct collector *c)
{
	const struct collect_now now = { c->n, c->space.used, c->space.most };
	char err[512];
	int ret = c->options->metrics ? collect_counts_write(&c->counts, c->options->metrics, &now, err, sizeof(err)) : 0;

	if (ret && !c->metrics_failed)
		fprintf(stderr, "ioprobe collect: %s\n", err);
	c->metrics_failed = ret;
}

/* ---- begin and end ---- */

static int collector_fail(struct collector *c, const char *what, const char *why, int ret)
{
	snprintf(c->err, c->err_len, "%s: %s", what, why);
	return ret;
}

static int open_listener(struct collector *c)
{
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE };
	struct addrinfo *found = NULL;
	char port[8];
	int error, one = 1;

	snprintf(port, sizeof(port), "%u", c->options->port);
	error = getaddrinfo(c->options->address, port, &hints, &found);
	if (error) {
		snprintf(c->err, c->err_len, "--address %.200s: cannot listen on it: %s; give an address or a name of this host",
			 c->options->address ?: "(all)", gai_strerror(error));
		return -EINVAL;
	}
	c->listen_fd = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (c->listen_fd >= 0)
		setsockopt(c->listen_fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	error = c->listen_fd < 0 || bind(c->listen_fd, found->ai_addr, found->ai_addrlen) || listen(c->listen_fd, SOMAXCONN) ? errno
															     : 0;
	freeaddrinfo(found);
	if (error)
		snprintf(c->err, c->err_len,
			 "port %s of %s: cannot listen for followers: %s; give another --port or --address", port,
			 c->options->address ?: "this host", strerror(error));
	return -error;
}

static int open_credentials(struct collector *c)
{
	int ret = gnutls_certificate_allocate_credentials(&c->credentials);

	if (ret >= 0)
		ret = gnutls_certificate_set_x509_key_file(c->credentials, c->options->certificate, c->options->key,
							   GNUTLS_X509_FMT_PEM);
	if (ret >= 0)
		return 0;
	snprintf(c->err, c->err_len, "%.200s, %.200s: cannot use them as certificate and key: %s; both must be readable PEM "
		 "files that belong together", c->options->certificate, c->options->key, gnutls_strerror(ret));
	return -EINVAL;
}

static int open_events(struct collector *c)
{
	struct epoll_event listener = { .events = EPOLLIN, .data.ptr = &c->listen_fd },
			   signals = { .events = EPOLLIN, .data.ptr = &c->signal_fd };
	sigset_t mask;

	sigemptyset(&mask);
	sigaddset(&mask, SIGTERM);
	sigaddset(&mask, SIGINT);
	sigprocmask(SIG_BLOCK, &mask, NULL);
	signal(SIGPIPE, SIG_IGN);
	c->signal_fd = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
	c->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (c->signal_fd < 0 || c->epoll_fd < 0 || epoll_ctl(c->epoll_fd, EPOLL_CTL_ADD, c->listen_fd, &listener) ||
	    epoll_ctl(c->epoll_fd, EPOLL_CTL_ADD, c->signal_fd, &signals))
		return collector_fail(c, "cannot wait for followers", strerror(errno), -errno);
	return 0;
}

static uint16_t port_of(int fd)
{
	struct sockaddr_storage address;
	socklen_t len = sizeof(address);

	if (getsockname(fd, (struct sockaddr *)&address, &len))
		return 0;
	return ntohs(address.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&address)->sin6_port
						   : ((struct sockaddr_in *)&address)->sin_port);
}

static void collector_loop(struct collector *c)
{
	struct epoll_event events[EVENTS];
	uint64_t swept_ms = collector_now_ms();

	for (;;) {
		int n = epoll_wait(c->epoll_fd, events, EVENTS, c->full ? FULL_MS : SWEEP_MS);
		bool calls = c->full;

		for (int i = 0; i < n; i++) {
			if (events[i].data.ptr == &c->signal_fd)
				return;
			if (events[i].data.ptr == &c->listen_fd)
				calls = true;
			else if (!collector_serve(c, events[i].data.ptr))
				connection_destroy(c, events[i].data.ptr);
		}
		if (c->full)
			listen_again(c, true);
		if (calls)
			collector_accept_one(c);
		if (collector_now_ms() - swept_ms < SWEEP_MS)
			continue;
		close_strangers(c);
		collect_space_count(&c->space);
		collector_write_metrics(c);
		swept_ms = collector_now_ms();
	}
}

int collector_run(const struct collector_options *options, const struct token_secret *secret, void (*ready)(uint16_t port),
		  char *err, size_t err_len)
{
	struct collector c = { .options = options,
			       .secret = secret,
			       .space = { options->directory, options->most_bytes, options->most_job_bytes, 0 },
			       .listen_fd = -1,
			       .signal_fd = -1,
			       .epoll_fd = -1,
			       .err = err,
			       .err_len = err_len };
	int ret = open_credentials(&c);

	if (!ret)
		ret = open_listener(&c);
	if (!ret)
		ret = open_events(&c);
	if (!ret) {
		collect_space_count(&c.space);
		ready(port_of(c.listen_fd));
		collector_loop(&c);
	}
	while (c.connections)
		connection_destroy(&c, c.connections);
	if (!ret)
		collector_write_metrics(&c);
	if (c.credentials)
		gnutls_certificate_free_credentials(c.credentials);
	for (int *fd = (int[]){ c.listen_fd, c.signal_fd, c.epoll_fd, -2 }; *fd != -2; fd++)
		if (*fd >= 0)
			close(*fd);
	return ret;
}
