/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * N writes of 8 bytes, each from a random chain of up to 18 calls: random_chains FILE SEED N. The functions' frames are of all
 * kinds that compilers make: fixed, of varying size, realigned, with and without frame pointer, with arguments on the stack.
 * Descriptor 9 is FILE's.
 */
#include <alloca.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FD 9
#define MAX_DEPTH 18
#define KEEP __attribute__((noinline, noclone))
#define FRAME_POINTER __attribute__((noinline, noclone, optimize("no-omit-frame-pointer")))

struct chain { unsigned n, at; uint64_t random, number; };
typedef void link_function(struct chain *);

static link_function plain, large, varying, from_alloca, aligned, aligned_varying, with_frame_pointer, pointer_and_aligned, busy,
	through_stack, two_places, early;
static link_function *const links[] = {
	plain, large,         varying,    from_alloca, aligned, aligned_varying, with_frame_pointer, pointer_and_aligned,
	busy,  through_stack, two_places, early
};

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static void put(const struct chain *c)
{
	if (write(FD, &c->number, sizeof(c->number)) != sizeof(c->number))
		_exit(3);
}

KEEP static void leaf(struct chain *c)
{
	volatile char room[24];

	room[0] = c->n;
	if (c->random & 1)
		put(c);
	else
		put(c);
	room[1] = room[0];
}

/* One further call; the memory clobber keeps what comes after it after it. */
#define GO_ON(c) do { \
	if ((c)->at++ == (c)->n) \
		leaf(c); \
	else \
		links[next_random(&(c)->random) % (sizeof(links) / sizeof(links[0]))](c); \
	__asm__ volatile("" : : : "memory"); \
} while (0)

KEEP static void plain(struct chain *c)
{
	GO_ON(c);
}

KEEP static void large(struct chain *c)
{
	volatile char room[700];

	room[c->n] = 1;
	GO_ON(c);
	room[0] = room[c->n];
}

KEEP static void varying(struct chain *c)
{
	unsigned n = 8 + c->random % 300;
	volatile char room[n];

	room[n - 1] = 1;
	GO_ON(c);
	room[0] = room[n - 1];
}

KEEP static void from_alloca(struct chain *c)
{
	volatile char *room = alloca(16 + c->random % 200);

	room[0] = 1;
	GO_ON(c);
	room[1] = room[0];
}

KEEP static void aligned(struct chain *c)
{
	volatile int room[16] __attribute__((aligned(64)));

	room[c->n % 16] = 1;
	GO_ON(c);
	__asm__ volatile("" : : "r"(room) : "memory");
}

KEEP static void aligned_varying(struct chain *c)
{
	volatile int room[16] __attribute__((aligned(128)));
	unsigned n = 8 + c->random % 100;
	volatile char more[n];

	room[c->n % 16] = more[0] = 1;
	GO_ON(c);
	__asm__ volatile("" : : "r"(room), "r"(more) : "memory");
}

FRAME_POINTER static void with_frame_pointer(struct chain *c)
{
	volatile char room[40];

	room[0] = 1;
	GO_ON(c);
	room[1] = room[0];
}

FRAME_POINTER static void pointer_and_aligned(struct chain *c)
{
	volatile int room[8] __attribute__((aligned(32)));

	room[c->n % 8] = 1;
	GO_ON(c);
	__asm__ volatile("" : : "r"(room) : "memory");
}

/* Keeps all callee-saved registers busy, rbp as an ordinary one. */
KEEP static void busy(struct chain *c)
{
	uint64_t a = c->random, b = a * 3, d = a * 5, e = a * 7, f = a * 11, g = a * 13;

	__asm__ volatile("" : "+r"(a), "+r"(b), "+r"(d), "+r"(e), "+r"(f), "+r"(g));
	GO_ON(c);
	__asm__ volatile("" : : "r"(a), "r"(b), "r"(d), "r"(e), "r"(f), "r"(g));
}

KEEP static void with_ten(struct chain *c, long a, long b, long d, long e, long f, long g, long h, long i, long j)
{
	volatile long sum = a + b + d + e + f + g + h + i + j;

	GO_ON(c);
	sum++;
}

KEEP static void through_stack(struct chain *c)
{
	long n = c->n;

	with_ten(c, n, n, n, n, n, n, n + 1, n + 2, n + 3);
	__asm__ volatile("" : : : "memory");
}

KEEP static void two_places(struct chain *c)
{
	if (c->random & 2)
		GO_ON(c);
	else
		GO_ON(c);
}

/* The frame is made on one of two ways only. */
KEEP static void early(struct chain *c)
{
	if (c->random & 4) {
		volatile char room[120];

		room[c->n] = 1;
		GO_ON(c);
		room[0] = room[c->n];
	} else {
		GO_ON(c);
	}
}

int main(int argc, char **argv)
{
	uint64_t random = argc > 3 ? 88172645463325252ull + strtoull(argv[2], NULL, 10) : 1,
		 n = argc > 3 ? strtoull(argv[3], NULL, 10) : 0;
	int fd = argc > 3 ? open(argv[1], O_WRONLY | O_CREAT | O_TRUNC, 0644) : -1;

	if (fd < 0 || dup2(fd, FD) != FD)
		return 2;
	for (uint64_t i = 0; i < n; i++) {
		struct chain c = { .n = next_random(&random) % MAX_DEPTH,
				   .random = next_random(&random) | 1ull << 63,
				   .number = i };

		GO_ON(&c);
	}
	return 0;
}
