/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Serialises plans and validates them. The bytes may have been crafted by the author of the file.
 */
#include "parse/plan_wire.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define MAX_TEXTS (64u << 10)
#define MAX_MOVE (1u << 20)     /* bytes within one function */

/* ---- serialisation ---- */

struct texts { char *v; size_t len; };

/* Interns texts: the same reasons occur many times. */
static int texts_add(struct texts *texts, const char *text, uint32_t *at)
{
	size_t len = text ? strlen(text) + 1 : 0;
	char *grown;

	*at = PLAN_WIRE_NO_TEXT;
	if (!text)
		return 0;
	for (size_t i = 0; i < texts->len; i += strlen(texts->v + i) + 1)
		if (!strcmp(texts->v + i, text)) {
			*at = i;
			return 0;
		}
	if (texts->len + len > MAX_TEXTS)
		return -E2BIG;
	grown = realloc(texts->v, texts->len + len);
	if (!grown)
		return -ENOMEM;
	texts->v = grown;
	memcpy(grown + texts->len, text, len);
	*at = texts->len;
	texts->len += len;
	return 0;
}

static int encode_points(const struct plan *plan, struct plan_wire_point *to, struct texts *texts)
{
	int err = 0;

	for (size_t i = 0; i < plan->npoints && !err; i++) {
		const struct plan_point *point = &plan->points[i];

		to[i] = (struct plan_wire_point){
			.file_offset = point->file_offset, .row = point->row, .kind = point->placement.kind,
			.offset = point->placement.offset, .exit_offset = point->placement.exit_offset,
			.frame = point->placement.frame, .second_offset = point->second_offset,
			.second_frame = point->second_frame,
		};
		err = texts_add(texts, point->placement.reason, &to[i].reason);
	}
	return err;
}

static int encode_missing(const struct plan *plan, struct plan_wire_missing *to, struct texts *texts)
{
	int err = 0;

	for (size_t i = 0; i < plan->nmissing && !err; i++) {
		to[i].row = plan->missing[i].row;
		err = texts_add(texts, plan->missing[i].reason, &to[i].reason);
	}
	return err;
}

static bool plan_wire_is_printable(char c)
{
	return c >= 0x20 && c < 0x7f;
}

/* A version string consists of bytes from the file: only printable characters are passed on. */
static void encode_layers(const struct plan *plan, struct plan_wire_layer *to)
{
	for (size_t i = 0; i < plan->nlayers; i++) {
		const struct plan_layer *layer = &plan->layers[i];

		to[i] = (struct plan_wire_layer){
			.layer = layer->layer, .parallel = layer->parallel, .known_abi = layer->known_abi, .narrow = layer->narrow,
		};
		for (size_t k = 0; k + 1 < sizeof(to[i].version) && plan_wire_is_printable(layer->version[k]); k++)
			to[i].version[k] = layer->version[k];
	}
}

static size_t arrays_len(const struct plan_wire *head)
{
	return head->npoints * sizeof(struct plan_wire_point) + head->nmissing * sizeof(struct plan_wire_missing) +
	       head->nlayers * sizeof(struct plan_wire_layer) + head->nconstants * sizeof(uint64_t);
}

static int encode_arrays(const struct plan *plan, const struct plan_wire *head, char *at, struct texts *texts)
{
	int err = encode_points(plan, (struct plan_wire_point *)at, texts);

	at += head->npoints * sizeof(struct plan_wire_point);
	if (!err)
		err = encode_missing(plan, (struct plan_wire_missing *)at, texts);
	at += head->nmissing * sizeof(struct plan_wire_missing);
	encode_layers(plan, (struct plan_wire_layer *)at);
	at += head->nlayers * sizeof(struct plan_wire_layer);
	if (head->nconstants)
		memcpy(at, plan->constants, head->nconstants * sizeof(uint64_t));
	return err;
}

static int plan_wire_join(struct plan_wire *head, char *bytes, const struct texts *texts, size_t max_len, void **out, size_t *len)
{
	size_t before = sizeof(*head) + arrays_len(head);
	char *grown;

	if (before + texts->len > max_len)
		return -E2BIG;
	grown = realloc(bytes, before + texts->len);
	if (!grown)
		return -ENOMEM;
	if (texts->len)
		memcpy(grown + before, texts->v, texts->len);
	head->texts_len = texts->len;
	memcpy(grown, head, sizeof(*head));
	*out = grown;
	*len = before + texts->len;
	return 0;
}

