/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * fd_tables DIR [wait]: one descriptor number in several tables. By writes of 10 bytes: 11 to DIR/main by the main thread, 4 and 3
 * to DIR/own by a thread that has called unshare(CLONE_FILES) and one that it made, 5 to DIR/cloned by a thread made without
 * CLONE_FILES, all through the same number; 2 to DIR/child by a process that shares the main thread's table (CLONE_FILES), and 6 by
 * the main thread through the descriptor that this process has opened. With "wait" it prints "ready" when the first two threads are
 * there, and writes when DIR/go exists.
 */
#include "golden.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

enum { STACK = 65536, SIZE = 10 };

static const char *dir;
static int number, other, childs = -1;
static volatile bool cloned_ended;
static pthread_barrier_t made, go;

static int create(const char *name)
{
	int fd = open(IN_DIR(dir, name), O_WRONLY | O_CREAT | O_TRUNC, 0644);

	must(fd >= 0, "open");
	return fd;
}

static void *of_own_table(void *arg)
{
	pthread_barrier_wait(&made);
	pthread_barrier_wait(&go);
	write_n(number, 3, SIZE);
	return arg;
}

static void *unsharing(void *arg)
{
	pthread_t thread;

	must(unshare(CLONE_FILES) == 0 && close(number) == 0 && create("own") == number, "unshare");
	must(pthread_create(&thread, NULL, of_own_table, NULL) == 0, "pthread_create");
	pthread_barrier_wait(&made);
	pthread_barrier_wait(&go);
	write_n(number, 4, SIZE);
	must(pthread_join(thread, NULL) == 0, "pthread_join");
	return arg;
}

/* Has the main thread's errno and stack guard, so nothing here may fail or return to libc. */
static int cloned(void *arg)
{
	static const char block[SIZE];

	(void)arg;
	if (syscall(SYS_dup2, other, number) == number)
		for (int i = 0; i < 5; i++)
			syscall(SYS_write, number, block, SIZE);
	__atomic_store_n(&cloned_ended, true, __ATOMIC_RELEASE);
	syscall(SYS_exit, 0);
	return 0;
}

static int child(void *arg)
{
	(void)arg;
	childs = create("child");
	write_n(childs, 2, SIZE);
	_exit(0);
}

static void *new_stack(void)
{
	char *stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	must(stack != MAP_FAILED, "mmap");
	return stack + STACK;
}

int main(int argc, char **argv)
{
	pthread_t thread;
	int status;
	pid_t pid;

	must(argc >= 2, "usage: fd_tables DIR [wait]");
	dir = argv[1];
	number = create("main");
	other = create("cloned");
	pthread_barrier_init(&made, NULL, 3);
	pthread_barrier_init(&go, NULL, 3);
	must(pthread_create(&thread, NULL, unsharing, NULL) == 0, "pthread_create");
	pthread_barrier_wait(&made);
	if (argc > 2)
		must(puts("ready") >= 0 && fflush(stdout) == 0, "puts");
	while (argc > 2 && access(IN_DIR(dir, "go"), F_OK))
		usleep(10000);
	pthread_barrier_wait(&go);
	write_n(number, 11, SIZE);
	must(pthread_join(thread, NULL) == 0, "pthread_join");
	must(clone(cloned, new_stack(), CLONE_VM | CLONE_FS | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM, NULL) > 0, "clone");
	while (!__atomic_load_n(&cloned_ended, __ATOMIC_ACQUIRE))
		usleep(1000);
	pid = clone(child, new_stack(), CLONE_VM | CLONE_FILES | SIGCHLD, NULL);
	must(pid > 0 && waitpid(pid, &status, 0) == pid && status == 0, "clone of a process");
	write_n(childs, 6, SIZE);
	return 0;
}
