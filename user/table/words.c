/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The keywords of the probe tables' grammar and their values (probes/README.md explains each).
 */
#include "table/words.h"

#include <string.h>

const struct table_word table_words_op[] = {
	{ "region", OP_REGION }, { "open", OP_OPEN }, { "create", OP_CREATE }, { "close", OP_CLOSE }, { "dup", OP_DUP },
	{ "read", OP_READ }, { "write", OP_WRITE }, { "copy", OP_COPY }, { "seek", OP_SEEK }, { "sync", OP_SYNC },
	{ "truncate", OP_TRUNCATE }, { "stat", OP_STAT }, { "mkdir", OP_MKDIR }, { "meta", OP_META }, { "delete", OP_DELETE },
	{ "rename", OP_RENAME }, { "lock", OP_LOCK }, { "unlock", OP_UNLOCK }, { "trylock", OP_TRYLOCK },
	{ "control", OP_CONTROL }, { "map", OP_MAP }, { "address", OP_ADDRESS }, { "queue", OP_QUEUE }, { "reap", OP_REAP },
	{ "chdir", OP_CHDIR }, { "wait", OP_WAIT }, { "test", OP_TEST }, { "cancel", OP_CANCEL }, { "free", OP_FREE },
	{ "submit", OP_SUBMIT }, { "comm", OP_COMM }, { "unwind", OP_UNWIND }, { "jump", OP_JUMP }, { "catch", OP_CATCH },
	{ "learn", OP_LEARN }, { NULL, 0 },
};

const struct table_word table_words_mod[] = {
	{ "collective", MOD_COLLECTIVE }, { "nonblocking", MOD_NONBLOCKING }, { "completes", MOD_COMPLETES },
	{ "nested", MOD_NESTED }, { "callback", MOD_CALLBACK }, { "at-zero", MOD_AT_ZERO }, { "deletes", MOD_DELETES },
	{ "range", MOD_RANGE }, { "on-demand", MOD_ON_DEMAND }, { "single", MOD_SINGLE }, { "whole", MOD_WHOLE },
	{ "none", MOD_NONE }, { "part", MOD_PART }, { "node", MOD_NODE }, { "native", MOD_NATIVE }, { "polled", MOD_POLLED },
	{ "renames", MOD_RENAMES }, { "direct", MOD_DIRECT }, { "checked", MOD_CHECKED }, { "header", MOD_HEADER },
	{ "stdin", TABLE_WORD_STDIN }, { "stdout", TABLE_WORD_STDOUT }, { NULL, 0 },
};

const struct table_word table_words_role[] = {
	{ "path", ROLE_PATH }, { "path2", ROLE_PATH2 }, { "dirfd", ROLE_DIRFD }, { "dirfd2", ROLE_DIRFD2 },
	{ "handle", ROLE_HANDLE }, { "handle2", ROLE_HANDLE2 }, { "parent", ROLE_PARENT }, { "name", ROLE_NAME },
	{ "bytes", ROLE_BYTES }, { "size", ROLE_SIZE }, { "items", ROLE_ITEMS }, { "offset", ROLE_OFFSET },
	{ "whence", ROLE_WHENCE }, { "flags", ROLE_FLAGS }, { "stream_mode", ROLE_STREAM_MODE },
	{ "comm", ROLE_COMM }, { "comm_out", ROLE_COMM_OUT }, { "color", ROLE_COLOR }, { "key", ROLE_KEY }, { "group", ROLE_GROUP },
	{ "request", ROLE_REQUEST }, { "count", ROLE_COUNT }, { "datatype", ROLE_DATATYPE }, { "status", ROLE_STATUS },
	{ "variable", ROLE_VARIABLE }, { "edges", ROLE_EDGES }, { "dims", ROLE_DIMS }, { "ndims", ROLE_NDIMS },
	{ "dim", ROLE_DIM }, { "length", ROLE_LENGTH }, { "type", ROLE_TYPE }, { "type2", ROLE_TYPE2 },
	{ "space", ROLE_SPACE }, { "space2", ROLE_SPACE2 }, { "block", ROLE_BLOCK }, { "start", ROLE_START },
	{ "stride", ROLE_STRIDE },
	{ "transfer", ROLE_TRANSFER }, { "location", ROLE_LOCATION },
	{ "iov", ROLE_IOV }, { "iovcnt", ROLE_IOVCNT }, { "cmd", ROLE_CMD }, { "arg", ROLE_ARG }, { "addr", ROLE_ADDR },
	{ "fd", ROLE_FD }, { "moved", ROLE_MOVED }, { "lock", ROLE_LOCK }, { "requests", ROLE_REQUESTS },
	{ "statuses", ROLE_STATUSES }, { "indices", ROLE_INDICES }, { "outcount", ROLE_OUTCOUNT }, { "done", ROLE_DONE },
	{ "state", ROLE_STATE }, { "state2", ROLE_STATE2 }, { "unread", ROLE_UNREAD }, { "unread2", ROLE_UNREAD2 },
	{ "limit", ROLE_LIMIT }, { "limit2", ROLE_LIMIT2 },
	{ "list", ROLE_LIST }, { "list2", ROLE_LIST2 }, { "info", ROLE_INFO }, { "info_out", ROLE_INFO_OUT }, { "hint", ROLE_HINT },
	{ "value", ROLE_VALUE }, { "variables", ROLE_VARIABLES }, { "pieces", ROLE_PIECES },
	{ "contents", ROLE_CONTENTS }, { "buffer", ROLE_BUFFER },
	{ NULL, 0 },
};

