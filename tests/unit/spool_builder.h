/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Synthetic spools for tests: calls by function name and arguments by role, with the built-in tables; and a sink that writes
 * events as text. A thread's process is its number rounded down to a hundred.
 */
#ifndef SPOOL_BUILDER_H
#define SPOOL_BUILDER_H

#include "model/model.h"
#include "replay/replay.h"
#include "spool/spool.h"
#include "table/table.h"

struct sb_arg { enum table_role role; int64_t value; const char *text; size_t len; };  /* len: of an array, 0: text ends with NUL */
#define ARG(role, value) { ROLE_##role, (int64_t)(value), NULL, 0 }
#define STR(role, text) { ROLE_##role, 0, text, 0 }
#define ARRAY(role, type, ...) { ROLE_##role, 1, (const char *)(const type[]){ __VA_ARGS__ }, sizeof((type[]){ __VA_ARGS__ }) }
#define UNREADABLE(role) { ROLE_##role, 0, NULL, SIZE_MAX }     /* what an OUT argument points to could not be read */
#define ARGS(...) (struct sb_arg[]){ __VA_ARGS__, { ROLE_NONE, 0, NULL, 0 } }
#define NO_ARGS (struct sb_arg[]){ { ROLE_NONE, 0, NULL, 0 } }

struct sb {
	char path[64];
	struct spool_writer *writer;
	struct table_set set;
	uint32_t seq[1 << 18];          /* by thread */
	uint32_t site;                  /* call site of the calls that follow, 0: none */
	uint8_t flags;                  /* of the records of the calls that follow, IOP_F_* */
	uint32_t mount;                 /* number of the mount that the files that follow are on */

	struct model model;             /* after sb_replay */
	char *events;                   /* one line each */
	char ended[256];                /* locations, in the order of their ends: "TID@TIME " of the last event */
	char err[512];
	int ret;
};

void sb_begin(struct sb *sb);
void sb_begin_host(struct sb *sb, const char *keys);    /* keys: further "NAME=VALUE\n" of the HOST record */
void sb_end(struct sb *sb);

void sb_text(struct sb *sb, enum iop_rec_type type, uint32_t tgid, uint64_t time_ns, const char *head, const char *raw);
void sb_table(struct sb *sb, const char *text);                 /* a site's own, after the built-in ones */
void sb_rank(struct sb *sb, uint32_t tgid, int rank);           /* PROCESS and LIBRARY records of an Open MPI rank, cwd /w */
void sb_call(struct sb *sb, uint32_t tid, const char *function, uint64_t enter, uint64_t leave, int depth, int64_t ret,
	     const struct sb_arg *args);
void sb_enter(struct sb *sb, uint32_t tid, const char *function, uint64_t enter, uint64_t sent, int depth,
	      const struct sb_arg *args);
void sb_exit(struct sb *sb, uint32_t tid, const char *function, uint64_t enter, uint64_t leave, int depth, int64_t ret,
	     const struct sb_arg *out);
void sb_abandoned(struct sb *sb, uint32_t tid, const char *function, uint64_t enter, uint64_t noticed, int depth);
/* Of a call that is recorded at its entry only. */
void sb_unseen(struct sb *sb, uint32_t tid, const char *function, uint64_t enter, int depth);
/* Before the call's own record: what became of its requests, or what it has begun. */
void sb_requests(struct sb *sb, uint32_t tid, const char *function, uint64_t enter, uint64_t time,
		 const struct iop_request_state *v, size_t n, uint32_t beyond);
void sb_submitted(struct sb *sb, uint32_t tid, const char *function, uint64_t enter, uint64_t time, const struct iop_submitted *v,
		  size_t n);
void sb_fd(struct sb *sb, uint32_t tid, uint64_t time, int fd, const char *path, uint32_t f_flags, uint8_t flags); /* IOP_F_SCAN */
void sb_fd_inode(struct sb *sb, uint32_t tid, uint64_t time, int fd, const char *path, uint64_t ino, uint32_t sb_magic);
void sb_fd_special(struct sb *sb, uint32_t tid, uint64_t time, int fd, uint32_t i_mode, uint64_t ino);
void sb_async(struct sb *sb, uint32_t tid, uint64_t time, const struct iop_rec_async *what);
void sb_async_end(struct sb *sb, uint32_t tid, uint64_t time, const struct iop_rec_async_end *what, bool counted);
/* Of the mount that all files are on. texts: type, subtype and source, each with its NUL, len bytes. */
void sb_mount(struct sb *sb, uint32_t tid, uint64_t time, const char *texts, size_t len, const char *mount_point);
/* Before the call's own record; enter_ns is the call's. */
void sb_epoch(struct sb *sb, uint32_t tid, uint64_t time, const struct iop_rec_fd_epoch *what);
void sb_cpu(struct sb *sb, uint32_t tid, uint64_t time, const struct iop_rec_cpu *what);        /* before the call's own record */
/* Part of a header, at most 1024 bytes. */
void sb_contents(struct sb *sb, uint32_t tid, uint64_t time, uint64_t offset, const void *bytes, size_t len);
void sb_site(struct sb *sb, uint32_t tid, uint64_t time, uint32_t id, uint64_t pc);      /* one frame, the outermost */
void sb_cwd(struct sb *sb, uint32_t tid, uint64_t time, const char *path);
void sb_fork(struct sb *sb, uint32_t tid, uint64_t time, uint32_t child);
void sb_exec(struct sb *sb, uint32_t tid, uint64_t time, uint32_t old_tid, const char *path);
void sb_task_exit(struct sb *sb, uint32_t tid, uint64_t time, bool last);
void sb_round(struct sb *sb, uint64_t time);
/* All types that the layer predefines by symbol are there; sb_type is the number of one. */
void sb_constants(struct sb *sb, uint32_t tid, uint64_t time, const char *layer);
int64_t sb_type(const struct sb *sb, const char *layer, const char *symbol);
void sb_lost(struct sb *sb, uint64_t time, uint64_t lost);
/* An open without anything special: FD record and CALL of openat, AT_FDCWD. */
void sb_open(struct sb *sb, uint32_t tid, uint64_t enter, uint64_t leave, int depth, int fd, const char *path, int flags);

/* Replays; then model and events are filled. */
void sb_replay(struct sb *sb);

#endif
