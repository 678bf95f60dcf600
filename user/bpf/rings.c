/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * One libbpf consumer per ring; in each ring a round ends at the first record that is newer than the round.
 */
#include "bpf/rings.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

struct rings {
	struct ring_buffer **v;
	size_t n;
	int epoll_fd;
	uint64_t until_ns;              /* end of the current turn */
	uint64_t drained_ns;            /* time of the last round */
	void (*record)(void *, const struct iop_rec *);
	void *arg;
};

uint64_t monotonic_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

static int rings_one_record(void *arg, void *data, size_t size)
{
	struct rings *rings = arg;
	const struct iop_rec *rec = data;

	if (size < sizeof(*rec))
		return 0;
	rings->record(rings->arg, rec);
	return rec->time_ns > rings->until_ns ? -EAGAIN : 0;
}

int rings_create(struct rings **out, const struct bpf_side *kernel, void (*record)(void *, const struct iop_rec *), void *arg)
{
	struct rings *rings = calloc(1, sizeof(*rings));
	int err = -ENOMEM;

	if (!rings)
		return err;
	rings->record = record;
	rings->arg = arg;
	rings->drained_ns = monotonic_ns();
	rings->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	rings->v = calloc(bpf_side_rings(kernel), sizeof(*rings->v));
	if (rings->epoll_fd < 0 || !rings->v)
		goto fail;
	for (size_t i = 0; i < bpf_side_rings(kernel); i++) {
		struct epoll_event event = { .events = EPOLLIN };

		rings->v[i] = ring_buffer__new(bpf_side_ring_fd(kernel, i), rings_one_record, rings, NULL);
		if (!rings->v[i] || epoll_ctl(rings->epoll_fd, EPOLL_CTL_ADD, bpf_side_ring_fd(kernel, i), &event)) {
			err = -errno;
			goto fail;
		}
		rings->n = i + 1;
	}
	*out = rings;
	return 0;
fail:
	rings_destroy(rings);
	return err;
}

void rings_destroy(struct rings *rings)
{
	if (!rings)
		return;
	for (size_t i = 0; i < rings->n; i++)
		ring_buffer__free(rings->v[i]);
	free(rings->v);
	if (rings->epoll_fd >= 0)
		close(rings->epoll_fd);
	free(rings);
}

int rings_poll_fd(const struct rings *rings)
{
	return rings->epoll_fd;
}

static void drain_until(struct rings *rings, uint64_t until_ns)
{
	rings->until_ns = until_ns;
	for (size_t i = 0; i < rings->n; i++)
		ring_buffer__consume(rings->v[i]);
}

uint64_t rings_drain(struct rings *rings, uint64_t slice_ns)
{
	uint64_t round_ns = monotonic_ns();

	if (slice_ns && rings->drained_ns)
		for (uint64_t t = rings->drained_ns + slice_ns; t < round_ns; t += slice_ns)
			drain_until(rings, t);
	drain_until(rings, round_ns);
	return rings->drained_ns = round_ns;
}
