/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Converts the rows of the tables to regions, paradigms and precomputed look-ups.
 */
#include "replay/rows.h"
#include "replay/events.h"
#include "replay/fd/fds.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/utf8.h"

static uint32_t paradigm_get(struct replay *r, const struct table_layer *layer)
{
	struct model *model = r->model;
	struct model_paradigm *paradigm;

	for (size_t i = 0; i < model->paradigms.n; i++)
		if (!strcmp(model->paradigms.v[i].identification, layer->paradigm))
			return i;
	paradigm = MODEL_ADD(model->paradigms);
	if (!paradigm)
		return REF_NONE;
	paradigm->identification = model_string(model, layer->paradigm, strlen(layer->paradigm));
	paradigm->name = model_string(model, layer->paradigm_name, strlen(layer->paradigm_name));
	paradigm->parallel = layer->klass == CLASS_PARALLEL;
	paradigm->os = layer->os;
	return paradigm->identification && paradigm->name ? model->paradigms.n - 1 : REF_NONE;
}

static uint32_t abi_layer(const struct replay *r, size_t layer)
{
	for (size_t i = 0; i < r->set.nlayers; i++)
		if (!strcmp(r->set.layers[i].name, r->set.layers[layer].abi_layer))
			return i;
	return layer;
}

static int read_layers(struct replay *r)
{
	if (r->set.nlayers > MAX_LAYERS)
		return replay_fail(r, -E2BIG, "the tables have %zu layers, more than %d", r->set.nlayers, MAX_LAYERS);
	for (size_t i = 0; i < r->set.nlayers; i++) {
		const struct table_layer *layer = &r->set.layers[i];

		r->layer_paradigm[i] = REF_NONE;
		r->abi_layer[i] = abi_layer(r, i);
		if (!layer->paradigm[0])
			continue;
		r->layer_paradigm[i] = paradigm_get(r, layer);
		if (r->layer_paradigm[i] == REF_NONE)
			return -ENOMEM;
		if (layer->sockets)
			r->socket_paradigm = r->layer_paradigm[i];
		else if (layer->handle_kind == HANDLE_FD && layer->syscalls)
			r->fd_paradigm = r->layer_paradigm[i];
	}
	return 0;
}

static bool is_out(enum iop_arg_kind kind)
{
	return table_kind_has(kind) & IOP_HAS_OUT;
}

static uint8_t rows_element_bytes(enum iop_arg_kind kind)
{
	if (kind == IOP_ARG_LONGS || kind == IOP_ARG_OUT_LONGS)
		return sizeof(int64_t);
	if (kind == IOP_ARG_PIECES || kind == IOP_ARG_IDS)
		return sizeof(struct iop_pieces);
	return kind == IOP_ARG_INTS || kind == IOP_ARG_OUT_INTS ? sizeof(int32_t) : 0;
}

static bool has_facts(const struct replay *r, const struct table_row *row, const struct row_info *info)
{
	static const enum table_role roles[] = { ROLE_FACT, ROLE_LIST, ROLE_LIST2, ROLE_INFO, ROLE_INFO_OUT };
	bool has = row->said || row->result == RESULT_LIST || (row->result == RESULT_TRANSFER && r->set.layers[row->layer].nfacts);

	for (size_t i = 0; i < sizeof(roles) / sizeof(roles[0]); i++)
		has |= info->arg[roles[i]] >= 0;
	return has;
}

