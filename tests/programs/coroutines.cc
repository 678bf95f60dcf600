/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * coroutines_boost: two Boost.Context fibers and the thread itself. Each fiber makes 20 numbered fwrites on an unbuffered cookie
 * stream; the callback below switches to the next fiber, so that calls return in the order in which they began. Every fifth
 * callback of the first fiber throws below nest_call, which is caught inside of the callback; at last the second fiber is thrown
 * away while its 20th fwrite is open: the stack is unwound by forced_unwind. 40 fwrite, 4 nest_call; exit status 45.
 */
#include "nest.h"

#include <boost/context/fiber.hpp>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <string>
#include <utility>

namespace ctx = boost::context;

struct Side {
	char mark;
	ctx::fiber back;        /* where this fiber goes on switching */
	FILE *stream;
	int begun, returned, caught, callbacks;
};

static Side sides[2] = { { 'a', {}, nullptr, 0, 0, 0, 0 }, { 'b', {}, nullptr, 0, 0, 0, 0 } };
static bool unwound;

struct Witness {
	~Witness() { unwound = true; }
};

static int thrower(void *)
{
	throw std::runtime_error("below nest_call");
}

static ssize_t callback(void *cookie, const char *, size_t len)
{
	Side *side = static_cast<Side *>(cookie);

	if (side->mark == 'a' && ++side->callbacks % 5 == 0) {
		try {
			nest_call(thrower, nullptr);
		} catch (const std::exception &) {
			side->caught++;
		}
	}
	side->back = std::move(side->back).resume();
	return static_cast<ssize_t>(len);
}

static ctx::fiber body(Side *side, ctx::fiber &&from)
{
	Witness witness;

	side->back = std::move(from);
	for (int i = 0; i < 20; i++) {
		std::string text = side->mark + std::to_string(i) + "\n";

		side->begun++;
		if (fwrite(text.data(), 1, text.size(), side->stream) == text.size())
			side->returned++;
	}
	return std::move(side->back);
}

int main()
{
	cookie_io_functions_t functions = {};
	ctx::fiber fibers[2];

	functions.write = callback;
	for (int i = 0; i < 2; i++) {
		Side *side = &sides[i];

		side->stream = fopencookie(side, "w", functions);
		setvbuf(side->stream, nullptr, _IONBF, 0);
		fibers[i] = ctx::fiber([side](ctx::fiber &&from) { return body(side, std::move(from)); });
	}
	for (int round = 0; round < 20; round++)
		for (ctx::fiber &fiber : fibers)
			fiber = std::move(fiber).resume();
	fibers[0] = std::move(fibers[0]).resume();      /* the 20th returns; the second one's does not */
	unwound = false;
	fibers[1] = ctx::fiber();
	dprintf(1, "begun %d %d, returned %d %d, caught %d, unwound %d\n", sides[0].begun, sides[1].begun, sides[0].returned,
		sides[1].returned, sides[0].caught, unwound);
	_Exit(45);      /* the second stream is locked for ever */
}
