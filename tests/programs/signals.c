/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * signals DIR: 50 times fwrite of 16 bytes and a raised signal whose handler writes 8 bytes; one handler run that interrupts a
 * blocked read (SA_RESTART), one that leaves it by siglongjmp. 52 handler writes (416 bytes) to DIR/handler; 1 read gets 1 byte.
 */
#include "golden.h"

#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>

static int handler_fd;
static int pipe_ends[2];
static sigjmp_buf back;
static volatile sig_atomic_t leave;

static void handler(int signal)
{
	(void)signal;
	must(write(handler_fd, "handler\n", 8) == 8, "write");
	if (leave)
		siglongjmp(back, 1);
}

/* Interrupts main's read; then, unless main is to jump out, gives it a byte. */
static void *interrupt(void *main_thread)
{
	usleep(100000);
	must(pthread_kill(*(pthread_t *)main_thread, SIGUSR1) == 0, "pthread_kill");
	usleep(50000);
	if (!leave)
		must(write(pipe_ends[1], "x", 1) == 1, "write");
	return NULL;
}

static void read_interrupted(void)
{
	pthread_t thread, self = pthread_self();
	char c;

	must(pthread_create(&thread, NULL, interrupt, &self) == 0, "pthread_create");
	if (sigsetjmp(back, 1) == 0)
		must(read(pipe_ends[0], &c, 1) == 1, "read");
	must(pthread_join(thread, NULL) == 0, "pthread_join");
}

int main(int argc, char **argv)
{
	struct sigaction action = { .sa_handler = handler, .sa_flags = SA_RESTART };
	FILE *stream;

	if (argc != 2)
		return 2;
	handler_fd = open(IN_DIR(argv[1], "handler"), O_WRONLY | O_CREAT | O_TRUNC, 0644);
	stream = fopen(IN_DIR(argv[1], "stream"), "w");
	must(handler_fd >= 0 && stream && pipe(pipe_ends) == 0, "open");
	must(sigaction(SIGUSR1, &action, NULL) == 0, "sigaction");
	for (int i = 0; i < 50; i++) {
		must(fwrite("0123456789abcdef", 16, 1, stream) == 1, "fwrite");
		must(raise(SIGUSR1) == 0, "raise");
	}
	must(fclose(stream) == 0, "fclose");
	read_interrupted();
	leave = 1;
	read_interrupted();
	return 0;
}
