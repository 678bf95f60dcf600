/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The set of probe tables: lifetime, look-ups, and conversion of a row to a descriptor for the BPF programs.
 */
#include "table/table.h"

#include <stdlib.h>
#include <string.h>

void table_set_init(struct table_set *set)
{
	memset(set, 0, sizeof(*set));
}

void table_set_deinit(struct table_set *set)
{
	for (size_t i = 0; i < set->nlayers; i++) {
		free(set->layers[i].libraries);
		free(set->layers[i].flags);
		free(set->layers[i].comms);
		free(set->layers[i].streams);
		free(set->layers[i].abi);
		free(set->layers[i].items);
		free(set->layers[i].types);
		free(set->layers[i].facts);
	}
	for (size_t i = 0; i < set->nsources; i++) {
		free(set->sources[i].name);
		free(set->sources[i].text);
	}
	free(set->layers);
	free(set->rows);
	free(set->sources);
	table_set_init(set);
}

int table_row_arg(const struct table_row *row, enum table_role role)
{
	for (int i = 0; i < row->nargs; i++)
		if (row->args[i].role == role && row->args[i].capture >= 0)
			return row->args[i].capture;
	return -1;
}

const struct table_row *table_find(const struct table_set *set, const char *layer, const char *function)
{
	for (size_t i = 0; i < set->nrows; i++)
		if (!strcmp(set->rows[i].name, function) && !strcmp(set->layers[set->rows[i].layer].name, layer))
			return &set->rows[i];
	return NULL;
}

uint32_t table_version(const char *text)
{
	uint32_t version = 0;

	for (int shift = 24; shift >= 8 && *text >= '0' && *text <= '9'; shift -= 8) {
		char *end;
		unsigned long part = strtoul(text, &end, 10);

		version |= (part < 255 ? part : 255) << shift;
		text = *end == '.' ? end + 1 : end;
	}
	return version;
}

bool table_row_expected(const struct table_row *row, uint32_t version, bool parallel)
{
	if (row->parallel_only && !parallel)
		return false;
	if (!version)
		return !row->since && !row->before;
	return version >= row->since && (!row->before || version < row->before);
}

bool table_row_is_internal(const struct table_row *row)
{
	return row->op == OP_UNWIND || row->op == OP_JUMP || row->op == OP_CATCH;
}

/* Returns the flags for effects of a system call that the BPF programs must follow. */
static unsigned syscall_flags(const struct table_row *row)
{
	switch (row->op) {
	case OP_OPEN:
	case OP_CREATE:
		return row->result == RESULT_HANDLE ? IOP_D_MAKES_FD : 0;
	case OP_DUP:
		return table_row_arg(row, ROLE_HANDLE2) >= 0 ? IOP_D_REPLACES_FD : IOP_D_MAKES_FD;
	case OP_CLOSE:
		return row->mods & MOD_RANGE ? IOP_D_CLOSES_RANGE : IOP_D_CLOSES_FD;
	case OP_CHDIR:
		return IOP_D_CHDIR;
	case OP_MAP:
		return IOP_D_NEEDS_FD;
	case OP_ADDRESS:
		return IOP_D_ADDRESS;
	case OP_QUEUE:
	case OP_REAP:
		return table_row_arg(row, ROLE_ARG) >= 0 ? IOP_D_AIO : 0;
	default:
		return 0;
	}
}

static __u8 fd_arg(const struct table_row *row, enum table_role handle, enum table_role dirfd)
{
	int arg = table_row_arg(row, handle);

	if (arg < 0)
		arg = table_row_arg(row, dirfd);
	return arg < 0 ? IOP_NO_FD : arg;
}

/* Returns whether a system call only operates on the files behind its descriptors and changes nothing else. */
static bool is_of_file(const struct table_row *row)
{
	return table_row_arg(row, ROLE_HANDLE) >= 0 && row->op != OP_OPEN && row->op != OP_CREATE && row->op != OP_CHDIR &&
	       !(row->mods & MOD_RANGE);
}

static void describe_syscall(const struct table_row *row, struct iop_desc *desc)
{
	desc->flags |= syscall_flags(row);
	if (row->mods & MOD_RANGE)
		return; /* its arguments need not be open descriptors */
	desc->fd_arg = fd_arg(row, ROLE_HANDLE, ROLE_DIRFD);
	desc->fd_arg2 = fd_arg(row, ROLE_HANDLE2, ROLE_DIRFD2);
	if (is_of_file(row))
		desc->flags |= IOP_D_OF_FILE;
}

