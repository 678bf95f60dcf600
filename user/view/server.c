/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Five resources: the page, its style, its script, the intervals as server-sent events, and metrics. The token keeps other users of
 * the host out, the check of the Host header keeps web sites out whose name resolves to 127.0.0.1.
 */
#include "view/server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <microhttpd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "page_files.h"

#define TOKEN_BYTES 16
#define MAX_CONNECTIONS 16
#define WAIT_MS 1000 /* then a comment is sent, which keeps the connection alive and detects a browser that has gone */
#define EVENT_BLOCK 65536
#define IDLE_S 5u /* any user of the host can connect: whoever says nothing gives up the place */

struct view_server {
	struct MHD_Daemon *daemon;
	struct history *history;
	struct metrics *metrics;
	uint16_t port;
	char token[2 * TOKEN_BYTES + 1];
};

/* The event stream of one browser. */
struct events {
	struct history *history;
	uint64_t next;
	char *text;
	size_t at, len;
};

/* Resources without information on a recording need no token. */
static const struct {
	const char *url, *type, *text;
	bool open;
} files[] = {
	{ "/", "text/html; charset=utf-8", page_html, false },
	{ "/page.css", "text/css; charset=utf-8", page_css, true },
	{ "/page.js", "text/javascript; charset=utf-8", page_js, true },
};

/* ---- events ---- */

static bool next_event(struct events *e)
{
	char *data = history_next(e->history, &e->next, WAIT_MS);
	int n = data ? asprintf(&e->text, "id: %llu\ndata: %s\n\n", (unsigned long long)e->next, data)
		     : asprintf(&e->text, ": nothing new\n\n");

	if (n < 0)
		e->text = NULL;
	e->len = n < 0 ? 0 : n;
	e->at = 0;
	e->next += data && n >= 0;
	free(data);
	return n >= 0;
}

static ssize_t read_events(void *arg, uint64_t position, char *room, size_t max)
{
	struct events *e = arg;
	size_t n;

	(void)position;
	if (!e->text && !next_event(e))
		return MHD_CONTENT_READER_END_WITH_ERROR;
	n = e->len - e->at < max ? e->len - e->at : max;
	memcpy(room, e->text + e->at, n);
	e->at += n;
	if (e->at == e->len) {
		free(e->text);
		e->text = NULL;
	}
	return n;
}

static void free_events(void *arg)
{
	struct events *e = arg;

	free(e->text);
	free(e);
}

/* A browser that reconnects requests the events after the last one it received. */
static struct MHD_Response *events_response(struct view_server *server, struct MHD_Connection *connection)
{
	const char *last = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Last-Event-ID");
	struct events *e = calloc(1, sizeof(*e));
	struct MHD_Response *response;

	if (!e)
		return NULL;
	e->history = server->history;
	e->next = last ? strtoull(last, NULL, 10) + 1 : 0;
	response = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, EVENT_BLOCK, read_events, e, free_events);
	if (!response)
		free_events(e);
	else
		MHD_add_response_header(response, "Content-Type", "text/event-stream");
	return response;
}

/* ---- requests ---- */

static bool is_our_host(const struct view_server *server, struct MHD_Connection *connection)
{
	const char *host = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Host");
	char address[32], name[32];

	snprintf(address, sizeof(address), "127.0.0.1:%u", server->port);
	snprintf(name, sizeof(name), "localhost:%u", server->port);
	return host && (!strcmp(host, address) || !strcmp(host, name));
}

/* Compares in constant time. */
static bool has_token(const struct view_server *server, struct MHD_Connection *connection)
{
	const char *token = MHD_lookup_connection_value(connection, MHD_GET_ARGUMENT_KIND, "token");
	unsigned char different = 0;

	if (!token || strlen(token) != 2 * TOKEN_BYTES)
		return false;
	for (size_t i = 0; i < 2 * TOKEN_BYTES; i++)
		different |= token[i] ^ server->token[i];
	return !different;
}

static bool is_open(const char *url)
{
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		if (files[i].open && !strcmp(url, files[i].url))
			return true;
	return false;
}

static struct MHD_Response *text_response(const char *text, const char *type)
{
	struct MHD_Response *response = MHD_create_response_from_buffer(strlen(text), (void *)text, MHD_RESPMEM_PERSISTENT);