int plan_wire_encode(const struct plan *plan, size_t max_len, void **out, size_t *len)
{
	struct plan_wire head = {
		.npoints = plan->npoints, .nmissing = plan->nmissing, .nlayers = plan->nlayers, .nconstants = plan->nconstants,
		.stripped_static = plan->stripped_static, .switching = plan->switching, .first_vaddr = plan->first_vaddr,
		.rendezvous_offset = plan->rendezvous_offset,
	};
	struct texts texts = { 0 };
	char *bytes = malloc(sizeof(head) + arrays_len(&head));
	int err = bytes ? encode_arrays(plan, &head, bytes + sizeof(head), &texts) : -ENOMEM;

	head.known_abis = plan->known_abis;
	memcpy(head.comm_vaddr, plan->comm_vaddr, sizeof(head.comm_vaddr));
	memcpy(head.stream_vaddr, plan->stream_vaddr, sizeof(head.stream_vaddr));
	head.build_id_len = plan->build_id_len;
	memcpy(head.build_id, plan->build_id, sizeof(head.build_id));
	if (!err)
		err = plan_wire_join(&head, bytes, &texts, max_len, out, len);
	if (err)
		free(bytes);
	free(texts.v);
	return err;
}

/* ---- validation ---- */

struct decoder {
	const struct table_set *set;
	uint64_t file_size;
	struct plan_wire head;
	const char *points, *missing, *layers, *constants, *texts;      /* unaligned */
	struct plan *plan;
	const char *wrong;
};

static int plan_wire_refuse(struct decoder *d, const char *wrong)
{
	d->wrong = wrong;
	return -EBADMSG;
}

/* Counts are checked before they are multiplied. */
static int plan_wire_split(struct decoder *d, const char *bytes, size_t len)
{
	size_t nconstants = plan_constants_of(d->set, d->set->nlayers);
	struct plan_wire *head = &d->head;

	if (len < sizeof(*head))
		return plan_wire_refuse(d, "it is shorter than its header");
	memcpy(head, bytes, sizeof(*head));
	if (head->npoints > PLAN_MAX_POINTS || head->nmissing > d->set->nrows || head->nlayers > d->set->nlayers ||
	    (head->nconstants && head->nconstants != nconstants) || head->texts_len > MAX_TEXTS)
		return plan_wire_refuse(d, "it has more entries than there can be");
	if (len != sizeof(*head) + arrays_len(head) + head->texts_len)
		return plan_wire_refuse(d, "its length does not match its entries");
	d->points = bytes + sizeof(*head);
	d->missing = d->points + head->npoints * sizeof(struct plan_wire_point);
	d->layers = d->missing + head->nmissing * sizeof(struct plan_wire_missing);
	d->constants = d->layers + head->nlayers * sizeof(struct plan_wire_layer);
	d->texts = d->constants + head->nconstants * sizeof(uint64_t);
	return 0;
}

/* They are used in messages and in the archive. */
static int decode_texts(struct decoder *d)
{
	if (!d->head.texts_len)
		return 0;
	for (size_t i = 0; i < d->head.texts_len; i++)
		if (d->texts[i] && !plan_wire_is_printable(d->texts[i]))
			return plan_wire_refuse(d, "a text has bytes that cannot be printed");
	if (d->texts[d->head.texts_len - 1])
		return plan_wire_refuse(d, "a text has no end");
	d->plan->texts = malloc(d->head.texts_len);
	if (!d->plan->texts)
		return -ENOMEM;
	memcpy(d->plan->texts, d->texts, d->head.texts_len);
	return 0;
}

static bool is_probed_row(const struct decoder *d, uint32_t row)
{
	return row < d->set->nrows && !d->set->rows[row].off && !d->set->layers[d->set->rows[row].layer].syscalls;
}

/* Every probe address computed from the point must be inside the file (libraries.c, attach_point_of). */
static bool plan_wire_inside(const struct decoder *d, const struct plan_wire_point *point)
{
	uint64_t entry = point->file_offset - point->offset;

	return point->offset <= MAX_MOVE && point->exit_offset <= MAX_MOVE && point->frame <= MAX_MOVE &&
	       point->offset <= point->file_offset && point->file_offset < d->file_size &&
	       entry + point->exit_offset < d->file_size && point->second_offset < d->file_size && point->second_frame <= MAX_MOVE;
}

static int decode_point(struct decoder *d, const struct plan_wire_point *from, struct plan_point *to)
{
	if (!is_probed_row(d, from->row))
		return plan_wire_refuse(d, "a point has a row that is not probed");
	if (from->kind >= PLACED_IMPOSSIBLE)
		return plan_wire_refuse(d, "a point is of no kind that can be probed");
	if (!plan_wire_inside(d, from))
		return plan_wire_refuse(d, "a point is outside the file");
	if ((from->kind == PLACED_INSIDE) != (from->exit_offset != 0) || (from->frame && from->kind != PLACED_INSIDE))
		return plan_wire_refuse(d, "a point's exit does not fit its kind");
	if (from->reason != PLAN_WIRE_NO_TEXT && from->reason >= d->head.texts_len)
		return plan_wire_refuse(d, "a point's reason is not among the texts");
	*to = (struct plan_point){
		.row = from->row, .file_offset = from->file_offset, .second_offset = from->second_offset,
		.second_frame = from->second_frame, .function = d->set->rows[from->row].name,
		.placement = { from->kind, from->offset, from->exit_offset, from->frame,
			       from->reason == PLAN_WIRE_NO_TEXT ? NULL : d->plan->texts + from->reason },
	};
	return 0;
}

