/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Waits for requests of unwinders, writes the addresses into the waiting thread's stack, and ends its wait.
 */
#include "capture/responder.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/uio.h>

struct responder {
	struct kernel_side *kernel;
	struct ring_buffer *ring;
	pthread_t thread;
	atomic_bool stop;
	atomic_ullong failed;
};

/* The thread stands inside the unwinder's first instruction: its stack does not change meanwhile. */
static int answer(void *arg, void *data, size_t size)
{
	struct responder *responder = arg;
	const struct iop_request *request = data;

	if (size < sizeof(*request))
		return 0;
	for (uint64_t i = 0; i < request->n && i < IOP_MAX_RETURNS; i++) {
		uint64_t value = request->slot[i].value;
		struct iovec local = { &value, sizeof(value) };
		struct iovec remote = { (void *)(uintptr_t)request->slot[i].address, sizeof(value) };

		if (process_vm_writev(request->pid_tgid >> 32, &local, 1, &remote, 1, 0) != sizeof(value))
			responder->failed++;
	}
	kernel_side_answer(responder->kernel, request->pid_tgid);
	return 0;
}

static void *run(void *arg)
{
	struct responder *responder = arg;
	struct sched_param first = { .sched_priority = 1 };

	/* Ahead of the waiting thread, which may spin on this very CPU. Without the privilege it takes a scheduler tick longer. */
	pthread_setschedparam(pthread_self(), SCHED_FIFO, &first);
	while (!responder->stop)
		ring_buffer__poll(responder->ring, 100);
	return NULL;
}

int responder_create(struct responder **out, struct kernel_side *kernel)
{
	struct responder *responder = calloc(1, sizeof(*responder));
	int err = -ENOMEM;

	if (!responder)
		return err;
	responder->kernel = kernel;
	responder->ring = ring_buffer__new(kernel_side_return_requests_fd(kernel), answer, responder, NULL);
	if (!responder->ring)
		err = -errno;
	else
		err = -pthread_create(&responder->thread, NULL, run, responder);
	if (err) {
		ring_buffer__free(responder->ring);
		free(responder);
		return err;
	}
	*out = responder;
	return 0;
}

void responder_destroy(struct responder *responder)
{
	if (!responder)
		return;
	responder->stop = true;
	pthread_join(responder->thread, NULL);
	ring_buffer__free(responder->ring);
	free(responder);
}

uint64_t responder_failed(const struct responder *responder)
{
	return responder->failed;
}
