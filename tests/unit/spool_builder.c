/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Synthetic spools (see spool_builder.h).
 */
#include "spool_builder.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CHECK(ok) do { if (!(ok)) { fprintf(stderr, "spool_builder:%d: %s\n", __LINE__, #ok); abort(); } } while (0)

static uint32_t tgid_of(uint32_t tid)
{
	return tid / 100 * 100;
}

static void put(struct sb *sb, void *record, size_t len, enum iop_rec_type type, uint8_t flags, uint32_t tid, uint64_t time,
		bool counted)
{
	struct iop_rec *rec = record;

	*rec = (struct iop_rec){ .len = (len + 7) & ~7u, .type = type, .flags = flags, .tid = tid, .tgid = tgid_of(tid),
		.time_ns = time };
	if (counted)
		rec->seq = ++sb->seq[tid];
	CHECK(!spool_writer_append(sb->writer, rec));
}

void sb_begin(struct sb *sb)
{
	sb_begin_host(sb, "");
}

void sb_begin_host(struct sb *sb, const char *keys)
{
	char err[512], host[256];

	memset(sb, 0, sizeof(*sb));
	sb->mount = 30;
	strcpy(sb->path, "/tmp/ioprobe-spool-XXXXXX");
	CHECK(mkdtemp(sb->path));
	strcat(sb->path, "/spool");
	CHECK(!spool_writer_create(&sb->writer, sb->path));
	table_set_init(&sb->set);
	CHECK(!table_parse_builtin(&sb->set, err, sizeof(err)));
	snprintf(host, sizeof(host), "host=node1\nrealtime_ns=1000000\nmonotonic_ns=0\n%s", keys);
	sb_text(sb, IOP_REC_HOST, 0, 1, host, NULL);
	for (size_t i = 0; i < sb->set.nsources; i++)
		sb_text(sb, IOP_REC_TABLE, 0, 1, "name=builtin\n", sb->set.sources[i].text);
}

void sb_end(struct sb *sb)
{
	model_deinit(&sb->model);
	free(sb->events);
	table_set_deinit(&sb->set);
	unlink(sb->path);
	*strrchr(sb->path, '/') = 0;
	CHECK(!rmdir(sb->path));        /* a test removes what it made there */
}

void sb_text(struct sb *sb, enum iop_rec_type type, uint32_t tgid, uint64_t time_ns, const char *head, const char *raw)
{
	CHECK(!spool_writer_text(sb->writer, type, tgid, time_ns, head, raw));
}

void sb_table(struct sb *sb, const char *text)
{
	char err[512] = "";

	if (table_parse(&sb->set, "site", text, err, sizeof(err)))
		fprintf(stderr, "spool_builder: %s\n", err);
	CHECK(!err[0]);
	sb_text(sb, IOP_REC_TABLE, 0, 1, "name=site\n", text);
}

void sb_rank(struct sb *sb, uint32_t tgid, int rank)
{
	static const char *const layers[] = { "MPI-IO", "HDF5", "netCDF" };
	char head[128];

	snprintf(head, sizeof(head), "comm=app\ncwd=/w\nrank=%d\nmpi=1\n", rank);
	sb_text(sb, IOP_REC_PROCESS, tgid, 2, head, NULL);
	for (int i = 0; i < 3; i++) {
		snprintf(head, sizeof(head), "layer=%s\npath=/lib/x.so\nparallel=1\n%s", layers[i],
			 i ? "" : "comm_world=0x1000\ncomm_self=0x2000\n");
		sb_text(sb, IOP_REC_LIBRARY, tgid, 2, head, NULL);
	}
}

/* ---- calls ---- */

static const struct table_row *row_of(const struct sb *sb, const char *function)
{
	for (size_t i = 0; i < sb->set.nrows; i++)
		if (!strcmp(sb->set.rows[i].name, function))
			return &sb->set.rows[i];
	fprintf(stderr, "spool_builder: no function %s\n", function);
	abort();
}

static const struct sb_arg *given(const struct sb_arg *args, enum table_role role)
{
	for (; args->role != ROLE_NONE; args++)
		if (args->role == role)
			return args;
	return NULL;
}

struct room { struct iop_rec_call rec; char more[4096]; };

