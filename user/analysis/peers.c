/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Results of a pass as bytes. Structures are sent as they are in memory, so both sides must be of one build: the header has their
 * sizes.
 */
#include "analysis/peers.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/collect.h"

/* ---- shares ---- */

struct load { uint64_t events; uint32_t location; };

static int by_events(const void *a, const void *b)
{
	const struct load *x = a, *y = b;

	if (x->events != y->events)
		return x->events > y->events ? -1 : 1;
	return x->location < y->location ? -1 : x->location > y->location;
}

/* The largest locations first, each to the peer with the fewest events so far. */
unsigned *peers_share(const struct trace *trace, unsigned n)
{
	unsigned *owner = calloc(trace->locations.n + 1, sizeof(*owner));
	struct load *loads = calloc(trace->locations.n + 1, sizeof(*loads));
	uint64_t *sums = calloc(n, sizeof(*sums));

	if (!owner || !loads || !sums) {
		free(owner);
		owner = NULL;
	}
	for (uint32_t i = 0; owner && i < trace->locations.n; i++)
		loads[i] = (struct load){ trace->locations.v[i].events, i };
	if (owner)
		qsort(loads, trace->locations.n, sizeof(*loads), by_events);
	for (size_t i = 0; owner && i < trace->locations.n; i++) {
		unsigned least = 0;

		for (unsigned k = 1; k < n; k++)
			if (sums[k] < sums[least])
				least = k;
		owner[loads[i].location] = least;
		sums[least] += loads[i].events + 1;
	}
	free(loads);
	free(sums);
	return owner;
}

/* ---- packing ---- */

#define MAGIC "ioprobe facts 1"

struct header {
	char magic[16];
	uint64_t sizes[6];              /* of the structures below */
	uint64_t locations, handles, regions, files;    /* of the archive */
};

static struct header header_of(const struct facts *f)
{
	struct header h = { MAGIC,
			    { sizeof(struct location_stat), sizeof(struct io_stat), sizeof(struct call_stat),
			      sizeof(struct instance), sizeof(struct series), sizeof(struct span) },
			    f->trace->locations.n,
			    f->trace->handles.n,
			    f->trace->regions.n,
			    f->trace->files.n };

	return h;
}

/* Errors of the stream are looked at in the end. */
static void peers_put(FILE *out, const void *data, size_t n)
{
	if (n)
		fwrite(data, 1, n, out);
}

static void put_number(FILE *out, uint64_t n)
{
	peers_put(out, &n, sizeof(n));
}

static void put_extents(FILE *out, const struct extents *e)
{
	if (!e)
		return;
	put_number(out, e->n);
	put_number(out, e->full);
	peers_put(out, e->v, e->n * sizeof(*e->v));
}

static void put_locations(FILE *out, const struct facts *f)
{
	uint64_t n = 0;

	for (size_t i = 0; i < f->trace->locations.n; i++)
		n += f->trace->locations.v[i].read;
	put_number(out, n);
	for (size_t i = 0; i < f->trace->locations.n; i++) {
		const struct location_stat *s = &f->locations[i];

		if (!f->trace->locations.v[i].read)
			continue;
		put_number(out, i);
		put_number(out, f->trace->locations.v[i].damaged);
		peers_put(out, s, sizeof(*s));
		put_number(out, s->missed_in ? strlen(s->missed_in) : 0);
		peers_put(out, s->missed_in, s->missed_in ? strlen(s->missed_in) : 0);
	}
}

static void put_io(FILE *out, const struct collector *c)
{
	const struct io_stat *io;

	put_number(out, HASH_COUNT(c->io));
	for (io = c->io; io; io = io->hh.next) {
		peers_put(out, io, sizeof(*io));
		put_extents(out, io->dir[DIR_READ].extents);
		put_extents(out, io->dir[DIR_WRITE].extents);
		put_extents(out, io->filled);
	}
}

