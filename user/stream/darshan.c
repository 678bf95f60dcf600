/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Darshan's rules, per process, module and file. Its modules count only calls that succeeded.
 */
#include "stream/darshan.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/hash.h"

enum kind { KIND_READ, KIND_WRITE, KIND_META, KINDS };

struct key {
	uint64_t record_id;
	const char *module; /* one of the names below: compared as a pointer */
	uint64_t process;
};
struct record {
	struct key key;
	uint64_t opens, reads, writes, closes, flushes, switches;
	int64_t max_byte[2]; /* of reads, of writes */
	uint64_t total_ns[KINDS], last_ns[KINDS];
	enum live_op last_op; /* read or write, else none yet */
	UT_hash_handle hh;
};

struct darshan_records {
	struct record *table;
};

static const char POSIX[] = "POSIX", STDIO[] = "STDIO", MPIIO[] = "MPIIO", H5F[] = "H5F", H5D[] = "H5D";

/* ---- names ---- */

#define HASH_GOLDEN 0x9e3779b97f4a7c13ull

static uint64_t word_at(const unsigned char *bytes, size_t n)
{
	uint64_t word = 0;

	for (size_t i = 0; i < n && i < 8; i++)
		word |= (uint64_t)bytes[i] << 8 * i;
	return word;
}

/* One round of Jenkins' 64 bit mix. */
static void darshan_mix(uint64_t v[3])
{
	static const unsigned shifts[4][3] = { { 43, 9, 8 }, { 38, 23, 5 }, { 35, 49, 11 }, { 12, 18, 22 } };

	for (int i = 0; i < 4; i++) {
		v[0] = (v[0] - v[1] - v[2]) ^ v[2] >> shifts[i][0];
		v[1] = v[1] - v[2] - v[0];
		v[1] ^= v[0] << shifts[i][1];
		v[2] = v[2] - v[0] - v[1];
		v[2] ^= v[1] >> shifts[i][2];
	}
}

/* Bob Jenkins' lookup8 with level 0. The lowest byte of the third word is the length's. */
uint64_t darshan_record_id(const char *name)
{
	const unsigned char *bytes = (const unsigned char *)name;
	size_t len = strlen(name), left = len;
	uint64_t v[3] = { 0, 0, HASH_GOLDEN };

	for (; left >= 24; bytes += 24, left -= 24) {
		for (int i = 0; i < 3; i++)
			v[i] += word_at(bytes + 8 * i, 8);
		darshan_mix(v);
	}
	v[0] += word_at(bytes, left);
	v[1] += left > 8 ? word_at(bytes + 8, left - 8) : 0;
	v[2] += len + (left > 16 ? word_at(bytes + 16, left - 16) << 8 : 0);
	darshan_mix(v);
	return v[2];
}

static bool is_of_system(const char *path)
{
	static const char mounts[] = "/var/opt/cray/dws/mounts/"; /* the one exception */
	static const char *const prefixes[] = { "/etc/", "/dev/",  "/usr/", "/bin/",  "/boot/", "/lib/",
						"/opt/", "/sbin/", "/sys/", "/proc/", "/var/" };

	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
		if (!strncmp(path, prefixes[i], strlen(prefixes[i])))
			return strncmp(path, mounts, strlen(mounts));
	return false;
}

static const char *darshan_module_of(const struct live_event *e)
{
	static const struct {
		const char *layer, *module;
	} modules[] = { { "POSIX", POSIX }, { "ISOC", STDIO }, { "MPI-IO", MPIIO } };

	for (size_t i = 0; i < sizeof(modules) / sizeof(modules[0]); i++)
		if (!strcmp(e->layer, modules[i].layer))
			return modules[i].module;
	if (strcmp(e->layer, "HDF5"))
		return NULL;
	return !strncmp(e->call, "H5F", 3) ? H5F : !strncmp(e->call, "H5D", 3) ? H5D : NULL;
}

/* NULL: it has none that Darshan would know. */
static const char *record_name(const struct live_event *e, const char *module, char *text, size_t len)
{
	static const struct {
		const char *name, *record;
	} streams[] = { { "stdin", "<STDIN>" }, { "stdout", "<STDOUT>" }, { "stderr", "<STDERR>" } };

	for (size_t i = 0; module == STDIO && e->name && i < 3; i++)
		if (!strcmp(e->name, streams[i].name))
			return streams[i].record;
	if (!e->file || !e->file->path || e->file->special || is_of_system(e->file->path))
		return NULL;
	if (module != H5D || !e->name)
		return e->file->path;
	snprintf(text, len, "%s:%s", e->file->path, e->name);
	return text;
}

/* ---- counters ---- */

struct darshan_records *darshan_records_create(void)
{
	return calloc(1, sizeof(struct darshan_records));
}

