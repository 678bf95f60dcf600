/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The parser process: drops its privileges before it reads anything, then answers one request after the other until the agent
 * closes the socket.
 */
#include "parse/parse.h"

#include <errno.h>
#include <malloc.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "elf/symbols.h"
#include "parse/code_parser.h"
#include "parse/confine.h"
#include "parse/parse_wire.h"
#include "parse/plan_wire.h"
#include "parse/tables_wire.h"

#define LOOK_AFTER_PARENT_MS 5000

struct process {
	struct table_set set;
	struct elf_names *names;        /* of the tables */
	bool has_tables;
	pid_t parent;
	struct code_parser code;
};

/* The answer to a request. */
struct answer { int status; void *payload; size_t len; };

/* ---- packets ---- */

/* Returns 1, 0 at the end, or -errno; *fd is the request's descriptor, owned by the caller. */
static int parse_process_receive(struct parse_request *request, int *fd)
{
	union { struct cmsghdr align; char bytes[CMSG_SPACE(sizeof(int))]; } control;
	struct iovec iov = { request, sizeof(*request) };
	struct msghdr message = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control) };
	ssize_t n = recvmsg(PARSE_SOCKET_FD, &message, MSG_CMSG_CLOEXEC);
	struct cmsghdr *header = n > 0 ? CMSG_FIRSTHDR(&message) : NULL;

	if (n <= 0)
		return n < 0 && errno == EINTR ? -EINTR : 0;
	if (n != sizeof(*request) || request->magic != PARSE_MAGIC || !header || header->cmsg_type != SCM_RIGHTS ||
	    header->cmsg_len != CMSG_LEN(sizeof(int)))
		return -EBADMSG;
	memcpy(fd, CMSG_DATA(header), sizeof(*fd));
	request->name[sizeof(request->name) - 1] = 0;
	return 1;
}

