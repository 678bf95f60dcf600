/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Text records of the agent. If a process ends while it is being read, the keys that could not be read are missing.
 */
#include "capture/notes.h"

#include <linux/kcmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "capture/clock.h"
#include "proc/procfs.h"
#include "bpf/rings.h"
#include "util/version.h"

/* ---- text ---- */

static bool note_room(struct note *note, size_t more)
{
	size_t cap = note->cap ? note->cap : 512;
	char *text;

	while (cap < note->len + more)
		cap *= 2;
	if (cap == note->cap)
		return true;
	text = realloc(note->text, cap);
	if (!text)
		return false;
	note->text = text;
	note->cap = cap;
	return true;
}

void note_add(struct note *note, const char *key, const char *value)
{
	size_t worst = strlen(key) + 4 * strlen(value) + 3;

	if (!note_room(note, worst + 1))
		return;
	note->len += sprintf(note->text + note->len, "%s=", key);
	note->len += text_escape(note->text + note->len, note->cap - note->len - 1, value);
	note->text[note->len++] = '\n';
	note->text[note->len] = 0;
}

void note_addf(struct note *note, const char *key, const char *format, ...)
{
	char value[256];
	va_list args;

	va_start(args, format);
	vsnprintf(value, sizeof(value), format, args);
	va_end(args);
	note_add(note, key, value);
}

void note_free(struct note *note)
{
	free(note->text);
	*note = (struct note){ 0 };
}

static void note_write(struct note *note, struct spool_writer *spool, enum iop_rec_type type, pid_t pid, const char *raw)
{
	spool_writer_text(spool, type, pid, monotonic_ns(), note->text ? note->text : "", raw);
	note_free(note);
}

/* ---- host and tables ---- */

void note_host(struct spool_writer *spool, const char *host, const char *cluster, const char *const *shared_mounts,
	       size_t nshared_mounts, const struct bounds *bounds, const char *command_line, unsigned call_sites,
	       bool cpu_time)
{
	struct note note = { 0 };
	struct utsname uts;
	struct clock_reading clock;

	clock_read(&clock);
	uname(&uts);
	note_add(&note, "host", host ? host : uts.nodename);
	if (cluster && cluster[0])
		note_add(&note, "machine", cluster);
	note_add(&note, "kernel", uts.release);
	note_add(&note, "version", ioprobe_version);
	if (command_line)
		note_add(&note, "command", command_line);
	clock_note(&note, &clock);
	if (call_sites)
		note_addf(&note, "call_sites", "%u", call_sites);
	if (cpu_time)
		note_add(&note, "cpu_time", "1");
	note_addf(&note, "buffer_alignment", "%u", IOP_BUFFER_ALIGNMENT);
	if (bounds->max_bytes)
		note_addf(&note, "max_size", "%llu", (unsigned long long)bounds->max_bytes);
	if (bounds->min_free_bytes)
		note_addf(&note, "min_free", "%llu", (unsigned long long)bounds->min_free_bytes);
	for (size_t i = 0; i < nshared_mounts; i++) {
		char key[40];

		snprintf(key, sizeof(key), "shared_mount_%zu", i);
		note_add(&note, key, shared_mounts[i]);
	}
	note_write(&note, spool, IOP_REC_HOST, 0, NULL);
}

void note_tables(struct spool_writer *spool, const struct table_set *set)
{
	for (size_t i = 0; i < set->nsources; i++) {
		struct note note = { 0 };

		note_add(&note, "name", set->sources[i].name);
		note_write(&note, spool, IOP_REC_TABLE, 0, set->sources[i].text);
	}
}

/* ---- processes ---- */

/* The launch that a rank belongs to: several launches may run at once, each with a rank 0. */
static void add_job(struct note *note, const char *env, size_t len)
{
	const char *space = proc_env_get(env, len, "PMIX_NAMESPACE"), *job = proc_env_get(env, len, "SLURM_JOB_ID");
	const char *step = proc_env_get(env, len, "SLURM_STEP_ID");

	if (!space)
		space = proc_env_get(env, len, "OMPI_MCA_ess_base_jobid");
	if (space)
		note_add(note, "job", space);
	else if (job && step)
		note_addf(note, "job", "%s.%s", job, step);
	else if (job)
		note_add(note, "job", job);
}