const struct table_word table_words_kind[] = {
	{ "int", IOP_ARG_INT }, { "long", IOP_ARG_VALUE }, { "string", IOP_ARG_STRING }, { "iov", IOP_ARG_IOV },
	{ "longs", IOP_ARG_LONGS }, { "ints", IOP_ARG_INTS }, { "flock", IOP_ARG_FLOCK },
	{ "msg", IOP_ARG_MSG }, { "mmsg", IOP_ARG_OUT_MMSG },
	{ "length", IOP_ARG_OUT_LENGTH }, { "line", IOP_ARG_OUT_LINE }, { "puts", IOP_ARG_OUT_PUTS },
	{ "pieces", IOP_ARG_PIECES }, { "ids", IOP_ARG_IDS }, { NULL, 0 },
};

const struct table_word table_words_result[] = {
	{ "void", RESULT_VOID }, { "status", RESULT_STATUS }, { "handle", RESULT_HANDLE }, { "bytes", RESULT_BYTES },
	{ "items", RESULT_ITEMS }, { "offset", RESULT_OFFSET }, { "pointer", RESULT_POINTER }, { "char", RESULT_CHAR },
	{ "type", RESULT_TYPE }, { "space", RESULT_SPACE }, { "size", RESULT_SIZE }, { "selected", RESULT_SELECTED },
	{ "extent", RESULT_EXTENT }, { "ndims", RESULT_NDIMS }, { "variable", RESULT_VARIABLE },
	{ "class", RESULT_CLASS }, { "equal", RESULT_EQUAL }, { "references", RESULT_REFERENCES }, { "transfer", RESULT_TRANSFER },
	{ "list", RESULT_LIST }, { "count", RESULT_COUNT }, { NULL, 0 },
};

const struct table_word table_words_success[] = {
	{ "zero", SUCCESS_ZERO }, { "nonnegative", SUCCESS_NONNEGATIVE }, { "nonnull", SUCCESS_NONNULL }, { NULL, 0 },
};

const struct table_word table_words_handles[] = {
	{ "fd", HANDLE_FD }, { "id", HANDLE_ID }, { "pointer", HANDLE_POINTER }, { NULL, 0 },
};

int table_word_value(const struct table_word *words, const char *name)
{
	for (; words->name; words++)
		if (!strcmp(words->name, name))
			return words->value;
	return -1;
}

enum iop_arg_kind table_role_kind(enum table_role role)
{
	switch (role) {
	case ROLE_PATH:
	case ROLE_PATH2:
	case ROLE_NAME:
	case ROLE_STREAM_MODE:
	case ROLE_LOCATION:
	case ROLE_HINT:
	case ROLE_VALUE:
		return IOP_ARG_STRING;
	case ROLE_DIRFD:
	case ROLE_DIRFD2:
	case ROLE_WHENCE:
	case ROLE_FLAGS:
	case ROLE_COUNT:
	case ROLE_VARIABLE:
	case ROLE_CMD:
	case ROLE_COLOR:
	case ROLE_KEY:
	case ROLE_FD:
	case ROLE_NDIMS:
	case ROLE_DIM:
		return IOP_ARG_INT;
	case ROLE_EDGES:
	case ROLE_BLOCK:
	case ROLE_START:
	case ROLE_STRIDE:
		return IOP_ARG_LONGS;
	case ROLE_DIMS:
		return IOP_ARG_INTS;
	case ROLE_IOV:
		return IOP_ARG_IOV;
	case ROLE_PIECES:
		return IOP_ARG_PIECES;
	default:
		return IOP_ARG_VALUE;
	}
}

const char *table_op_name(enum table_op op)
{
	for (const struct table_word *w = table_words_op; w->name; w++)
		if (w->value == (int)op)
			return w->name;
	return "unknown";
}