static void put_calls(FILE *out, const struct collector *c)
{
	const struct call_stat *call;

	put_number(out, HASH_COUNT(c->calls));
	for (call = c->calls; call; call = call->hh.next) {
		peers_put(out, call, sizeof(*call));
		if (call->series)
			peers_put(out, call->series, sizeof(*call->series));
	}
}

static void put_collector(FILE *out, const struct collector *c)
{
	put_io(out, c);
	put_calls(out, c);
	put_number(out, c->instances.n);
	peers_put(out, c->instances.v, c->instances.n * sizeof(*c->instances.v));
	put_number(out, c->spans.n);
	peers_put(out, c->spans.v, c->spans.n * sizeof(*c->spans.v));
	put_number(out, c->made.n);
	peers_put(out, c->made.v, c->made.n * sizeof(*c->made.v));
	put_number(out, c->carried.n);
	peers_put(out, c->carried.v, c->carried.n * sizeof(*c->carried.v));
	peers_put(out, c->sizes, FS_KINDS * sizeof(*c->sizes));
	peers_put(out, c->size_counts, sizeof(c->size_counts));
	put_number(out, c->failed);
}

int peers_pack(const struct pass *pass, void **data, size_t *len)
{
	const struct facts *f = pass->facts;
	const struct header h = header_of(f);
	char *text = NULL;
	FILE *out = open_memstream(&text, len);
	int failed;

	if (!out)
		return -ENOMEM;
	peers_put(out, &h, sizeof(h));
	put_number(out, pass->shared.merged);
	put_number(out, pass->shared.dropped);
	peers_put(out, (const void *)pass->handle_user, f->trace->handles.n * sizeof(*pass->handle_user));
	put_locations(out, f);
	put_number(out, pass->collectors.n);
	for (size_t i = 0; i < pass->collectors.n; i++)
		put_collector(out, pass->collectors.v[i]);
	failed = ferror(out);
	failed |= fclose(out);
	*data = text;
	if (!failed)
		return 0;
	free(text);
	*data = NULL;
	return -ENOMEM;
}

/* ---- unpacking ---- */

struct input { const char *at; size_t left; int ret; };

/* After an error all further values are zero. */
static void peers_get(struct input *in, void *data, size_t n)
{
	if (in->ret || n > in->left) {
		in->ret = in->ret ? in->ret : -EBADMSG;
		memset(data, 0, n);
		return;
	}
	memcpy(data, in->at, n);
	in->at += n;
	in->left -= n;
}

static uint64_t get_number(struct input *in)
{
	uint64_t n;

	peers_get(in, &n, sizeof(n));
	return n;
}

/* Room for n elements of this size, and their bytes; NULL if there are none, and after an error. */
static void *get_array(struct input *in, uint64_t n, size_t size)
{
	void *v;

	if (in->ret || n > in->left / size) {
		in->ret = in->ret ? in->ret : -EBADMSG;
		return NULL;
	}
	v = n ? malloc(n * size) : NULL;
	if (v)
		peers_get(in, v, n * size);
	else if (n)
		in->ret = -ENOMEM;
	return v;
}

static struct extents *get_extents(struct input *in, const struct extents *sent)
{
	struct extents *e = sent && !in->ret ? calloc(1, sizeof(*e)) : NULL;

	if (!e) {
		in->ret = sent && !in->ret ? -ENOMEM : in->ret;
		return NULL;
	}
	e->n = get_number(in);
	e->full = get_number(in);
	e->v = get_array(in, e->n, sizeof(*e->v));
	e->n = e->cap = e->v ? e->n : 0;
	return e;
}