static size_t put_string(char *at, const struct sb_arg *arg)
{
	const char *text = arg ? arg->text : NULL;
	uint16_t len = !text ? 0xffff : arg->len ? arg->len : strlen(text);

	memcpy(at, &len, 2);
	if (text)
		memcpy(at + 2, text, len);
	return text ? len + 2 : 2;
}

/* Returns the record's length; every given argument must have a place. */
static size_t fill(struct room *room, const struct table_row *row, const struct sb_arg *args, bool *strings)
{
	size_t used = 0;
	unsigned n = 0;

	*strings = false;
	for (int i = 0; i < row->nargs; i++) {
		const struct table_arg *arg = &row->args[i];
		const struct sb_arg *value = given(args, arg->role);

		if (arg->capture < 0)
			continue;
		((int64_t *)room->more)[arg->capture] = value ? value->value : 0;
		room->rec.arg_failed |= (value && value->len == SIZE_MAX) << arg->capture;
		*strings |= (table_kind_has(arg->kind) & IOP_HAS_PAYLOAD) != 0;
		n = arg->capture + 1 > (int)n ? arg->capture + 1u : n;
	}
	for (const struct sb_arg *arg = args; arg->role != ROLE_NONE; arg++)
		CHECK(table_row_arg(row, arg->role) >= 0);
	room->rec.nargs = *strings ? IOP_MAX_ARGS : n;
	for (int c = 0; c < IOP_MAX_ARGS && *strings; c++)
		for (int i = 0; i < row->nargs; i++)
			if (row->args[i].capture == c && table_kind_has(row->args[i].kind) & IOP_HAS_PAYLOAD)
				used += put_string(room->more + 8 * IOP_MAX_ARGS + used, given(args, row->args[i].role));
	return sizeof(room->rec) + 8 * room->rec.nargs + used;
}

static void call(struct sb *sb, enum iop_rec_type type, uint32_t tid, const char *function, uint64_t enter, uint64_t time,
		 int depth, int64_t ret, const struct sb_arg *args)
{
	const struct table_row *row = row_of(sb, function);
	struct room room = { .rec = { .probe = row->id, .depth = depth, .enter_ns = enter, .ret = ret,
				      .site = { sb->site, sb->site >> 8, sb->site >> 16 } } };
	bool strings;
	size_t len = fill(&room, row, args, &strings);

	put(sb, &room, len, type, sb->flags | (strings ? IOP_F_STRINGS : 0), tid, time, true);
}

void sb_call(struct sb *sb, uint32_t tid, const char *function, uint64_t enter, uint64_t leave, int depth, int64_t ret,
	     const struct sb_arg *args)
{
	call(sb, IOP_REC_CALL, tid, function, enter, leave, depth, ret, args);
}

void sb_enter(struct sb *sb, uint32_t tid, const char *function, uint64_t enter, uint64_t sent, int depth,
	      const struct sb_arg *args)
{
	call(sb, IOP_REC_ENTER, tid, function, enter, sent, depth, 0, args);
}

void sb_exit(struct sb *sb, uint32_t tid, const char *function, uint64_t enter, uint64_t leave, int depth, int64_t ret,
	     const struct sb_arg *out)
{
	const struct table_row *row = row_of(sb, function);
	struct room room = { .rec = { .probe = row->id, .depth = depth, .enter_ns = enter, .ret = ret } };

	for (int c = 0; c < IOP_MAX_ARGS; c++)
		for (int i = 0; i < row->nargs; i++)
			if (row->args[i].capture == c &&
			    (row->args[i].kind == IOP_ARG_OUT_INT || row->args[i].kind == IOP_ARG_OUT_VALUE))
				((int64_t *)room.more)[room.rec.nargs++] = given(out, row->args[i].role) ?
					given(out, row->args[i].role)->value : 0;
	put(sb, &room, sizeof(room.rec) + 8 * room.rec.nargs, IOP_REC_EXIT, 0, tid, leave, true);
}

void sb_abandoned(struct sb *sb, uint32_t tid, const char *function, uint64_t enter, uint64_t noticed, int depth)
{
	struct iop_rec_call rec = { .probe = row_of(sb, function)->id, .depth = depth, .enter_ns = enter };

	put(sb, &rec, sizeof(rec), IOP_REC_EXIT, IOP_F_ABANDONED, tid, noticed, true);
}