static int decode_points(struct decoder *d)
{
	struct plan_wire_point point;
	int err = 0;

	d->plan->points = calloc(d->head.npoints + 1, sizeof(*d->plan->points));
	if (!d->plan->points)
		return -ENOMEM;
	for (size_t i = 0; i < d->head.npoints && !err; i++) {
		memcpy(&point, d->points + i * sizeof(point), sizeof(point));
		err = decode_point(d, &point, &d->plan->points[i]);
		d->plan->npoints += !err;
	}
	return err;
}

static int decode_missing(struct decoder *d)
{
	struct plan_wire_missing missing;

	d->plan->missing = calloc(d->head.nmissing + 1, sizeof(*d->plan->missing));
	if (!d->plan->missing)
		return -ENOMEM;
	for (size_t i = 0; i < d->head.nmissing; i++) {
		memcpy(&missing, d->missing + i * sizeof(missing), sizeof(missing));
		if (missing.row >= d->set->nrows || missing.reason >= d->head.texts_len)
			return plan_wire_refuse(d, "a missing function has no row or no reason");
		d->plan->missing[d->plan->nmissing++] = (struct plan_missing){ missing.row, d->plan->texts + missing.reason };
	}
	return 0;
}

static bool is_version(const char *version, size_t len)
{
	size_t used = strnlen(version, len);

	for (size_t i = 0; i < used; i++)
		if (!plan_wire_is_printable(version[i]))
			return false;
	return used < len;
}

static int decode_layers(struct decoder *d)
{
	struct plan_wire_layer layer;

	d->plan->layers = calloc(d->head.nlayers + 1, sizeof(*d->plan->layers));
	if (!d->plan->layers)
		return -ENOMEM;
	for (size_t i = 0; i < d->head.nlayers; i++) {
		struct plan_layer *to = &d->plan->layers[i];

		memcpy(&layer, d->layers + i * sizeof(layer), sizeof(layer));
		if (layer.layer >= d->set->nlayers || d->set->layers[layer.layer].syscalls || (i && layer.layer <= to[-1].layer))
			return plan_wire_refuse(d, "a layer that does not exist, or not in order");
		if (layer.parallel > 1 || layer.known_abi > 1 || layer.narrow > 1 ||
		    !is_version(layer.version, sizeof(layer.version)))
			return plan_wire_refuse(d, "a layer's facts are invalid");
		*to = (struct plan_layer){ .layer = layer.layer, .parallel = layer.parallel, .known_abi = layer.known_abi,
					    .narrow = layer.narrow };
		memcpy(to->version, layer.version, sizeof(to->version));
		d->plan->nlayers++;
	}
	return 0;
}

static int decode_constants(struct decoder *d)
{
	size_t len = d->head.nconstants * sizeof(uint64_t);

	if (!len)
		return 0;
	d->plan->constants = malloc(len);
	if (!d->plan->constants)
		return -ENOMEM;
	memcpy(d->plan->constants, d->constants, len);
	d->plan->nconstants = d->head.nconstants;
	return 0;
}

static int decode_head(struct decoder *d)
{
	if (d->head.stripped_static > 1 || (d->head.rendezvous_offset && d->head.rendezvous_offset >= d->file_size))
		return plan_wire_refuse(d, "its rendezvous is outside the file");
	if (d->head.switching > SHARES_STACK)
		return plan_wire_refuse(d, "its kind of stack switching is unknown");
	if (d->head.build_id_len > BUILD_ID_MAX)
		return plan_wire_refuse(d, "its build-id is longer than a build-id can be");
	d->plan->build_id_len = d->head.build_id_len;
	memcpy(d->plan->build_id, d->head.build_id, sizeof(d->plan->build_id));
	d->plan->switching = d->head.switching;
	d->plan->stripped_static = d->head.stripped_static;
	d->plan->first_vaddr = d->head.first_vaddr;
	d->plan->rendezvous_offset = d->head.rendezvous_offset;
	d->plan->known_abis = d->head.known_abis;
	memcpy(d->plan->comm_vaddr, d->head.comm_vaddr, sizeof(d->plan->comm_vaddr));
	memcpy(d->plan->stream_vaddr, d->head.stream_vaddr, sizeof(d->plan->stream_vaddr));
	return 0;
}

int plan_wire_decode(const void *bytes, size_t len, const struct table_set *set, uint64_t file_size, struct plan *out,
		     const char **wrong)
{
	struct decoder d = { .set = set, .file_size = file_size, .plan = out };
	int err = plan_wire_split(&d, bytes, len);

	*out = (struct plan){ 0 };
	if (!err)
		err = decode_head(&d);
	if (!err)
		err = decode_texts(&d);
	if (!err)
		err = decode_points(&d);
	if (!err)
		err = decode_missing(&d);
	if (!err)
		err = decode_layers(&d);
	if (!err)
		err = decode_constants(&d);
	if (err)
		plan_destroy(out);
	*wrong = d.wrong;
	return err;
}