/* Returns whether a call moves data, and no other call or rank takes part in it. */
static bool table_is_data(const struct table_row *row)
{
	return (row->op == OP_READ || row->op == OP_WRITE || row->op == OP_COPY) &&
	       !(row->mods & (MOD_COLLECTIVE | MOD_NONBLOCKING | MOD_COMPLETES | MOD_CALLBACK));
}

static void describe_moved(const struct table_row *row, struct iop_desc *desc)
{
	int size = table_row_arg(row, ROLE_SIZE);

	if (!table_is_data(row))
		return;
	desc->flags |= IOP_D_DATA;
	desc->moved = (row->op != OP_WRITE ? IOP_MOVED_READ : 0) | (row->op != OP_READ ? IOP_MOVED_WRITE : 0);
	if (row->result == RESULT_BYTES)
		desc->moved |= IOP_MOVED_BYTES;
	else if (row->result == RESULT_CHAR)
		desc->moved |= IOP_MOVED_CHAR;
	else if (row->result == RESULT_ITEMS && size >= 0 && desc->arg[size].kind == IOP_ARG_VALUE)
		desc->moved |= IOP_MOVED_ITEMS;
	if (row->result_int && (desc->moved & IOP_MOVED_HOW))
		desc->moved |= IOP_MOVED_INT;
}

unsigned table_row_stream_flag(const struct table_set *set, const struct table_row *row)
{
	if (!set->layers[row->layer].per_process || (row->op != OP_READ && row->op != OP_WRITE) || row->mods & MOD_NONBLOCKING)
		return 0;
	return row->result == RESULT_CHAR ? IOP_D_STREAM_BYTES : IOP_D_STREAM_DATA;
}

unsigned table_kind_has(enum iop_arg_kind kind)
{
	switch (kind) {
	case IOP_ARG_OUT_INT:
	case IOP_ARG_OUT_VALUE:
	case IOP_ARG_OUT_MMSG:
	case IOP_ARG_OUT_LENGTH:
	case IOP_ARG_OUT_LINE:
	case IOP_ARG_OUT_PUTS:
		return IOP_HAS_OUT;
	case IOP_ARG_IOV:
		return IOP_HAS_IOV;
	case IOP_ARG_STRING:
		return IOP_HAS_STRINGS;
	case IOP_ARG_LONGS:
	case IOP_ARG_INTS:
	case IOP_ARG_PIECES:
	case IOP_ARG_IDS:
		return IOP_HAS_ARRAYS;
	case IOP_ARG_OUT_STRING:
	case IOP_ARG_OUT_LONGS:
	case IOP_ARG_OUT_INTS:
		return IOP_HAS_LATE;
	default:
		return 0;
	}
}

static unsigned has_constants(const struct table_set *set, const struct table_row *row)
{
	const struct table_layer *layer = &set->layers[row->layer];

	return table_row_arg(row, ROLE_TYPE) >= 0 && layer->ntypes && layer->types[0].symbol[0] ? IOP_HAS_CONSTANTS : 0;
}

static bool has_requests(const struct table_row *row)
{
	return row->op == OP_WAIT || row->op == OP_TEST || row->op == OP_CANCEL || row->op == OP_FREE;
}

/* Returns whether a library's threads carry out the call's operations with system calls. */
static bool has_helpers(const struct table_set *set, const struct table_row *row)
{
	const struct table_layer *layer = &set->layers[row->layer];

	if (layer->handle_kind != HANDLE_FD || layer->syscalls)
		return false;
	return row->op == OP_SUBMIT ||
	       (row->mods & MOD_NONBLOCKING && (row->op == OP_READ || row->op == OP_WRITE || row->op == OP_SYNC));
}