void sb_unseen(struct sb *sb, uint32_t tid, const char *function, uint64_t enter, int depth)
{
	struct iop_rec_call rec = { .probe = row_of(sb, function)->id, .depth = depth, .enter_ns = enter };

	put(sb, &rec, sizeof(rec), IOP_REC_EXIT, IOP_F_ABANDONED | IOP_F_UNSEEN, tid, enter, true);
}

struct requests_room { struct iop_rec_requests rec; struct iop_request_state v[16]; };

static void requests(struct sb *sb, enum iop_rec_type type, uint32_t tid, const char *function, uint64_t enter, uint64_t time,
		     const void *v, size_t n, uint32_t beyond)
{
	struct requests_room room = { .rec = { .enter_ns = enter, .probe = row_of(sb, function)->id, .n = n, .beyond = beyond } };

	CHECK(n <= 16);
	if (n)
		memcpy(room.v, v, n * sizeof(room.v[0]));
	put(sb, &room, sizeof(room.rec) + n * sizeof(room.v[0]), type, 0, tid, time, true);
}

void sb_requests(struct sb *sb, uint32_t tid, const char *function, uint64_t enter, uint64_t time,
		 const struct iop_request_state *v, size_t n, uint32_t beyond)
{
	requests(sb, IOP_REC_REQUESTS, tid, function, enter, time, v, n, beyond);
}

void sb_submitted(struct sb *sb, uint32_t tid, const char *function, uint64_t enter, uint64_t time, const struct iop_submitted *v,
		  size_t n)
{
	requests(sb, IOP_REC_SUBMITTED, tid, function, enter, time, v, n, 0);
}

/* ---- descriptors and processes ---- */

struct fd_room { struct iop_rec_fd rec; char more[1024]; };

static size_t reverse(char *out, const char *path)
{
	size_t used = 0, end = strlen(path);

	while (end > 1) {
		const char *slash = memrchr(path, '/', end);
		size_t start = slash - path + 1;

		memcpy(out + used, path + start, end - start);
		out[used + end - start] = 0;
		used += end - start + 1;
		end = start - 1;
	}
	return used;
}

static void describe(struct sb *sb, enum iop_rec_type type, uint32_t tid, uint64_t time, int fd, const char *path, uint32_t f_flags,
		     uint8_t flags, uint32_t i_mode, uint64_t ino)
{
	struct fd_room room = { .rec = { .fd = fd, .i_mode = i_mode, .ino = ino, .dev_major = 8, .dev_minor = 1,
					 .mnt_id = sb->mount, .f_flags = f_flags, .cloexec = !!(f_flags & O_CLOEXEC) } };

	room.rec.path_len = path ? reverse(room.more, path) : 0;
	put(sb, &room, sizeof(room.rec) + room.rec.path_len, type, flags, tid, time, !(flags & IOP_F_SCAN));
}

void sb_fd(struct sb *sb, uint32_t tid, uint64_t time, int fd, const char *path, uint32_t f_flags, uint8_t flags)
{
	describe(sb, IOP_REC_FD, tid, time, fd, path, f_flags, flags, S_IFREG | 0644, 77);
}

void sb_fd_inode(struct sb *sb, uint32_t tid, uint64_t time, int fd, const char *path, uint64_t ino, uint32_t sb_magic)
{
	struct fd_room room = { .rec = { .fd = fd, .i_mode = S_IFREG | 0644, .ino = ino, .dev_major = 8, .dev_minor = 1,
					 .sb_magic = sb_magic } };

	room.rec.path_len = reverse(room.more, path);
	put(sb, &room, sizeof(room.rec) + room.rec.path_len, IOP_REC_FD, 0, tid, time, true);
}

void sb_fd_special(struct sb *sb, uint32_t tid, uint64_t time, int fd, uint32_t i_mode, uint64_t ino)
{
	describe(sb, IOP_REC_FD, tid, time, fd, NULL, 0, 0, i_mode, ino);
}

