/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Writes from two fibers of Boost.Context that take turns after each write: 4 times 50 by each, from functions of their own.
 */
#include <boost/context/fiber.hpp>
#include <fcntl.h>
#include <unistd.h>

namespace ctx = boost::context;

static int fd;

__attribute__((noinline)) static void put(int i)
{
	if (write(fd, &i, sizeof(i)) != sizeof(i))      /* @write */
		_exit(3);
}

__attribute__((noinline)) static void produce(int i)
{
	put(i);                                         /* @produce */
	__asm__ volatile("");
}

__attribute__((noinline)) static void consume(int i)
{
	put(i + 1);                                     /* @consume */
	__asm__ volatile("");
}

template <class Function> static ctx::fiber made_of(Function function)
{
	return ctx::fiber([function](ctx::fiber &&main) {
		for (int i = 0; i < 200; i++) {
			function(i);                            /* @run */
			main = std::move(main).resume();
		}
		return std::move(main);
	});
}

int main(int argc, char **argv)
{
	fd = argc > 1 ? open(argv[1], O_WRONLY | O_CREAT | O_TRUNC, 0644) : -1;
	ctx::fiber producer = made_of([](int i) { produce(i); /* @producer */ __asm__ volatile(""); });
	ctx::fiber consumer = made_of([](int i) { consume(i); /* @consumer */ __asm__ volatile(""); });
	for (int i = 0; i < 201; i++) {
		if (i % 50 == 0)
			usleep(150000);         /* in which the recorder learns where the code is */
		producer = std::move(producer).resume();
		consumer = std::move(consumer).resume();
	}
	return producer || consumer;
}