/* Returns how the BPF programs handle requests: only those passed by address, as in MPI and PnetCDF. */
static uint8_t request_flags(const struct table_set *set, const struct table_row *row)
{
	uint8_t flags = row->op == OP_SUBMIT ? IOP_R_SUBMITS : row->op == OP_TEST ? IOP_R_TESTS : 0;

	if (has_helpers(set, row))
		flags |= IOP_R_AT_ENTRY;
	if (has_requests(row) && (table_row_arg(row, ROLE_REQUESTS) >= 0 || table_row_arg(row, ROLE_DONE) >= 0))
		flags |= IOP_R_TAKES;
	if (row->mods & MOD_ON_DEMAND)
		return flags | IOP_R_FILTER;
	if (!set->layers[row->layer].on_demand || row->op == OP_LEARN)
		return flags;
	if (row->mods & MOD_NONBLOCKING && table_row_arg(row, ROLE_REQUEST) >= 0)
		flags |= IOP_R_ISSUES;
	return flags | IOP_R_DEMAND;
}

static uint8_t arg_index(const struct table_row *row, enum table_role role)
{
	int arg = table_row_arg(row, role);

	return arg < 0 ? IOP_NO_ARG : arg;
}

static uint8_t request_width(const struct table_row *row)
{
	for (int i = 0; i < row->nargs; i++)
		if (row->args[i].role == ROLE_REQUESTS && row->args[i].kind == IOP_ARG_INT)
			return 4;
	return 8;
}

bool table_row_requests(const struct table_set *set, const struct table_row *row, struct iop_request_desc *desc)
{
	const struct table_layer *layer = &set->layers[row->layer];
	uint8_t flags = request_flags(set, row);

	if (!(flags & (IOP_R_TAKES | IOP_R_ISSUES | IOP_R_SUBMITS)))
		return false;
	*desc = (struct iop_request_desc){
		.requests = arg_index(row, flags & IOP_R_ISSUES ? ROLE_REQUEST : ROLE_REQUESTS),
		.request = arg_index(row, ROLE_REQUEST),
		.count = arg_index(row, ROLE_COUNT),
		.status = arg_index(row, ROLE_STATUS),
		.indices = arg_index(row, ROLE_INDICES),
		.outcount = arg_index(row, ROLE_OUTCOUNT),
		.done = arg_index(row, ROLE_DONE),
		.width = request_width(row),
		.narrow_status_size = layer->narrow_status_size,
		.narrow_status_cancelled = layer->narrow_status_cancelled,
		.status_size = layer->status_size,
		.status_bytes = layer->status_bytes,
		.status_cancelled = layer->status_cancelled,
	};
	desc->block_fd = layer->block_fd;
	desc->block_opcode = layer->block_opcode;
	desc->block_bytes = layer->block_bytes;
	desc->block_offset = layer->block_offset;
	desc->many = table_row_arg(row, ROLE_STATUSES) >= 0;
	if (desc->many)
		desc->status = arg_index(row, ROLE_STATUSES);
	return true;
}

/* Returns the position of a handle argument that may not be a handle, if that is a register. */
static uint8_t heap_handle(const struct table_set *set, const struct table_row *row)
{
	int arg = set->layers[row->layer].handle_heap ? table_row_arg(row, ROLE_HANDLE) : -1;

	for (int i = 0; i < row->nargs && arg >= 0; i++)
		if (row->args[i].capture == arg && row->args[i].position < IOP_HEAP_HANDLES)
			return row->args[i].position + 1;
	return 0;
}

/* Returns 1 + the index of the layer in which this layer's variables are, 0 if they are in none. */
static __u8 covered_layer(const struct table_set *set, const struct table_row *row)
{
	const char *name = set->layers[row->layer].variables_in;

	for (size_t i = 0; i < set->nlayers && name[0]; i++)
		if (!strcmp(set->layers[i].name, name))
			return i + 1;
	return 0;
}

static bool table_is_covered(const struct table_set *set, const struct table_row *row)
{
	for (size_t i = 0; i < set->nlayers; i++)
		if (!strcmp(set->layers[i].variables_in, set->layers[row->layer].name))
			return true;
	return false;
}

static enum iop_inner inner_of(const struct table_set *set, const struct table_row *row)
{
	if (row->mods & MOD_DIRECT)
		return IOP_INNER_SKIPPED;
	if (row->mods & MOD_CHECKED)
		return IOP_INNER_AT_ENTRY;
	if (!table_is_covered(set, row))
		return IOP_INNER_RECORDED;
	if ((row->op == OP_OPEN || row->op == OP_CREATE) && table_row_arg(row, ROLE_PATH) >= 0)
		return IOP_INNER_BEGINS;
	return row->result == RESULT_SPACE && table_row_arg(row, ROLE_HANDLE) < 0 ? IOP_INNER_BEGINS_SPACE : IOP_INNER_RECORDED;
}