void sb_async(struct sb *sb, uint32_t tid, uint64_t time, const struct iop_rec_async *what)
{
	struct iop_rec_async rec = *what;

	put(sb, &rec, sizeof(rec), IOP_REC_ASYNC, 0, tid, time, true);
}

void sb_async_end(struct sb *sb, uint32_t tid, uint64_t time, const struct iop_rec_async_end *what, bool counted)
{
	struct iop_rec_async_end rec = *what;

	put(sb, &rec, sizeof(rec), IOP_REC_ASYNC_END, 0, tid, time, counted);
}

void sb_epoch(struct sb *sb, uint32_t tid, uint64_t time, const struct iop_rec_fd_epoch *what)
{
	struct iop_rec_fd_epoch rec = *what;

	put(sb, &rec, sizeof(rec), IOP_REC_FD_EPOCH, 0, tid, time, true);
}

void sb_cpu(struct sb *sb, uint32_t tid, uint64_t time, const struct iop_rec_cpu *what)
{
	struct iop_rec_cpu rec = *what;

	put(sb, &rec, sizeof(rec), IOP_REC_CPU, 0, tid, time, true);
}

void sb_contents(struct sb *sb, uint32_t tid, uint64_t time, uint64_t offset, const void *bytes, size_t len)
{
	uint64_t room[(sizeof(struct iop_rec_contents) + 1024) / 8] = { 0 };
	struct iop_rec_contents *rec = (void *)room;

	rec->offset = offset;
	rec->len = len;
	memcpy(rec->bytes, bytes, len);
	put(sb, rec, (sizeof(*rec) + len + 7) & ~(size_t)7, IOP_REC_CONTENTS, 0, tid, time, true);
}

void sb_site(struct sb *sb, uint32_t tid, uint64_t time, uint32_t id, uint64_t pc)
{
	struct iop_rec_site rec = { .id = id, .pc = pc, .flags = IOP_SITE_WHOLE };

	put(sb, &rec, sizeof(rec), IOP_REC_SITE, 0, tid, time, false);
}

void sb_cwd(struct sb *sb, uint32_t tid, uint64_t time, const char *path)
{
	describe(sb, IOP_REC_CWD, tid, time, -1, path, 0, 0, S_IFDIR | 0755, 78);
}

void sb_mount(struct sb *sb, uint32_t tid, uint64_t time, const char *texts, size_t len, const char *mount_point)
{
	struct fd_room room = { .rec = { .fd = -1, .ino = 4096, .dev_major = 8, .dev_minor = 1, .mnt_id = sb->mount } };

	memcpy(room.more, texts, len);
	room.rec.path_len = len + reverse(room.more + len, mount_point);
	put(sb, &room, sizeof(room.rec) + room.rec.path_len, IOP_REC_MOUNT, 0, tid, time, true);
}

void sb_fork(struct sb *sb, uint32_t tid, uint64_t time, uint32_t child)
{
	struct iop_rec_fork rec = { .child_tid = child, .child_tgid = tgid_of(child), .comm = "kid" };

	put(sb, &rec, sizeof(rec), IOP_REC_FORK, 0, tid, time, true);
	sb->seq[child] = 0;
}

void sb_exec(struct sb *sb, uint32_t tid, uint64_t time, uint32_t old_tid, const char *path)
{
	struct { struct iop_rec_exec rec; char more[256]; } room = { .rec = { .old_tid = old_tid, .path_len = strlen(path) } };

	strcpy(room.more, path);
	sb->seq[tid] = sb->seq[old_tid];
	put(sb, &room, sizeof(room.rec) + room.rec.path_len, IOP_REC_EXEC, 0, tid, time, true);
}

void sb_task_exit(struct sb *sb, uint32_t tid, uint64_t time, bool last)
{
	struct iop_rec_task_exit rec = { .group_dead = last };

	put(sb, &rec, sizeof(rec), IOP_REC_TASK_EXIT, 0, tid, time, true);
}

void sb_round(struct sb *sb, uint64_t time)
{
	struct iop_rec rec;

	put(sb, &rec, sizeof(rec), IOP_REC_ROUND, 0, 0, time, false);
}