static void get_location(struct input *in, struct facts *f)
{
	uint64_t index = get_number(in), damaged = get_number(in), n;
	struct location_stat s;
	char *missed;

	peers_get(in, &s, sizeof(s));
	n = get_number(in);
	missed = get_array(in, n, 1);
	if (!in->ret && index >= f->trace->locations.n)
		in->ret = -EBADMSG;
	s.missed_in = missed && !in->ret ? strndup(missed, n) : NULL;
	if (missed && !in->ret && !s.missed_in)
		in->ret = -ENOMEM;
	free(missed);
	if (in->ret)
		return;
	f->locations[index] = s;
	f->trace->locations.v[index].damaged = damaged;
	f->trace->locations.v[index].read = true;
}

static void get_io(struct input *in, struct collector *c)
{
	struct io_stat *io = malloc(sizeof(*io));

	if (!io) {
		in->ret = -ENOMEM;
		return;
	}
	peers_get(in, io, sizeof(*io));
	io->dir[DIR_READ].extents = get_extents(in, io->dir[DIR_READ].extents);
	io->dir[DIR_WRITE].extents = get_extents(in, io->dir[DIR_WRITE].extents);
	io->filled = get_extents(in, io->filled);
	HASH_ADD(hh, c->io, key, sizeof(io->key), io);
	if (!hash_added(io)) {
		free(io);
		in->ret = -ENOMEM;
	}
}

static void get_call(struct input *in, struct collector *c)
{
	struct call_stat *call = malloc(sizeof(*call));

	if (!call) {
		in->ret = -ENOMEM;
		return;
	}
	peers_get(in, call, sizeof(*call));
	if (call->series)
		call->series = get_array(in, 1, sizeof(*call->series));
	HASH_ADD(hh, c->calls, key, sizeof(call->key), call);
	if (!hash_added(call)) {
		free(call);
		in->ret = -ENOMEM;
	}
}

static void get_collector(struct input *in, struct collector *c)
{
	for (uint64_t n = get_number(in); n && !in->ret; n--)
		get_io(in, c);
	for (uint64_t n = get_number(in); n && !in->ret; n--)
		get_call(in, c);
	c->instances.n = c->instances.cap = get_number(in);
	c->instances.v = get_array(in, c->instances.n, sizeof(*c->instances.v));
	c->spans.n = c->spans.cap = get_number(in);
	c->spans.v = get_array(in, c->spans.n, sizeof(*c->spans.v));
	c->made.n = c->made.cap = get_number(in);
	c->made.v = get_array(in, c->made.n, sizeof(*c->made.v));
	c->carried.n = c->carried.cap = get_number(in);
	c->carried.v = get_array(in, c->carried.n, sizeof(*c->carried.v));
	peers_get(in, c->sizes, FS_KINDS * sizeof(*c->sizes));
	peers_get(in, c->size_counts, sizeof(c->size_counts));
	c->failed = get_number(in);
}

/* A position that was moved by locations of two processes was moved by several. */
static void get_handle_users(struct input *in, struct pass *pass)
{
	for (size_t h = 0; h < pass->facts->trace->handles.n && !in->ret; h++) {
		uint32_t user;

		peers_get(in, &user, sizeof(user));
		if (user)
			pass->handle_user[h] = pass->handle_user[h] && pass->handle_user[h] != user ? UINT32_MAX : user;
	}
}

int peers_unpack(struct pass *pass, const void *data, size_t len)
{
	struct input in = { data, len, len ? 0 : -ENOMEM };     /* nothing: its sender had no memory */
	const struct header mine = header_of(pass->facts);
	struct header h;

	peers_get(&in, &h, sizeof(h));
	if (!in.ret && memcmp(&h, &mine, sizeof(h)))
		in.ret = -EBADMSG;
	pass->shared.merged += get_number(&in);
	pass->shared.dropped += get_number(&in);
	get_handle_users(&in, pass);
	for (uint64_t n = get_number(&in); n && !in.ret; n--)
		get_location(&in, pass->facts);
	for (uint64_t n = get_number(&in); n && !in.ret; n--) {
		struct collector *c = collector_new(pass);

		if (c)
			get_collector(&in, c);
		else
			in.ret = -ENOMEM;
	}
	return in.ret;
}