static void read_row(struct replay *r, const struct table_row *row, struct row_info *info)
{
	const struct table_arg *args[IOP_MAX_ARGS] = { 0 };
	bool handle_out = false;

	memset(info, 0, sizeof(*info));
	for (int role = 0; role < MAX_ROLES; role++)
		info->arg[role] = role == ROLE_NONE ? -1 : table_row_arg(row, role);
	for (int i = 0; i < row->nargs; i++)
		if (row->args[i].capture >= 0 && row->args[i].capture < IOP_MAX_ARGS)
			args[row->args[i].capture] = &row->args[i];
	for (int i = 0; i < IOP_MAX_ARGS && args[i]; i++) {
		if (is_out(args[i]->kind))
			info->out[info->nout++] = i;
		if (table_kind_has(args[i]->kind) & IOP_HAS_PAYLOAD)
			info->strings[info->nstrings++] = i;
		info->element[i] = rows_element_bytes(args[i]->kind);
		if (args[i]->role == ROLE_HANDLE && is_out(args[i]->kind))
			handle_out = true;
	}
	info->facts = has_facts(r, row, info);
	info->paradigm = r->layer_paradigm[row->layer];
	info->sized = r->set.layers[row->layer].ntypes && r->set.layers[row->layer].types[0].symbol[0];
	info->fd = info->paradigm != REF_NONE && (info->paradigm == r->fd_paradigm || info->paradigm == r->socket_paradigm);
	info->on_fd = info->paradigm != REF_NONE && !info->fd && r->set.layers[row->layer].handle_kind == HANDLE_FD;
	info->uses = info->arg[ROLE_HANDLE] >= 0 && !handle_out;
	info->makes = (row->op == OP_OPEN || row->op == OP_CREATE) && (row->result == RESULT_HANDLE || handle_out);
}

static bool moves_data(enum table_op op)
{
	return op == OP_READ || op == OP_WRITE || op == OP_COPY || op == OP_SYNC || op == OP_WAIT || op == OP_TEST ||
	       op == OP_CANCEL || op == OP_FREE || op == OP_SUBMIT || op == OP_MAP || op == OP_QUEUE || op == OP_REAP;
}

static enum model_class rows_class_of(const struct table_row *row, bool io)
{
	if (!io)
		return MODEL_CLASS_OTHER;
	switch (row->op) {
	case OP_READ: return MODEL_CLASS_READ;
	case OP_WRITE:
	case OP_COPY: return MODEL_CLASS_WRITE;
	case OP_SYNC: return MODEL_CLASS_SYNC;
	case OP_LOCK:
	case OP_UNLOCK:
	case OP_TRYLOCK: return MODEL_CLASS_LOCK;
	case OP_WAIT:
	case OP_TEST:
	case OP_CANCEL:
	case OP_FREE:
	case OP_SUBMIT:
	case OP_MAP:
	case OP_QUEUE:
	case OP_REAP: return MODEL_CLASS_REQUEST;
	default: return MODEL_CLASS_METADATA;
	}
}

static int read_region(struct replay *r, const struct table_row *row)
{
	const char *layer = r->set.layers[row->layer].name;
	struct model_region *region = MODEL_ADD(r->model->regions);

	if (!region)
		return -ENOMEM;
	region->name = model_string(r->model, row->name, strlen(row->name));
	region->paradigm = model_string(r->model, layer, strlen(layer));
	region->io = r->layer_paradigm[row->layer] != REF_NONE;
	region->metadata = region->io && !moves_data(row->op);
	region->class = rows_class_of(row, region->io);
	return region->name && region->paradigm ? 0 : -ENOMEM;
}

int rows_read(struct replay *r, const char *name, const char *text)
{
	char why[512];
	struct row_info *rows;
	int ret = table_parse(&r->set, name, text, why, sizeof(why));

	if (ret) {
		char *printable = utf8_printable(why); /* the table's name in it is the recording's */

		replay_fail(r, ret, "a table of the recording cannot be read: %s", printable ? printable : "out of memory");
		free(printable);
		return ret;
	}
	ret = read_layers(r);
	if (ret)
		return ret;
	rows = reallocarray(r->rows, r->set.nrows + 1, sizeof(*rows));
	if (!rows)
		return -ENOMEM;
	r->rows = rows;
	for (size_t i = 0; i < r->set.nrows && !ret; i++) {
		read_row(r, &r->set.rows[i], &rows[i]);
		if (r->set.rows[i].mods & MOD_POLLED)
			*(r->set.rows[i].op == OP_QUEUE ? &r->polled_row : &r->ended_row) = i;
		if (i >= r->model->regions.n)
			ret = read_region(r, &r->set.rows[i]);
	}
	return ret;
}