/* The rank, from the launchers' variables in order of precedence; under mpirun inside sbatch SLURM_PROCID is wrong, so it comes
 * last. */
static void add_rank(struct note *note, const char *env, size_t len)
{
	static const char *const ranks[][2] = {
		{ "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE" },
		{ "PMIX_RANK", "SLURM_NTASKS" },
		{ "PMI_RANK", "PMI_SIZE" },
		{ "SLURM_PROCID", "SLURM_NTASKS" },
	};

	for (size_t i = 0; i < sizeof(ranks) / sizeof(ranks[0]); i++) {
		const char *rank = proc_env_get(env, len, ranks[i][0]), *size = proc_env_get(env, len, ranks[i][1]);

		if (!rank)
			continue;
		note_add(note, "rank", rank);
		if (size)
			note_add(note, "size", size);
		add_job(note, env, len);
		return;
	}
}

/* The batch system's job id, common to all launches of a job. */
static void add_batch_job(struct note *note, const char *env, size_t len)
{
	static const char *const systems[][2] = {
		{ "SLURM_JOB_ID", "SLURM" }, { "PBS_JOBID", "PBS" }, { "FLUX_JOB_ID", "Flux" }, { "LSB_JOBID", "LSF" },
	};

	for (size_t i = 0; i < sizeof(systems) / sizeof(systems[0]); i++) {
		const char *job = proc_env_get(env, len, systems[i][0]);

		if (!job)
			continue;
		note_addf(note, "batch_job", "%s job %s", systems[i][1], job);
		return;
	}
}

static void notes_add_text(struct note *note, pid_t pid, const char *name)
{
	size_t len;
	char *text;

	if (proc_text_read(pid, name, &text, &len))
		return;
	for (size_t i = 0; i + 1 < len; i++)
		if (!text[i])
			text[i] = ' ';
	while (len && (text[len - 1] == '\n' || text[len - 1] == ' ' || !text[len - 1]))
		text[--len] = 0;
	if (len)
		note_add(note, name, text);
	free(text);
}

static void add_link(struct note *note, pid_t pid, const char *name, const char *key)
{
	char target[4096];

	if (!proc_link_read(pid, name, target, sizeof(target)))
		note_add(note, key, target);
}

void note_process(struct spool_writer *spool, pid_t pid, bool mpi)
{
	struct note note = { 0 };
	uint64_t start;
	pid_t ppid;
	uid_t uid;
	gid_t gid;
	char *env;
	size_t len;

	note_addf(&note, "pid", "%d", pid);
	if (!proc_ids_read(pid, &ppid, &uid, &gid, &start))
		note_addf(&note, "ppid", "%d", ppid), note_addf(&note, "uid", "%u", uid);
	notes_add_text(&note, pid, "comm");
	notes_add_text(&note, pid, "cmdline");
	add_link(&note, pid, "exe", "exe");
	add_link(&note, pid, "cwd", "cwd");
	add_link(&note, pid, "ns/mnt", "mntns");
	if (!proc_text_read(pid, "environ", &env, &len)) {
		add_rank(&note, env, len);
		add_batch_job(&note, env, len);
		free(env);
	}
	if (mpi)
		note_add(&note, "mpi", "1");
	note_write(&note, spool, IOP_REC_PROCESS, pid, NULL);
}

void note_mounts(struct spool_writer *spool, pid_t pid)
{
	struct note note = { 0 };
	char *text;
	size_t len;

	if (proc_text_read(pid, "mountinfo", &text, &len))
		return;
	add_link(&note, pid, "ns/mnt", "mntns");
	note_write(&note, spool, IOP_REC_MOUNTS, pid, text);
	free(text);
}

/* ---- state at attach ---- */

static bool shares_files(pid_t tid, pid_t other)
{
	return syscall(SYS_kcmp, tid, other, KCMP_FILES, 0, 0) <= 0;    /* or unknown */
}

/* Returns a number for the descriptor table of a thread: 0 for the one that most threads of a process share, else the tid of the
 * first thread that uses it. */
