/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Writes from known lines: call_sites FILE MODE. Lines with a name behind @ are what tests/lib/call_sites.py looks for. A round is
 * 376 writes: 100 and 200 by write_field, 50 by with_vla, 25 by aligned, all from outer, and 1 by write_field from main. plain: 4
 * rounds. fork: as many in each of 4 children. exec: 4 rounds, then the same program again with plain. thread: 4 rounds in a thread
 * with a small stack. signal: 4 rounds in a signal handler on a stack of its own. unlink: 4 rounds after the program's file was
 * removed. dlopen A B: 10 writes by each of two libraries, one after the other, 5 times. coroutines: 4 rounds in each of two
 * coroutines, which take turns after each write. jit: 4 times 50 writes by machine code in anonymous memory, and 30 by a function
 * that such code calls. wait READY GO: 4 rounds when the file GO is there, after READY was made.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#define KEEP __attribute__((noinline, noclone))

static int fd;

/* ---- coroutines ---- */

static struct coroutine { ucontext_t context; bool done; } coroutines[2];
static ucontext_t outside;
static int running = -1;        /* -1: there are none */

KEEP void take_turns(void)
{
	int from = running, to = !from;

	if (coroutines[to].done)
		return;
	running = to;
	if (swapcontext(&coroutines[from].context, &coroutines[to].context))
		_exit(3);
}

/* ---- rounds ---- */

/* The recorder learns where code is while the program is there: not all programs end within a millisecond. */
static void pause_a_moment(void)
{
	usleep(150000);
}

static inline __attribute__((always_inline)) void put_one(int i)
{
	if (write(fd, &i, sizeof(i)) != sizeof(i))      /* @write */
		_exit(3);
	if (running >= 0)
		take_turns();
}

KEEP void write_field(int i)
{
	put_one(i);                                     /* @field */
	__asm__ volatile("");
}

/* Its frame has another size in each call. */
KEEP void with_vla(int n)
{
	volatile int a[n];

	for (int i = 0; i < n; i++)
		a[i] = i;
	put_one(n);                                     /* @vla */
	a[0] = a[n - 1];
}

/* Its frame begins where the stack was realigned. */
KEEP void aligned(int i)
{
	volatile int a[16] __attribute__((aligned(64)));

	a[i % 16] = i;
	write_field(i);                                 /* @aligned */
	__asm__ volatile("" : : "r"(a) : "memory");
}

KEEP void outer(void)
{
	for (int i = 0; i < 100; i++)
		write_field(i);                         /* @first */
	for (int i = 0; i < 200; i++)
		write_field(i);                         /* @second */
	for (int i = 0; i < 50; i++)
		with_vla(10 + 7 * i);                   /* @third */
	for (int i = 0; i < 25; i++)
		aligned(i);                             /* @fourth */
	__asm__ volatile("");
}

KEEP void a_round(void)
{
	outer();                                        /* @outer */
	write_field(0);                                 /* @once */
	__asm__ volatile("");
}

KEEP void rounds(void)
{
	for (int i = 0; i < 4; i++) {
		pause_a_moment();
		a_round();                              /* @round */
	}
}

/* ---- modes ---- */

static void *in_thread(void *arg)
{
	rounds();
	return arg;
}

static int run_thread(void)
{
	pthread_attr_t attributes;
	pthread_t thread;

	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, PTHREAD_STACK_MIN);
	return pthread_create(&thread, &attributes, in_thread, NULL) || pthread_join(thread, NULL);
}

static void on_signal(int number)
{
	(void)number;
	rounds();
	__asm__ volatile("");
}

static int run_signal(void)
{
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_ONSTACK };
	stack_t stack = { .ss_sp = malloc(65536), .ss_size = 65536 };

	return sigaltstack(&stack, NULL) || sigaction(SIGUSR1, &action, NULL) || raise(SIGUSR1);
}

static int run_children(void)
{
	int failed = 0, status;

	for (int i = 0; i < 4; i++)
		if (!fork()) {
			in_thread(NULL);
			pause_a_moment();
			_exit(0);
		}
	while (wait(&status) > 0)
		failed |= status;
	return failed;
}

