/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * exceptions: C++ exceptions through probed calls (nest_call). 8 cases, each printed with its destructors; 13 nest_call calls, of
 * which 10 are left by an exception and 3 return. What matters: same output and exit status (42) with and without observation.
 */
#include "nest.h"

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <pthread.h>
#include <stdexcept>
#include <string>

struct Witness {
	const char *name;
	explicit Witness(const char *n) : name(n) {}
	~Witness() { std::printf("  ~%s\n", name); }
};

static int thrower(void *what)
{
	Witness w("thrower");
	throw std::runtime_error(static_cast<const char *>(what));
}

static int through_one_more(void *what)
{
	Witness w("one more");
	return nest_call(thrower, what);
}

static int through_two_more(void *what)
{
	Witness w("two more");
	return nest_call(through_one_more, what);
}

/* Caught between two probed frames: the outer one returns. */
static int catcher(void *what)
{
	try {
		nest_call(thrower, what);
	} catch (const std::exception &e) {
		std::printf("  caught inside: %s\n", e.what());
	}
	return 1;
}

static int rethrower(void *what)
{
	try {
		return nest_call(thrower, what);
	} catch (...) {
		std::printf("  rethrown\n");
		throw;
	}
}

static int plain(void *)
{
	return 7;
}

static void run(const char *name, int (*fn)(void *))
{
	std::printf("%s\n", name);
	try {
		Witness w("run");
		std::printf("  result %d\n", nest_call(fn, const_cast<char *>(name)));
	} catch (const std::exception &e) {
		std::printf("  caught: %s\n", e.what());
	}
}

static void *run_in_thread(void *)
{
	run("in a thread", thrower);
	return nullptr;
}

static void run_pointer()
{
	std::exception_ptr kept;

	std::printf("kept and thrown again\n");
	try {
		nest_call(thrower, const_cast<char *>("kept"));
	} catch (...) {
		kept = std::current_exception();
	}
	try {
		std::rethrow_exception(kept);
	} catch (const std::exception &e) {
		std::printf("  caught: %s\n", e.what());
	}
}

int main()
{
	pthread_t thread;

	setvbuf(stdout, nullptr, _IOLBF, 0);
	run("one frame", thrower);                      /* 1 left */
	run("three frames", through_two_more);          /* 3 left */
	run("caught between", catcher);                 /* 1 left, 1 returns */
	run("rethrown", rethrower);                     /* 2 left */
	if (pthread_create(&thread, nullptr, run_in_thread, nullptr) != 0)
		return 3;
	pthread_join(thread, nullptr);                  /* 1 left */
	run_pointer();                                  /* 1 left */
	run("no exception", plain);                     /* 1 returns */
	run("again", catcher);                          /* 1 left, 1 returns */
	return 42;
}