void darshan_records_destroy(struct darshan_records *records)
{
	struct record *r, *next;

	if (!records)
		return;
	HASH_ITER(hh, records->table, r, next) {
		HASH_DEL(records->table, r);
		free(r);
	}
	free(records);
}

static struct record *record_of(struct darshan_records *records, const struct key *key)
{
	struct record *r;

	HASH_FIND(hh, records->table, key, sizeof(*key), r);
	if (r || !(r = calloc(1, sizeof(*r))))
		return r;
	r->key = *key;
	r->last_op = LIVE_OP_OTHER;
	HASH_ADD(hh, records->table, key, sizeof(r->key), r);
	if (hash_added(r))
		return r;
	free(r);
	return NULL;
}

/* Time that overlaps with what was counted before does not count again. */
static uint64_t darshan_add_time(struct record *r, enum kind kind, uint64_t begin_ns, uint64_t end_ns)
{
	uint64_t from_ns = begin_ns > r->last_ns[kind] ? begin_ns : r->last_ns[kind];

	if (end_ns > from_ns)
		r->total_ns[kind] += end_ns - from_ns;
	if (end_ns > r->last_ns[kind])
		r->last_ns[kind] = end_ns;
	return r->total_ns[kind];
}

static uint64_t count_access(struct record *r, const struct live_event *e)
{
	bool write = e->op == LIVE_OP_WRITE;
	int64_t last;

	r->switches += r->last_op != LIVE_OP_OTHER && r->last_op != e->op;
	r->last_op = e->op;
	if (e->offset != OFFSET_UNKNOWN && e->moved != BYTES_UNKNOWN) {
		last = (int64_t)(e->offset + e->moved) - 1;
		if (last > r->max_byte[write])
			r->max_byte[write] = last;
	}
	return write ? ++r->writes : ++r->reads;
}

static uint64_t darshan_count_call(struct record *r, const struct live_event *e)
{
	switch (e->op) {
	case LIVE_OP_OPEN: return ++r->opens;
	case LIVE_OP_CLOSE: return ++r->closes;
	case LIVE_OP_READ:
	case LIVE_OP_WRITE: return count_access(r, e);
	case LIVE_OP_FLUSH: return ++r->flushes;
	case LIVE_OP_OTHER: break;
	}
	return 0;
}

static void darshan_fill(const struct record *r, struct live_event *e)
{
	struct live_darshan *d = &e->darshan;
	bool access = e->op == LIVE_OP_READ || e->op == LIVE_OP_WRITE, bytes = d->module == POSIX || d->module == STDIO;

	d->max_byte = access && bytes && e->offset != OFFSET_UNKNOWN ? r->max_byte[e->op == LIVE_OP_WRITE] : -1;
	d->switches = access && (d->module == POSIX || d->module == MPIIO || d->module == H5D) ? (int64_t)r->switches : -1;
	d->flushes = d->module == H5F || d->module == H5D || (d->module == STDIO && e->op != LIVE_OP_OPEN && e->op != LIVE_OP_READ)
			     ? (int64_t)r->flushes
			     : -1;
	d->off = access && bytes && e->offset != OFFSET_UNKNOWN ? (int64_t)e->offset : -1;
	if (access && d->module == MPIIO && e->offset != OFFSET_UNKNOWN)
		d->off = e->offset;
	d->len = -1;
	if (access && (d->module == MPIIO ? e->asked : e->moved) != BYTES_UNKNOWN)
		d->len = d->module == MPIIO ? e->asked : e->moved;
	if (e->op == LIVE_OP_FLUSH)
		d->len = 0;
}

int darshan_count(struct darshan_records *records, struct live_event *e)
{
	const char *module = e->failed || e->op == LIVE_OP_OTHER ? NULL : darshan_module_of(e), *name;
	enum kind kind = e->op == LIVE_OP_READ                              ? KIND_READ
			 : e->op == LIVE_OP_WRITE || e->op == LIVE_OP_FLUSH ? KIND_WRITE
									    : KIND_META;
	struct record *r;

	e->darshan = (struct live_darshan){ 0 };
	name = module ? record_name(e, module, e->record_room, sizeof(e->record_room)) : NULL;
	if (!name)
		return 0;
	e->darshan.module = module;
	e->darshan.record = name;
	e->darshan.record_id = darshan_record_id(name);
	r = record_of(records, &(struct key){ e->darshan.record_id, module, e->process->id });
	if (!r)
		return -ENOMEM;
	e->darshan.cnt = darshan_count_call(r, e);
	e->darshan.total_ns = darshan_add_time(r, kind, e->begin_ns, e->end_ns);
	darshan_fill(r, e);
	return 0;
}
