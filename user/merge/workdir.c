/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "merge/workdir.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static volatile sig_atomic_t interrupted;

static void on_signal(int number)
{
	(void)number;
	interrupted = 1;
}

bool workdir_interrupted(void)
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

/* ---- removal ---- */

static int workdir_remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st, (void)type, (void)ftw;
	remove(path);
	return 0;
}

static void remove_tree(const char *dir)
{
	nftw(dir, workdir_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static int lock_open(const char *dir, int flags)
{
	char path[4400];

	snprintf(path, sizeof(path), "%s/ioprobe-merge.lock", dir);
	return open(path, O_RDWR | flags | O_NOFOLLOW | O_CLOEXEC, 0666);
}

/* Removes the directory if a merge that was killed left it. A directory without a merge's lock file is not ours and is kept.
 * Returns whether it was removed. */
static bool remove_leftover(const char *dir)
{
	int fd = lock_open(dir, 0);
	bool left = fd >= 0 && !flock(fd, LOCK_EX | LOCK_NB);

	if (left) {
		remove_tree(dir);
		fprintf(stderr, "ioprobe: removed %s, which an interrupted merge had left\n", dir);
	}
	if (fd >= 0)
		close(fd);
	return left;
}

/* ---- begin and end ---- */

static int workdir_make_dir(const char *path)
{
	return mkdir(path, 0777) ? -errno : 0;
}

static int make_and_lock(struct workdir *workdir, char *err, size_t err_len)
{
	int ret = workdir_make_dir(workdir->path);

	if (ret == -EEXIST && remove_leftover(workdir->path))
		ret = workdir_make_dir(workdir->path);
	if (ret == -EEXIST) {
		snprintf(err, err_len,
			 "cannot merge: %s exists: another merge writes there (one process makes a merge: start it without mpirun "
			 "or srun), or it is not a merge's: remove it",
			 workdir->path);
		return ret;
	}
	if (!ret) {
		workdir->lock = lock_open(workdir->path, O_CREAT);
		ret = workdir->lock < 0 ? -errno : 0;
	}
	if (ret)
		snprintf(err, err_len, "cannot write %s: %s", workdir->path, strerror(-ret));
	return ret;
}

int workdir_create(struct workdir *workdir, const char *out, char *err, size_t err_len)
{
	int ret;

	*workdir = (struct workdir){ .lock = -1 };
	note_signals();
	if (asprintf(&workdir->path, "%s.partial", out) < 0) {
		workdir->path = NULL;
		snprintf(err, err_len, "cannot merge to %s: %s", out, strerror(ENOMEM));
		return -ENOMEM;
	}
	ret = make_and_lock(workdir, err, err_len);
	/* A file system without locks refuses; then the next merge does not remove what this one leaves if it is killed. */
	if (!ret)
		flock(workdir->lock, LOCK_EX | LOCK_NB);
	return ret;
}

void workdir_destroy(struct workdir *workdir)
{
	if (workdir->lock >= 0) {
		remove_tree(workdir->path);
		close(workdir->lock);
	}
	free(workdir->path);
	*workdir = (struct workdir){ .lock = -1 };
}