static bool send_packet(const void *bytes, size_t len)
{
	ssize_t n;

	do
		n = send(PARSE_SOCKET_FD, bytes, len, MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	return n == (ssize_t)len;
}

static bool parse_process_send_answer(uint64_t id, const struct answer *answer)
{
	struct parse_answer head = { .magic = PARSE_MAGIC, .status = answer->status, .id = id, .len = answer->len };
	bool sent = send_packet(&head, sizeof(head));

	for (size_t at = 0; at < answer->len && sent; at += PARSE_PACKET_BYTES) {
		size_t left = answer->len - at;

		sent = send_packet((const char *)answer->payload + at, left < PARSE_PACKET_BYTES ? left : PARSE_PACKET_BYTES);
	}
	return sent;
}

/* ---- requests ---- */

static struct answer parse_process_failed(int status, const char *reason)
{
	char *text = strdup(reason);

	return (struct answer){ status, text, text ? strlen(text) : 0 };
}

static struct answer answer_plan(const struct process *process, int fd, const char *name)
{
	struct answer answer = { 0 };
	char reason[256];
	struct plan plan;
	int err = plan_create(&plan, &process->set, process->names, fd, name, reason, sizeof(reason));

	if (err)
		return parse_process_failed(err, reason);
	err = plan_wire_encode(&plan, PARSE_MAX_PAYLOAD, &answer.payload, &answer.len);
	plan_destroy(&plan);
	return err ? parse_process_failed(err, "its probe points need more memory than there is for them") : answer;
}

static struct answer answer_interpreter(int fd)
{
	struct elf_file *file;
	const char *reason, *interpreter;
	struct answer answer = { 0 };
	int err = elf_file_open(&file, fd, &reason);

	if (err)
		return parse_process_failed(err, reason);
	interpreter = elf_file_interpreter(file);
	if (interpreter)
		answer = parse_process_failed(0, interpreter);
	elf_file_destroy(file);
	return answer;
}

/* Unwind rules, symbols. */
static struct answer answer_code(struct process *process, const struct parse_request *request, int fd)
{
	const char *reason = "out of memory";
	struct answer answer = { 0 };
	int err = 0;

	switch (request->kind) {
	case PARSE_BUILD_ID: err = code_parser_build_id(&process->code, fd, &answer.payload, &answer.len, &reason); break;
	case PARSE_RULE: err = code_parser_rule(&process->code, fd, request->name, &answer.payload, &answer.len, &reason); break;
	case PARSE_PYTHON: err = code_parser_python(fd, &answer.payload, &answer.len, &reason); break;
	case PARSE_DEBUG_FILE: code_parser_add_debug_file(&process->code, fd, request->name); break;
	case PARSE_SYMBOLS:
		err = code_parser_symbols(&process->code, fd, request->name, &answer.payload, &answer.len, &reason);
		break;
	}
	return err ? parse_process_failed(err, reason) : answer;
}

static int take_tables(struct process *process, int fd)
{
	int err = process->has_tables ? -EEXIST : tables_wire_read(&process->set, fd);

	if (!err)
		err = plan_names_create(&process->names, &process->set);
	process->has_tables = !err;
	return err;
}

/* Returns the exit status if the process must end, -1 to continue. */
static int parse_process_handle(struct process *process, const struct parse_request *request, int fd)
{
	struct answer answer = { 0 };
	bool sent;

	confine_cpu(request->kind == PARSE_SYMBOLS ? PARSE_SYMBOLS_CPU_S : PARSE_CPU_S);
	if (request->kind == PARSE_TABLES)
		return take_tables(process, fd) ? PARSE_EXIT_TABLES : -1;
	if (request->kind == PARSE_PLAN && process->has_tables)
		answer = answer_plan(process, fd, request->name);
	else if (request->kind == PARSE_INTERPRETER)
		answer = answer_interpreter(fd);
	else if (request->kind >= PARSE_BUILD_ID && request->kind <= PARSE_SYMBOLS)
		answer = answer_code(process, request, fd);
	else
		return PARSE_EXIT_REQUEST;
	sent = parse_process_send_answer(request->id, &answer);
	free(answer.payload);
	if (request->kind != PARSE_RULE)
		malloc_trim(0);
	return sent ? -1 : PARSE_EXIT_OK;       /* send failed: the agent has ended */
}

/* The socket closes when the agent ends, unless one of the agent's children has a copy of it. */
static bool wait_for_request(const struct process *process)
{
	struct pollfd ready = { PARSE_SOCKET_FD, POLLIN, 0 };

	while (poll(&ready, 1, LOOK_AFTER_PARENT_MS) == 0)
		if (getppid() != process->parent)
			return false;
	return true;
}

static int parse_process_serve(struct process *process)
{
	struct parse_request request;
	int status = -1, n, fd;

	while (status < 0 && wait_for_request(process)) {
		n = parse_process_receive(&request, &fd);
		if (!n)
			break;
		if (n == -EINTR)
			continue;
		if (n < 0)
			return PARSE_EXIT_REQUEST;
		status = parse_process_handle(process, &request, fd);
		close(fd);
	}
	return status < 0 ? PARSE_EXIT_OK : status;
}

int parse_process_main(int argc, char **argv)
{
	struct process process = { .parent = getppid() };
	char *end = NULL;
	unsigned long uid = argc == 2 ? strtoul(argv[1], &end, 10) : 0;

	if (argc != 2 || end == argv[1] || *end || uid > UINT32_MAX) {
		fprintf(stderr, "ioprobe " PARSE_COMMAND ": started by ioprobe itself, not by users\n");
		return PARSE_EXIT_USAGE;
	}
	if (parse_confine(uid, PARSE_SOCKET_FD, PARSE_MEMORY_BYTES))
		return PARSE_EXIT_CONFINE;
	table_set_init(&process.set);
	_exit(parse_process_serve(&process));         /* the kernel frees everything */
}
