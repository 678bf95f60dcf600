/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * coroutines_bare [DIR]: a stack switch that no symbol reveals. The main thread, then a second one, makes 6 nest_calls on its own
 * stack; inside of each it switches to a coroutine on the heap, which is in a nest_call of its own and switches back from there: on
 * each thread 6 nest_calls of the coroutine's overlap those 6, and 1 more of the thread's own comes after. All return: 26
 * nest_calls, 14 of them on the threads' own stacks. With DIR both threads wait for DIR/go after making DIR/ready. Exit status 47.
 */
#include "golden.h"
#include "nest.h"

#include <fcntl.h>
#include <pthread.h>

#define CALLS 6
#define STACK 65536

void switch_stack(void **from, void *to);
__asm__(".globl switch_stack\n"
	"switch_stack:\n"
	"	push %rbp\n	push %rbx\n	push %r12\n	push %r13\n	push %r14\n	push %r15\n"
	"	mov %rsp, (%rdi)\n"
	"	mov %rsi, %rsp\n"
	"	pop %r15\n	pop %r14\n	pop %r13\n	pop %r12\n	pop %rbx\n	pop %rbp\n"
	"	ret\n");

struct pair { void *home, *coroutine; int results; };

static _Thread_local struct pair pair;
static const char *dir;
static int total;

static int back_home(void *arg)
{
	switch_stack(&pair.coroutine, pair.home);
	return *(int *)arg;
}

static int to_coroutine(void *arg)
{
	switch_stack(&pair.home, pair.coroutine);
	return *(int *)arg;
}

static int plain(void *arg)
{
	return *(int *)arg;
}

static void coroutine(void)
{
	for (int i = 0; i < CALLS; i++)
		pair.results += nest_call(back_home, &i) == i;
	back_home(&(int){ 0 });
	die("a coroutine came back");
}

static void run(void)
{
	char *stack = malloc(STACK);
	void **top = (void **)(((unsigned long)stack + STACK) & ~15ul);

	*--top = NULL;
	*--top = (void *)coroutine;
	pair.coroutine = top - 6;       /* the registers that are restored */
	for (int i = 0; i < CALLS; i++)
		pair.results += nest_call(to_coroutine, &i) == i;
	to_coroutine(&(int){ 0 });      /* the last of the coroutine's returns */
	pair.results += nest_call(plain, &(int){ 9 }) == 9;
	__atomic_add_fetch(&total, pair.results, __ATOMIC_SEQ_CST);
}

static void *second(void *arg)
{
	while (dir && access(IN_DIR(dir, "go"), F_OK))
		usleep(20000);
	run();
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t thread;
	int ready;

	dir = argc > 1 ? argv[1] : NULL;
	must(!pthread_create(&thread, NULL, second, NULL), "pthread_create");
	if (dir) {
		ready = open(IN_DIR(dir, "ready"), O_WRONLY | O_CREAT, 0644);
		must(ready >= 0 && !close(ready), "ready");
	}
	while (dir && access(IN_DIR(dir, "go"), F_OK))
		usleep(20000);
	run();
	must(!pthread_join(thread, NULL), "pthread_join");
	dprintf(1, "%d nest_calls\n", total);
	return 47;
}
