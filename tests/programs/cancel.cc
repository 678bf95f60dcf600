/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * cancel: threads cancelled in a blocked read, in a blocked fread, and in a blocked read under a probed call (nest_call), and one
 * that ends by pthread_exit under nest_call. Clean-up handlers and destructors print; exit status 43. 2 nest_call calls, both left.
 */
#include "nest.h"

#include <cstdio>
#include <pthread.h>
#include <semaphore.h>
#include <unistd.h>

struct Witness {
	const char *name;
	explicit Witness(const char *n) : name(n) {}
	~Witness() { std::printf("  ~%s\n", name); }
};

static int pipe_ends[2];

static void cleanup(void *name)
{
	std::printf("  cleanup of %s\n", static_cast<const char *>(name));
}

static int block_in_read(void *)
{
	Witness w("read");
	char c;

	return static_cast<int>(read(pipe_ends[0], &c, 1));
}

static int block_in_fread(void *)
{
	Witness w("fread");
	FILE *stream = fdopen(dup(pipe_ends[0]), "r");
	char c;

	return static_cast<int>(fread(&c, 1, 1, stream));
}

static int block_below_nest(void *)
{
	Witness w("nest_call");

	return nest_call(block_in_read, nullptr);
}

static int leave(void *)
{
	Witness w("leave");

	pthread_exit(nullptr);
}

static int leave_below_nest(void *)
{
	Witness w("nest_call");

	return nest_call(leave, nullptr);
}

struct Case { const char *name; int (*fn)(void *); bool cancel; };

static void *body(void *arg)
{
	const Case *c = static_cast<const Case *>(arg);
	Witness w("body");

	pthread_cleanup_push(cleanup, const_cast<char *>(c->name));
	c->fn(nullptr);
	pthread_cleanup_pop(0);
	std::printf("  not reached\n");
	return arg;
}

static int run(const Case &c)
{
	pthread_t thread;
	void *result = nullptr;

	std::printf("%s\n", c.name);
	if (pthread_create(&thread, nullptr, body, const_cast<Case *>(&c)) != 0)
		return 1;
	usleep(50000);  /* until it blocks */
	if (c.cancel && pthread_cancel(thread) != 0)
		return 1;
	if (pthread_join(thread, &result) != 0)
		return 1;
	std::printf("  result %s\n", result == PTHREAD_CANCELED ? "cancelled" : result ? "returned" : "exited");
	return 0;
}

int main()
{
	static const Case cases[] = {
		{ "read", block_in_read, true },
		{ "fread", block_in_fread, true },
		{ "read under nest_call", block_below_nest, true },
		{ "pthread_exit under nest_call", leave_below_nest, false },
	};

	setvbuf(stdout, nullptr, _IOLBF, 0);
	if (pipe(pipe_ends) != 0)
		return 3;
	for (const Case &c : cases)
		if (run(c) != 0)
			return 3;
	return 43;
}