/* Of a line: whether the next captured argument is its room, and how many are sent when the line itself shows its length: those up
 * to the handle. */
static uint8_t line_places(const struct table_row *row, const struct table_arg *line)
{
	int room = table_row_arg(row, ROLE_ARG), handle = table_row_arg(row, ROLE_HANDLE);

	return (room == line->capture + 1 ? IOP_LINE_ROOM : 0) | (handle > line->capture ? handle + 1 : 0);
}

static uint8_t pieces_places(const struct table_row *row, const struct table_arg *pieces)
{
	int variables = pieces->kind == IOP_ARG_IDS ? pieces->capture : table_row_arg(row, ROLE_VARIABLES);

	return table_row_arg(row, ROLE_ITEMS) | (variables < 0 ? IOP_PIECES_NONE : variables) << IOP_PIECES_VARIABLES_SHIFT;
}

/* IOP_CONTENTS_*; 0 if the row has no buffer of contents in a register. */
static uint8_t contents_place(const struct table_row *row)
{
	uint8_t place = 0;

	for (int i = 0; i < row->nargs; i++)
		if (row->args[i].role == ROLE_CONTENTS && row->args[i].position < 4)
			place = row->args[i].position + 1;
	for (int i = 0; i < row->nargs && place; i++)
		if (row->args[i].role == ROLE_OFFSET && row->args[i].position == place + 1)
			place |= IOP_CONTENTS_OFFSET;
	return place;
}

/* 1 + position of a system call's buffer; 0: it has none in the first four arguments. */
static uint8_t buffer_place(const struct table_row *row)
{
	for (int i = 0; i < row->nargs; i++)
		if ((row->args[i].role == ROLE_BUFFER || row->args[i].role == ROLE_CONTENTS) && row->args[i].position < 4)
			return row->args[i].position + 1;
	return 0;
}

static uint8_t arg_offset(const struct table_row *row, const struct table_arg *arg)
{
	if (arg->kind == IOP_ARG_OUT_LINE)
		return line_places(row, arg);
	return arg->kind == IOP_ARG_PIECES || arg->kind == IOP_ARG_IDS ? pieces_places(row, arg) : arg->offset;
}

void table_row_descriptor(const struct table_set *set, const struct table_row *row, struct iop_desc *desc)
{
	memset(desc, 0, sizeof(*desc));
	desc->fd_arg = desc->fd_arg2 = IOP_NO_FD;
	for (int i = 0; i < row->nargs; i++) {
		const struct table_arg *arg = &row->args[i];

		if (arg->capture < 0)
			continue;
		desc->arg[arg->capture].source = arg->position;
		desc->arg[arg->capture].kind = arg->role == ROLE_REQUESTS ? IOP_ARG_VALUE : arg->kind;   /* an address */
		desc->arg[arg->capture].offset = arg_offset(row, arg);
		desc->nargs++;
		desc->has |= table_kind_has(arg->kind);
	}
	if (desc->has & IOP_HAS_STRINGS)
		desc->flags |= IOP_D_STRINGS;
	desc->requests = request_flags(set, row);
	desc->flags |= table_row_stream_flag(set, row);
	desc->has |= has_constants(set, row);
	if (row->mods & MOD_CALLBACK)
		desc->flags |= IOP_D_NO_RETURN;
	if (row->mods & MOD_NESTED)
		desc->flags |= IOP_D_NESTED;
	if (table_row_is_internal(row))
		desc->flags |= IOP_D_UNWIND | IOP_D_NO_RETURN;
	desc->unwind = row->op == OP_JUMP ? IOP_UNWIND_JUMPS : row->op == OP_CATCH ? IOP_UNWIND_CATCHES : IOP_UNWIND_WALKS;
	desc->layer = row->layer;
	desc->heap_handle = heap_handle(set, row);
	desc->covers = covered_layer(set, row);
	desc->inner = inner_of(set, row);
	desc->contents = contents_place(row);
	desc->buffer = set->layers[row->layer].syscalls ? buffer_place(row) : 0;
	if (row->mods & MOD_HEADER) {
		desc->has |= IOP_HAS_HEADER;
		memcpy(&desc->magic, set->layers[row->layer].magic, sizeof(desc->magic));
	}
	describe_moved(row, desc);
	if (set->layers[row->layer].syscalls)
		describe_syscall(row, desc);
}