void sb_lost(struct sb *sb, uint64_t time, uint64_t lost)
{
	struct iop_rec_lost rec = { .lost = lost };

	put(sb, &rec, sizeof(rec), IOP_REC_LOST, 0, 0, time, false);
}

#define TYPE_BASE 0x0300000000000000

static uint32_t layer_index(const struct sb *sb, const char *name)
{
	uint32_t i = 0;

	while (i < sb->set.nlayers && strcmp(sb->set.layers[i].name, name))
		i++;
	CHECK(i < sb->set.nlayers);
	return i;
}

void sb_constants(struct sb *sb, uint32_t tid, uint64_t time, const char *layer)
{
	struct { struct iop_rec_constants rec; int64_t value[IOP_MAX_CONSTANTS]; } room =
		{ .rec = { .layer = layer_index(sb, layer) } };

	room.rec.n = sb->set.layers[room.rec.layer].ntypes;
	for (uint32_t i = 0; i < room.rec.n; i++)
		room.value[i] = TYPE_BASE + i;
	put(sb, &room, sizeof(room.rec) + 8 * room.rec.n, IOP_REC_CONSTANTS, 0, tid, time, true);
}

int64_t sb_type(const struct sb *sb, const char *layer, const char *symbol)
{
	const struct table_layer *l = &sb->set.layers[layer_index(sb, layer)];
	size_t i = 0;

	while (i < l->ntypes && strcmp(l->types[i].symbol, symbol))
		i++;
	CHECK(i < l->ntypes);
	return TYPE_BASE + i;
}

void sb_open(struct sb *sb, uint32_t tid, uint64_t enter, uint64_t leave, int depth, int fd, const char *path, int flags)
{
	sb_fd(sb, tid, leave + 1, fd, path, flags & ~(O_CREAT | O_EXCL | O_TRUNC), 0);
	sb_call(sb, tid, "openat", enter, leave, depth, fd, ARGS(ARG(DIRFD, AT_FDCWD), STR(PATH, path), ARG(FLAGS, flags)));
}

/* ---- events as text ---- */

struct text_sink { struct sink sink; FILE *out; struct sb *sb; uint64_t last_ns[64]; };

static void handle(FILE *out, uint32_t ref)
{
	fprintf(out, " h%u", ref);
}

static void number(FILE *out, uint64_t n)
{
	if (n == UINT64_MAX)
		fprintf(out, " ?");
	else
		fprintf(out, " %llu", (unsigned long long)n);
}

static void cpu_times(FILE *out, const struct model_cpu *cpu)
{
	if (cpu->known)
		fprintf(out, " cpu %llu sleep %llu io %llu delay %llu", (unsigned long long)cpu->cpu_ns,
			(unsigned long long)cpu->sleep_ns, (unsigned long long)cpu->io_sleep_ns, (unsigned long long)cpu->delay_ns);
	if (cpu->undivided_ns)
		fprintf(out, " undivided %llu", (unsigned long long)cpu->undivided_ns);
	if (cpu->known)
		fprintf(out, " of %llu+%llu", (unsigned long long)cpu->user_ns, (unsigned long long)cpu->system_ns);
	if (cpu->before_known)
		fprintf(out, " before %llu %llu", (unsigned long long)cpu->before_off_ns, (unsigned long long)cpu->before_delay_ns);
}

static void enter_or_leave(FILE *out, const struct model *model, const struct model_event *e)
{
	fprintf(out, " %s", model->regions.v[e->u.call.region].name);
	if (e->type == EV_LEAVE && e->u.call.abandoned)
		fprintf(out, " abandoned");
	if (e->type == EV_LEAVE && e->u.call.failed)
		fprintf(out, " failed %d", e->u.call.error);
	if (e->type == EV_LEAVE && e->u.call.cpu)
		cpu_times(out, e->u.call.cpu);
}

static void begin(FILE *out, const struct model *model, const struct model_event *e)
{
	handle(out, e->u.begin.handle);
	fprintf(out, " m%u f%x", e->u.begin.mode, e->u.begin.flags);
	number(out, e->u.begin.bytes);
	if (e->u.begin.offset != OFFSET_UNKNOWN)
		fprintf(out, " at %llu", (unsigned long long)e->u.begin.offset);
	if (e->u.begin.variable)
		fprintf(out, " '%s'", model->names.v[e->u.begin.variable - 1]);
	fprintf(out, " #%llu", (unsigned long long)e->u.begin.matching_id);
	if (e->u.begin.request)
		fprintf(out, " for #%llu", (unsigned long long)e->u.begin.request);
}