static pid_t table_number(pid_t pid, const pid_t *tids, size_t i)
{
	if (shares_files(tids[i], pid))
		return 0;
	for (size_t k = 0; k < i; k++)
		if (tids[k] != pid && shares_files(tids[i], tids[k]))
			return tids[k];
	return tids[i];
}

static void scan_thread(struct spool_writer *spool, pid_t pid, pid_t tid, uint32_t table)
{
	struct iop_rec_fork rec = {
		.rec = { .len = sizeof(rec),
			 .type = IOP_REC_FORK,
			 .flags = IOP_F_SCAN,
			 .tid = tid,
			 .tgid = pid,
			 .time_ns = monotonic_ns() },
		.child_tid = tid,
		.child_tgid = pid,
		.table = table,
	};
	char *comm;
	size_t len;

	if (!proc_text_read(tid, "comm", &comm, &len)) {
		comm[strcspn(comm, "\n")] = 0;
		strncpy(rec.comm, comm, sizeof(rec.comm) - 1);
		free(comm);
	}
	spool_writer_append(spool, &rec.rec);
}

static void scan_fd(struct spool_writer *spool, pid_t pid, const struct filter *filter, struct proc_fd *fd)
{
	union { struct iop_rec_fd rec; char room[sizeof(struct iop_rec_fd) + 4400]; } u = { 0 };
	struct iop_rec_fd *rec = &u.rec;
	char *deleted = strstr(fd->target, " (deleted)");

	if (deleted && !deleted[10] && fd->target[0] == '/') {
		*deleted = 0;
		rec->state |= IOP_FD_DELETED;
	}
	if (!filter_wants_file(filter, fd->mode, fd->target[0] == '/' ? fd->target : NULL))
		return;
	rec->fd = fd->fd;
	rec->i_mode = fd->mode;
	rec->ino = fd->ino;
	rec->dev_major = (fd->dev >> 8 & 0xfff) | (fd->dev >> 32 & ~0xfffull);
	rec->dev_minor = (fd->dev & 0xff) | (fd->dev >> 12 & ~0xffull);
	rec->mnt_id = fd->mnt_id;
	rec->f_flags = fd->flags;
	rec->pos = fd->pos;
	rec->cloexec = !!(fd->flags & 02000000);
	if (fd->target[0] == '/')
		rec->path_len = path_reverse(rec->path, 4352, fd->target);
	rec->rec = (struct iop_rec){ .len = (sizeof(*rec) + rec->path_len + 7) & ~7u, .type = IOP_REC_FD, .flags = IOP_F_SCAN,
				     .tid = pid, .tgid = pid, .time_ns = monotonic_ns() };
	spool_writer_append(spool, &rec->rec);
}

void note_scan(struct spool_writer *spool, pid_t pid, const struct filter *filter)
{
	struct proc_fds fds;
	pid_t *tids;
	size_t n;

	if (!proc_threads_read(pid, &tids, &n)) {
		for (size_t i = 0; i < n; i++)
			scan_thread(spool, pid, tids[i], table_number(pid, tids, i));
		free(tids);
	}
	if (proc_fds_read(pid, &fds))
		return;
	for (size_t i = 0; i < fds.n; i++)
		scan_fd(spool, pid, filter, &fds.v[i]);
	proc_fds_free(&fds);
}

/* ---- what was not observed ---- */

void note_missing(struct spool_writer *spool, const char *layer, const char *library, const char *function, const char *reason)
{
	struct note note = { 0 };

	note_add(&note, "layer", layer);
	note_add(&note, "library", library);
	note_add(&note, "function", function);
	note_add(&note, "reason", reason);
	note_write(&note, spool, IOP_REC_MISSING, 0, NULL);
}

void note_gap(struct spool_writer *spool, pid_t pid, const char *layer, uint64_t from_ns, uint64_t to_ns, const char *reason)
{
	struct note note = { 0 };

	note_addf(&note, "pid", "%d", pid);
	note_add(&note, "layer", layer);
	note_addf(&note, "from_ns", "%llu", (unsigned long long)from_ns);
	note_addf(&note, "to_ns", "%llu", (unsigned long long)to_ns);
	note_add(&note, "reason", reason);
	note_write(&note, spool, IOP_REC_GAP, pid, NULL);
}