	if (response)
		MHD_add_response_header(response, "Content-Type", type);
	return response;
}

static struct MHD_Response *metrics_response(struct view_server *server)
{
	char *text = metrics_text(server->metrics);
	struct MHD_Response *response = text ? MHD_create_response_from_buffer(strlen(text), text, MHD_RESPMEM_MUST_FREE) : NULL;

	if (!response)
		free(text);
	else
		MHD_add_response_header(response, "Content-Type", "text/plain; version=0.0.4; charset=utf-8");
	return response;
}

static enum MHD_Result server_answer(void *arg, struct MHD_Connection *connection, const char *url, const char *method,
				     const char *version, const char *data, size_t *data_len, void **state)
{
	struct view_server *server = arg;
	struct MHD_Response *response = NULL;
	unsigned status = MHD_HTTP_OK;
	enum MHD_Result result;

	(void)version, (void)data, (void)data_len, (void)state;
	if (!is_our_host(server, connection) || (!is_open(url) && !has_token(server, connection))) {
		status = MHD_HTTP_FORBIDDEN;
		response = text_response("the address that ioprobe printed is needed, with its token\n", "text/plain");
	} else if (strcmp(method, "GET")) {
		status = MHD_HTTP_METHOD_NOT_ALLOWED;
		response = text_response("GET only\n", "text/plain");
	} else if (!strcmp(url, "/events")) {
		response = events_response(server, connection);
	} else if (!strcmp(url, "/metrics")) {
		response = metrics_response(server);
	}
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]) && !response; i++)
		if (!strcmp(url, files[i].url))
			response = text_response(files[i].text, files[i].type);
	if (!response) {
		status = MHD_HTTP_NOT_FOUND;
		response = text_response("there is no such page\n", "text/plain");
	}
	if (!response)
		return MHD_NO;
	MHD_add_response_header(response, "Content-Security-Policy",
				"default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
				"base-uri 'none'; form-action 'none'; frame-ancestors 'none'");
	MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
	MHD_add_response_header(response, "Referrer-Policy", "no-referrer");
	MHD_add_response_header(response, "Cache-Control", "no-store");
	result = MHD_queue_response(connection, status, response);
	MHD_destroy_response(response);
	return result;
}

/* ---- start and stop ---- */

static int make_token(char *token)
{
	unsigned char bytes[TOKEN_BYTES];

	if (getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes))
		return -EIO;
	for (size_t i = 0; i < sizeof(bytes); i++)
		snprintf(token + 2 * i, 3, "%02x", bytes[i]);
	return 0;
}

int view_server_start(struct view_server **out, struct history *history, struct metrics *metrics, uint16_t port, char *err,
		      size_t err_len)
{
	struct view_server *server = calloc(1, sizeof(*server));
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	const union MHD_DaemonInfo *info;
	int ret = server ? make_token(server->token) : -ENOMEM;

	if (ret) {
		snprintf(err, err_len, "cannot serve a page: %s", strerror(-ret));
		free(server);
		return ret;
	}
	server->history = history;
	server->metrics = metrics;
	errno = 0;
	server->daemon = MHD_start_daemon(MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_THREAD_PER_CONNECTION, port, NULL, NULL,
					  server_answer, server, MHD_OPTION_SOCK_ADDR, &address, MHD_OPTION_CONNECTION_LIMIT,
					  MAX_CONNECTIONS, MHD_OPTION_CONNECTION_TIMEOUT, IDLE_S, MHD_OPTION_END);
	info = server->daemon ? MHD_get_daemon_info(server->daemon, MHD_DAEMON_INFO_BIND_PORT) : NULL;
	if (!info) {
		ret = errno ? -errno : -EIO;
		snprintf(err, err_len, "cannot listen on 127.0.0.1, port %u: %s; give another --port", port, strerror(-ret));
		view_server_stop(server);
		return ret;
	}
	server->port = info->port;
	*out = server;
	return 0;
}

void view_server_stop(struct view_server *server)
{
	if (!server)
		return;
	if (server->daemon)
		MHD_stop_daemon(server->daemon);
	free(server);
}

void view_server_address(const struct view_server *server, char *text, size_t len)
{
	snprintf(text, len, "http://127.0.0.1:%u/?token=%s", server->port, server->token);
}
