/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * last_threads: 300 children, each of which ends with its last two threads at the same moment: 301 processes end.
 */
#include "golden.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static atomic_int ready;

/* Without the C library's own exit, which takes locks. */
static void *end_together(void *arg)
{
	ready++;
	while (ready < 2)
		;
	syscall(SYS_exit, 0);
	return arg;
}

static void end_with_two_threads(void)
{
	pthread_t thread;

	must(pthread_create(&thread, NULL, end_together, NULL) == 0, "pthread_create");
	end_together(NULL);
}

int main(void)
{
	for (int i = 0; i < 300; i++) {
		pid_t pid = fork();

		must(pid >= 0, "fork");
		if (pid == 0)
			end_with_two_threads();
		must(waitpid(pid, NULL, 0) == pid, "waitpid");
	}
	return 0;
}
