/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Messages between agent and parser process over a SOCK_SEQPACKET pair. A request is one packet with one descriptor; its answer is
 * a header and a payload in packets of up to PARSE_PACKET_BYTES. The process trusts the agent; the agent validates everything.
 */
#ifndef IOPROBE_PARSE_WIRE_H
#define IOPROBE_PARSE_WIRE_H

#include <stdint.h>
#include <sys/types.h>

#define PARSE_MAGIC 0x45535250u         /* "PRSE" */
#define PARSE_SOCKET_FD 3
#define PARSE_PACKET_BYTES (32u << 10)
#define PARSE_MAX_PAYLOAD (4u << 20)

/* Limits of a process. A library takes milliseconds and some MiB; the largest programs take a few seconds and some 100 MiB. */
#define PARSE_MEMORY_BYTES (2ull << 30)
#define PARSE_CPU_S 5                   /* per request */
#define PARSE_DEADLINE_NS 15000000000ull        /* per request, whatever the cause of the delay */
#define PARSE_SYMBOLS_CPU_S 20          /* per PARSE_SYMBOLS request: large programs have much debug information */
#define PARSE_SYMBOLS_DEADLINE_NS 30000000000ull

enum parse_kind {
	PARSE_TABLES,           /* the tables of the recording, as in tables_wire.h; no answer */
	PARSE_PLAN,             /* answer: plan_wire.h */
	PARSE_INTERPRETER,      /* answer: the path, without a NUL */
	PARSE_BUILD_ID,         /* answer: hexadecimal digits, without a NUL */
	PARSE_RULE,             /* name: an offset of the file, hexadecimal; answer: struct iop_site_rule */
	PARSE_DEBUG_FILE,       /* a file that PARSE_SYMBOLS has wanted, name: its key; empty answer */
	PARSE_PYTHON,           /* answer: struct python_file */
	PARSE_SYMBOLS,          /* name: offsets, hexadecimal, separated by commas; answer: see code_parser.h */
};

struct parse_request {
	uint32_t magic, kind;
	uint64_t id;
	char name[256];         /* the file's last path component, NUL-terminated */
};

struct parse_answer {
	uint32_t magic;
	int32_t status;         /* 0 or -errno; if not 0 the payload is the reason, text without a NUL */
	uint64_t id;            /* of the request */
	uint32_t len;           /* of the payload, up to PARSE_MAX_PAYLOAD */
	uint32_t pad;
};

_Static_assert(sizeof(struct parse_request) == 272, "struct parse_request");
_Static_assert(sizeof(struct parse_answer) == 24, "struct parse_answer");

/* Exit statuses of a process. */
enum parse_exit { PARSE_EXIT_OK, PARSE_EXIT_USAGE = 2, PARSE_EXIT_CONFINE, PARSE_EXIT_TABLES, PARSE_EXIT_REQUEST };

#endif
