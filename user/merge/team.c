/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Who takes part, the folder, signs of life. A file beat-RANK is touched every second as long as a process lives; who waits for
 * another one gives up when that has not been touched for two minutes.
 */
#include "merge/team.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define PATIENCE_S 120
#define POLL_NS 20000000

struct team {
	unsigned rank, size;
	char *dir;
	int lock;                       /* held as long as the merge lives */
	pthread_t beat;
	bool beating, failed;
	pthread_mutex_t mutex;
	pthread_cond_t end;
	bool ended;
};

static volatile sig_atomic_t interrupted;

static void on_signal(int number)
{
	(void)number;
	interrupted = 1;
}

bool team_interrupted(void)
{
	return interrupted;
}

static void note_signals(void)
{
	struct sigaction action = { .sa_handler = on_signal };

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGHUP, &action, NULL);
}

/* ---- who takes part ---- */

static bool number_of(const char *name, unsigned *number)
{
	const char *value = getenv(name);
	char *end;
	unsigned long n = value ? strtoul(value, &end, 10) : 0;

	if (!value || end == value || *end || n > 1000000)
		return false;
	*number = n;
	return true;
}

/* A batch script has SLURM's variables of the job, but not those of a step. */
static void find_place(struct team *team)
{
	static const char *const launchers[][2] = {
		{ "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE" }, { "PMI_RANK", "PMI_SIZE" },
		{ "SLURM_PROCID", "SLURM_STEP_NUM_TASKS" },
	};

	for (size_t i = 0; i < sizeof(launchers) / sizeof(launchers[0]); i++)
		if (number_of(launchers[i][0], &team->rank) && number_of(launchers[i][1], &team->size) && team->rank < team->size)
			return;
	team->rank = 0;
	team->size = 1;
}

/* What all processes of this launch have, and no other launch; as a part of a file name. */
static int find_name(const struct team *team, char *name, size_t len)
{
	const char *space = getenv("PMIX_NAMESPACE"), *job = getenv("SLURM_JOB_ID"), *step = getenv("SLURM_STEP_ID");
	unsigned here;

	if (team->size == 1)
		snprintf(name, len, "%d", getpid());
	else if (space)
		snprintf(name, len, "%s", space);
	else if (job && step)
		snprintf(name, len, "%s.%s", job, step);
	else if (number_of("MPI_LOCALNRANKS", &here) && here == team->size)
		snprintf(name, len, "%d", getppid());
	else
		return -ENOTSUP;
	for (char *c = name; *c; c++)
		if (*c == '/')
			*c = '_';
	return 0;
}

/* ---- the folder ---- */

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st, (void)type, (void)ftw;
	remove(path);
	return 0;
}

static void remove_tree(const char *dir)
{
	nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static int lock_open(const char *dir, int flags)
{
	char path[4400];

	snprintf(path, sizeof(path), "%s/ioprobe-merge.lock", dir);
	return open(path, O_RDWR | flags | O_NOFOLLOW | O_CLOEXEC, 0666);
}

/* A directory whose lock is free was left by a merge that was killed. Others are not ours. */
static void remove_leftover(const char *dir)
{
	int fd = lock_open(dir, 0);

	if (fd < 0)
		return;
	if (!flock(fd, LOCK_EX | LOCK_NB)) {
		remove_tree(dir);
		fprintf(stderr, "ioprobe: removed %s, which an interrupted merge had left\n", dir);
	}
	close(fd);
}

static void remove_leftovers(const char *out)
{
	const char *slash = strrchr(out, '/'), *name = slash ? slash + 1 : out;
	char parent[4096] = ".", prefix[300], path[4300];
	struct dirent *entry;
	DIR *dir;

	if (slash)
		snprintf(parent, sizeof(parent), "%.*s", (int)(slash - out) + 1, out);
	snprintf(prefix, sizeof(prefix), "%s.partial-", name);
	dir = opendir(parent);
	while (dir && (entry = readdir(dir)))
		if (!strncmp(entry->d_name, prefix, strlen(prefix))) {
			snprintf(path, sizeof(path), "%s%s", slash ? parent : "", entry->d_name);
			remove_leftover(path);
		}
	if (dir)
		closedir(dir);
}

static int make_folder(struct team *team, const char *out, char *err, size_t err_len)
{
	FILE *ready;
	int ret = 0;

	remove_leftovers(out);
	if (mkdir(team->dir, 0777) || (team->lock = lock_open(team->dir, O_CREAT)) < 0)
		ret = -errno;
	else
		flock(team->lock, LOCK_EX | LOCK_NB);   /* no hindrance where there are no locks; nothing is removed there, either */
	if (!ret) {
		ready = team_open(team, "ready");
		ret = ready ? team_publish(team, ready, "ready") : -errno;
	}
	if (ret)
		snprintf(err, err_len, "cannot write %s: %s", team->dir, strerror(-ret));
	return ret;
}

/* ---- signs of life ---- */

static void beat_path(const struct team *team, unsigned rank, char *path, size_t len)
{
	snprintf(path, len, "%s/beat-%u", team->dir, rank);
}

static void *beat(void *arg)
{
	struct team *team = arg;
	char path[4300];

	beat_path(team, team->rank, path, sizeof(path));
	pthread_mutex_lock(&team->mutex);
	while (!team->ended) {
		struct timespec until;
		int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);

		if (fd >= 0) {
			futimens(fd, NULL);
			close(fd);
		}
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_sec++;
		pthread_cond_timedwait(&team->end, &team->mutex, &until);
	}
	pthread_mutex_unlock(&team->mutex);
	return NULL;
}

/* Only changes count: the nodes' clocks need not agree. */
struct pulse { struct timespec touched; time_t seen_s; };

