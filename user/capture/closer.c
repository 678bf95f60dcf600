/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * A few threads with a common list of descriptors: closings that overlap share the kernel's grace periods.
 */
#include "capture/closer.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#define CLOSER_THREADS 24       /* as many links as a usual process has: one grace period for all */

struct closer {
	pthread_mutex_t lock;
	pthread_cond_t more;
	pthread_t threads[CLOSER_THREADS];
	size_t nthreads;
	struct links waiting;
	bool stop;
};

static void *run(void *arg)
{
	struct closer *closer = arg;

	pthread_mutex_lock(&closer->lock);
	while (closer->waiting.n || !closer->stop) {
		int fd;

		if (!closer->waiting.n) {
			pthread_cond_wait(&closer->more, &closer->lock);
			continue;
		}
		fd = closer->waiting.fds[--closer->waiting.n];
		pthread_mutex_unlock(&closer->lock);
		close(fd);
		pthread_mutex_lock(&closer->lock);
	}
	pthread_mutex_unlock(&closer->lock);
	return NULL;
}

int closer_create(struct closer **out)
{
	struct closer *closer = calloc(1, sizeof(*closer));

	if (!closer)
		return -ENOMEM;
	pthread_mutex_init(&closer->lock, NULL);
	pthread_cond_init(&closer->more, NULL);
	while (closer->nthreads < CLOSER_THREADS && !pthread_create(&closer->threads[closer->nthreads], NULL, run, closer))
		closer->nthreads++;
	if (!closer->nthreads) {
		free(closer);
		return -EAGAIN;
	}
	*out = closer;
	return 0;
}

void closer_take(struct closer *closer, struct links *links)
{
	int *fds;

	pthread_mutex_lock(&closer->lock);
	fds = realloc(closer->waiting.fds, (closer->waiting.n + links->n + 1) * sizeof(int));
	if (fds) {
		closer->waiting.fds = fds;
		for (size_t i = 0; i < links->n; i++)
			fds[closer->waiting.n++] = links->fds[i];
		links->n = 0;
		pthread_cond_broadcast(&closer->more);
	}
	pthread_mutex_unlock(&closer->lock);
	links_destroy(links);   /* those that could not be handed over */
}

void closer_destroy(struct closer *closer)
{
	if (!closer)
		return;
	pthread_mutex_lock(&closer->lock);
	closer->stop = true;
	pthread_cond_broadcast(&closer->more);
	pthread_mutex_unlock(&closer->lock);
	for (size_t i = 0; i < closer->nthreads; i++)
		pthread_join(closer->threads[i], NULL);
	free(closer->waiting.fds);
	free(closer);
}