KEEP void end_coroutine(void)
{
	coroutines[running].done = true;
	running = !running;
	setcontext(coroutines[running].done ? &outside : &coroutines[running].context);
}

KEEP void first_coroutine(void)
{
	rounds();
	end_coroutine();
}

KEEP void second_coroutine(void)
{
	rounds();
	end_coroutine();
}

static int run_coroutines(void)
{
	static void (*const bodies[])(void) = { first_coroutine, second_coroutine };

	for (int i = 0; i < 2; i++) {
		getcontext(&coroutines[i].context);
		coroutines[i].context.uc_stack.ss_sp = malloc(65536);
		coroutines[i].context.uc_stack.ss_size = 65536;
		makecontext(&coroutines[i].context, bodies[i], 0);
	}
	running = 0;
	swapcontext(&outside, &coroutines[0].context);
	running = -1;
	return !coroutines[0].done || !coroutines[1].done;
}

/* Called by the machine code. */
static void write_for_jit(int i)
{
	put_one(i);                                     /* @for_jit */
	__asm__ volatile("");
}

/* Machine code that calls a function with its own arguments: without a frame pointer and without unwind tables. */
typedef long (*jit_function)(long, const void *, long, void *function);

static jit_function make_code(void)
{
	static const unsigned char code[] = {
		0x48, 0x83, 0xec, 0x18,         /* sub $24, %rsp */
		0xff, 0xd1,                     /* call *%rcx */
		0x48, 0x83, 0xc4, 0x18,         /* add $24, %rsp */
		0xc3,                           /* ret */
	};
	void *at = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED)
		_exit(3);
	memcpy(at, code, sizeof(code));
	return mprotect(at, 4096, PROT_READ | PROT_EXEC) ? NULL : (jit_function)at;
}

static int run_jit(void)
{
	jit_function run = make_code();

	for (int i = 0; run && i < 4; i++) {
		pause_a_moment();
		for (int k = 0; k < 50; k++)
			if (run(fd, &k, sizeof(k), write) != sizeof(k))
				_exit(3);
		for (int k = 0; k < 30; k++)
			run(k, NULL, 0, write_for_jit);
	}
	return !run;
}

static int run_library(const char *path)
{
	void *library = dlopen(path, RTLD_NOW);
	void (*writes)(int) = library ? (void (*)(int))dlsym(library, "library_writes") : NULL;

	if (!writes)
		return 1;
	pause_a_moment();
	writes(fd);
	pause_a_moment();
	return dlclose(library);
}

static int run_libraries(char **paths)
{
	for (int i = 0; i < 5; i++)
		if (run_library(paths[0]) || run_library(paths[1]))
			return 1;
	return 0;
}

static void wait_for(const char *ready, const char *go)
{
	close(creat(ready, 0644));
	while (access(go, F_OK))
		pause_a_moment();
}

int main(int argc, char **argv)
{
	const char *mode = argc > 2 ? argv[2] : "";

	fd = argc > 2 ? open(argv[1], O_WRONLY | O_CREAT | O_APPEND, 0644) : -1;
	if (fd < 0)
		return 2;
	atexit(pause_a_moment);
	if (!strcmp(mode, "fork"))
		return run_children();
	if (!strcmp(mode, "thread"))
		return run_thread();
	if (!strcmp(mode, "signal"))
		return run_signal();
	if (!strcmp(mode, "dlopen"))
		return argc < 5 || run_libraries(argv + 3);
	if (!strcmp(mode, "coroutines"))
		return run_coroutines();
	if (!strcmp(mode, "jit"))
		return run_jit();
	if (!strcmp(mode, "wait") && argc > 4)
		wait_for(argv[3], argv[4]);
	if (!strcmp(mode, "unlink"))
		unlink(argv[0]);
	if (!strcmp(mode, "exec")) {
		rounds();                               /* @exec */
		pause_a_moment();
		execl(argv[0], argv[0], argv[1], "plain", NULL);
		return 4;
	}
	rounds();                                       /* @main */
	return 0;
}
