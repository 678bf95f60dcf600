/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * coroutines KIND FILE: two ucontext coroutines, one makes 20 numbered fwrites and one 20 numbered fputs, both on unbuffered
 * cookie streams; the callback below each switches to the other coroutine before its write(2) to FILE. First the calls return in
 * the order in which they began, then each inside of the other. KIND says where the stacks are: "heap", "frame" (arrays of main, as
 * in makecontext(3)), "thread" (heap, from a second thread) or "main" (one coroutine is the thread itself). Exactly 20 fwrite, 20
 * fputs, 40 write to FILE; prints what it made, exit status 44.
 */
#include "golden.h"

#include <fcntl.h>
#include <pthread.h>
#include <ucontext.h>

#define CALLS 20
#define STACK 65536

struct side { ucontext_t context; FILE *stream; int begun, written; bool done; char mark; };

static struct side sides[2] = { { .mark = 'w' }, { .mark = 's' } };
static ucontext_t outside;
static int file, current;
static bool nested;             /* the second one's callback does not switch: its calls return inside of the first one's */
static char order[8 * CALLS];   /* what returned after what */

static void switch_to_other(void)
{
	int from = current, to = !from;

	if (sides[to].done)
		return;
	current = to;
	must(!swapcontext(&sides[from].context, &sides[to].context), "swapcontext");
}

static ssize_t callback(void *cookie, const char *data, size_t len)
{
	struct side *side = cookie;

	if (!nested || side == &sides[0])
		switch_to_other();
	must(write(file, data, len) == (ssize_t)len, "write");
	side->written++;
	return len;
}

static void call(struct side *side, int number)
{
	char text[32];
	int len = snprintf(text, sizeof(text), "%c%06d\n", side->mark, number);

	side->begun++;
	if (side->mark == 'w')
		must(fwrite(text, 1, len, side->stream) == (size_t)len, "fwrite");
	else
		must(fputs(text, side->stream) >= 0, "fputs");
	order[strlen(order)] = side->mark;
}

static void body(int which)
{
	struct side *side = &sides[which];

	for (int i = 0; i < CALLS; i++) {
		nested = i >= CALLS / 2;
		call(side, i);
		if (nested && which)
			switch_to_other();
	}
	side->done = true;
	if (!sides[!which].done)
		switch_to_other();
	setcontext(&outside);
}

static void make(int which, char *stack)
{
	ucontext_t *context = &sides[which].context;

	must(!getcontext(context), "getcontext");
	context->uc_stack.ss_sp = stack;
	context->uc_stack.ss_size = STACK;
	makecontext(context, (void (*)(void))body, 1, which);
}

static void run(char *first, char *second)
{
	volatile bool back = false;

	for (int i = 0; i < 2; i++) {
		sides[i].stream = fopencookie(&sides[i], "w", (cookie_io_functions_t){ .write = callback });
		must(sides[i].stream && !setvbuf(sides[i].stream, NULL, _IONBF, 0), "fopencookie");
	}
	make(1, second);
	must(!getcontext(&outside), "getcontext");
	if (!back) {
		back = true;
		if (first) {
			make(0, first);
			setcontext(&sides[0].context);
		}
		body(0);
	}
	for (int i = 0; i < 2; i++)
		must(!fclose(sides[i].stream), "fclose");
}

static void in_frame(void)
{
	char first[STACK], second[STACK];

	run(first, second);
}

static void *on_heap(void *arg)
{
	run(malloc(STACK), malloc(STACK));
	return arg;
}

int main(int argc, char **argv)
{
	const char *kind = argc > 1 ? argv[1] : "heap";
	pthread_t thread;

	file = open(argc > 2 ? argv[2] : "/dev/null", O_WRONLY | O_CREAT | O_TRUNC, 0644);
	must(file >= 0, "open");
	if (!strcmp(kind, "thread"))
		must(!pthread_create(&thread, NULL, on_heap, NULL) && !pthread_join(thread, NULL), "pthread_create");
	else if (!strcmp(kind, "frame"))
		in_frame();
	else if (!strcmp(kind, "main"))
		run(NULL, malloc(STACK));
	else
		on_heap(NULL);
	dprintf(1, "%s: begun %d %d, written %d %d, %s\n", kind, sides[0].begun, sides[1].begun, sides[0].written, sides[1].written,
		order);
	return 44;
}