static time_t now_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec;
}

static bool is_alive(const struct team *team, unsigned rank, struct pulse *pulse)
{
	char path[4300];
	struct stat st;

	beat_path(team, rank, path, sizeof(path));
	if (!pulse->seen_s)
		pulse->seen_s = now_s();
	if (!stat(path, &st) && (st.st_mtim.tv_sec != pulse->touched.tv_sec || st.st_mtim.tv_nsec != pulse->touched.tv_nsec)) {
		pulse->touched = st.st_mtim;
		pulse->seen_s = now_s();
	}
	return now_s() - pulse->seen_s < PATIENCE_S;
}

/* ---- life ---- */

int team_create(struct team **out_team, const char *out, char *err, size_t err_len)
{
	struct team *team = calloc(1, sizeof(*team));
	char name[256];
	FILE *ready;
	int ret;

	*out_team = team;
	if (!team)
		return -ENOMEM;
	team->lock = -1;
	pthread_mutex_init(&team->mutex, NULL);
	pthread_cond_init(&team->end, NULL);
	find_place(team);
	if (find_name(team, name, sizeof(name))) {
		snprintf(err, err_len, "cannot merge with %u processes: the launcher does not name the launch; start one process",
			 team->size);
		return -ENOTSUP;
	}
	if (asprintf(&team->dir, "%s.partial-%s", out, name) < 0) {
		team->dir = NULL;
		return -ENOMEM;
	}
	note_signals();
	if (!team->rank) {
		ret = make_folder(team, out, err, err_len);
		if (ret)
			return ret;
	} else {
		ready = team_await(team, 0, "ready", err, err_len);
		if (!ready)
			return -ECANCELED;
		fclose(ready);
	}
	team->beating = team->size > 1 && !pthread_create(&team->beat, NULL, beat, team);
	return 0;
}

/* The launcher may end all processes when one has failed: those that are not rank 0 let it clean up first. */
static void await_end(const struct team *team)
{
	struct pulse pulse = { 0 };
	const struct timespec pause = { .tv_nsec = POLL_NS };

	while (!access(team->dir, F_OK) && is_alive(team, 0, &pulse) && !interrupted)
		nanosleep(&pause, NULL);
}

void team_destroy(struct team *team)
{
	if (!team)
		return;
	if (team->rank && team->failed)
		await_end(team);
	if (team->beating) {
		pthread_mutex_lock(&team->mutex);
		team->ended = true;
		pthread_cond_signal(&team->end);
		pthread_mutex_unlock(&team->mutex);
		pthread_join(team->beat, NULL);
	}
	if (!team->rank && team->lock >= 0)
		remove_tree(team->dir);
	if (team->lock >= 0)
		close(team->lock);
	pthread_cond_destroy(&team->end);
	pthread_mutex_destroy(&team->mutex);
	free(team->dir);
	free(team);
}

unsigned team_rank(const struct team *team)
{
	return team->rank;
}

unsigned team_size(const struct team *team)
{
	return team->size;
}

const char *team_dir(const struct team *team)
{
	return team->dir;
}

/* ---- files ---- */

FILE *team_open(struct team *team, const char *name)
{
	char path[4300];

	snprintf(path, sizeof(path), "%s/%s.new", team->dir, name);
	return fopen(path, "wxe");
}

int team_publish(struct team *team, FILE *file, const char *name)
{
	char from[4300], to[4300];

	snprintf(from, sizeof(from), "%s/%s.new", team->dir, name);
	snprintf(to, sizeof(to), "%s/%s", team->dir, name);
	if (ferror(file) | fclose(file))
		return errno ? -errno : -EIO;
	return rename(from, to) ? -errno : 0;
}

/* Opening the folder makes a network file system look again. */
static FILE *look(const struct team *team, const char *name)
{
	int dir = open(team->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC), fd = dir < 0 ? -1 : openat(dir, name, O_RDONLY | O_CLOEXEC);

	if (dir >= 0)
		close(dir);
	return fd < 0 ? NULL : fdopen(fd, "re");
}

static bool has_failed(const struct team *team, unsigned rank, char *err, size_t err_len)
{
	char name[32];
	FILE *file;

	snprintf(name, sizeof(name), "failed-%u", rank);
	file = look(team, name);
	if (!file)
		return false;
	if (team->rank || !fgets(err, err_len, file))
		err[0] = 0;
	fclose(file);
	return true;
}

FILE *team_await(struct team *team, unsigned publisher, const char *name, char *err, size_t err_len)
{
	const struct timespec pause = { .tv_nsec = POLL_NS };
	struct pulse pulse = { 0 };
	bool seen = false;

	for (;;) {
		FILE *file = look(team, name);

		if (file)
			return file;
		if (has_failed(team, publisher, err, err_len))
			return NULL;
		err[0] = 0;
		if (interrupted)
			return NULL;
		if (!access(team->dir, F_OK))
			seen = true;
		else if (seen)
			return NULL;    /* rank 0 has given up */
		if (!is_alive(team, publisher, &pulse)) {
			snprintf(err, err_len, "cannot merge: process %u of %u has not been heard of for %d s", publisher,
				 team->size, PATIENCE_S);
			return NULL;
		}
		nanosleep(&pause, NULL);
	}
}

void team_fail(struct team *team, const char *why)
{
	char name[32];
	FILE *file;

	if (!team || !team->dir || team->size == 1)
		return;
	team->failed = true;
	snprintf(name, sizeof(name), "failed-%u", team->rank);
	file = team_open(team, name);
	if (!file)
		return;
	fputs(why, file);
	team_publish(team, file, name);
}