static int write_event(struct sink *sink, const struct model *model, const struct model_event *e)
{
	static const char *const names[] = { "enter", "leave", "create", "destroy", "duplicate", "status", "delete", "seek",
		"begin", "issued", "test", "complete", "cancelled", "lock", "unlock", "trylock" };
	FILE *out = ((struct text_sink *)sink)->out;

	if (e->location < 64)
		((struct text_sink *)sink)->last_ns[e->location] = e->time_ns;
	fprintf(out, "%u @%llu %s", model->locations.v[e->location].tid, (unsigned long long)e->time_ns, names[e->type]);
	switch (e->type) {
	case EV_ENTER:
	case EV_LEAVE:
		enter_or_leave(out, model, e);
		break;
	case EV_CREATE:
		handle(out, e->u.create.handle);
		fprintf(out, " m%u c%x s%x", e->u.create.mode, e->u.create.creation_flags, e->u.create.status_flags);
		break;
	case EV_DESTROY:
		handle(out, e->u.destroy.handle);
		break;
	case EV_DUPLICATE:
		handle(out, e->u.duplicate.old_handle);
		handle(out, e->u.duplicate.new_handle);
		fprintf(out, " s%x", e->u.duplicate.status_flags);
		break;
	case EV_STATUS_FLAGS:
		handle(out, e->u.status.handle);
		fprintf(out, " s%x", e->u.status.status_flags);
		break;
	case EV_DELETE:
		fprintf(out, " %s", model->files.v[e->u.del.file].path);
		break;
	case EV_SEEK:
		handle(out, e->u.seek.handle);
		fprintf(out, " %lld w%u", (long long)e->u.seek.request, e->u.seek.whence);
		number(out, e->u.seek.result);
		break;
	case EV_BEGIN:
		begin(out, model, e);
		break;
	case EV_COMPLETE:
		handle(out, e->u.complete.handle);
		number(out, e->u.complete.bytes);
		fprintf(out, " #%llu", (unsigned long long)e->u.complete.matching_id);
		if (e->u.complete.error)
			fprintf(out, " error %d", e->u.complete.error);
		break;
	case EV_ISSUED:
	case EV_TEST:
	case EV_CANCELLED:
		handle(out, e->u.op.handle);
		fprintf(out, " #%llu", (unsigned long long)e->u.op.matching_id);
		break;
	default:
		handle(out, e->u.lock.handle);
		fprintf(out, " k%u", e->u.lock.kind);
		if (e->u.lock.ranged)
			fprintf(out, " %llu+%llu", (unsigned long long)e->u.lock.offset, (unsigned long long)e->u.lock.bytes);
	}
	fputc('\n', out);
	return 0;
}

static int location_ended(struct sink *sink, const struct model *model, uint32_t location)
{
	struct text_sink *text = (struct text_sink *)sink;
	size_t used = strlen(text->sb->ended);

	if (location < 64)
		snprintf(text->sb->ended + used, sizeof(text->sb->ended) - used, "%u@%llu ", model->locations.v[location].tid,
			 (unsigned long long)text->last_ns[location]);
	return 0;
}

static int finished(struct sink *sink, const struct model *model)
{
	(void)model;
	return fflush(((struct text_sink *)sink)->out);
}

void sb_replay(struct sb *sb)
{
	struct text_sink text = { .sink = { .event = write_event, .finish = finished, .location_end = location_ended }, .sb = sb };
	struct sink *sinks[] = { &text.sink };
	struct spool_reader *reader;
	size_t len;

	CHECK(!spool_writer_destroy(sb->writer));
	text.out = open_memstream(&sb->events, &len);
	CHECK(text.out && !spool_reader_open(&reader, sb->path));
	sb->ret = replay_run(reader, &sb->model, sinks, 1, sb->err, sizeof(sb->err));
	spool_reader_destroy(reader);
	fclose(text.out);
}
