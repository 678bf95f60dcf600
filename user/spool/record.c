/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Validates each record once when it is read: users of the reader rely on it.
 */
#include "spool/spool.h"

static const struct { const char *name; uint16_t size; uint8_t payload; } contracts[256] = {
#define CONTRACT(name, number, type, payload) [number] = { #name, sizeof(struct type), payload },
	IOP_RECORDS(CONTRACT)
};

const char *iop_rec_name(uint8_t type)
{
	return contracts[type].name;
}

bool iop_rec_is_plain(uint8_t type)
{
	if (type == IOP_REC_SITE || type == IOP_REC_PYTHON_CODE)
		return false;
	return type == IOP_REC_ROUND || (type < IOP_REC_AGENT && contracts[type].name);
}

size_t iop_rec_size(const struct iop_rec *rec)
{
	if (rec->len)
		return rec->len;
	return (sizeof(struct iop_rec_text) + (size_t)((const struct iop_rec_text *)rec)->text_len + 7) & ~(size_t)7;
}

/* With strings the arguments are padded to their full number. */
static bool call_fits(const struct iop_rec_call *rec, size_t room)
{
	if (rec->nargs > IOP_MAX_ARGS || 8u * rec->nargs > room)
		return false;
	return !(rec->rec.flags & IOP_F_STRINGS) || rec->nargs == IOP_MAX_ARGS;
}

/* room: bytes after the record's struct. */
static bool payload_fits(const struct iop_rec *rec, size_t room)
{
	switch (contracts[rec->type].payload) {
	case IOP_PAYLOAD_CALL: return call_fits((const void *)rec, room);
	case IOP_PAYLOAD_PATH: return ((const struct iop_rec_fd *)rec)->path_len <= room;
	case IOP_PAYLOAD_EXEC: return ((const struct iop_rec_exec *)rec)->path_len <= room;
	case IOP_PAYLOAD_NAME: return ((const struct iop_rec_socket *)rec)->name_len <= sizeof(((struct iop_rec_socket *)0)->name);
	case IOP_PAYLOAD_VALUES: return ((const struct iop_rec_constants *)rec)->n <= room / sizeof(__s64);
	case IOP_PAYLOAD_REQUESTS: return ((const struct iop_rec_requests *)rec)->n <= room / sizeof(struct iop_request_state);
	case IOP_PAYLOAD_BYTES: return ((const struct iop_rec_contents *)rec)->len <= room;
	case IOP_PAYLOAD_PIECE: return ((const struct iop_rec_python_code *)rec)->len <= room;
	case IOP_PAYLOAD_TEXT: return ((const struct iop_rec_text *)rec)->text_len <= room;
	default: return true;
	}
}

/* A record of a later version is skipped by its length; the agent's ones may be text. */
static bool may_be_text(uint8_t type)
{
	return contracts[type].name ? contracts[type].payload == IOP_PAYLOAD_TEXT : type >= IOP_REC_AGENT;
}

bool iop_rec_valid(const struct iop_rec *rec, size_t left)
{
	size_t least = sizeof(*rec), len;

	if (left < least || (!rec->len && (left < sizeof(struct iop_rec_text) || !may_be_text(rec->type))))
		return false;
	len = iop_rec_size(rec);
	if (contracts[rec->type].name)
		least = contracts[rec->type].size;
	return len >= least && len <= left && len % 8 == 0 && payload_fits(rec, len - least);
}
