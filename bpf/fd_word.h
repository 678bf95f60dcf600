/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The word of a descriptor (fd_epochs.bpf.h): running calls, running changes, calls that ended during a change, epoch. A
 * unit test compiles it, too, with FD_WORD_SWAP and FD_WORD_FUNCTION of its own.
 */
#ifndef IOPROBE_BPF_FD_WORD_H
#define IOPROBE_BPF_FD_WORD_H

#ifndef FD_WORD_SWAP
#define FD_WORD_SWAP __sync_val_compare_and_swap
#endif
#ifndef FD_WORD_FUNCTION
#define FD_WORD_FUNCTION __noinline
#endif
#define WORD_TRIES 64           /* to change a word that other CPUs are changing, before a part of it is given up */
#define CHANGING_ONE (1ull << 16)
#define ENDED_ONE (1ull << 24)
#define EPOCH_ONE (1ull << 44)
#define RUNNING(word) ((u32)(word) & 0xffff)
#define CHANGING(word) ((u32)((word) >> 16) & 0xff)
#define ENDED(word) ((u32)((word) >> 24) & 0xfffff)
#define EPOCH(word) ((u32)((word) >> 44))       /* modulo IOP_EPOCHS */

/* was: the word before. counted: the running change, which is of that call's file, counts the call. undecided: it could not be
 * counted, so the call may be recorded after the change. */
struct fd_word_left { u64 was, counted, undecided; };

/* Returns whether the word was changed. A function of its own: the verifier checks it once and not for every try. */
FD_WORD_FUNCTION bool fd_word_try_leave(u64 *word, u32 own, struct fd_word_left *left)
{
	bool old;
	u64 was;

	if (!word || !left)
		return true;
	was = *(volatile u64 *)word;
	old = CHANGING(was) && !((own ^ EPOCH(was)) & (IOP_EPOCHS - 1));
	left->was = was;
	left->counted = old && ENDED(was) < IOP_EPOCHS - 1;
	left->undecided = old && !left->counted;
	return FD_WORD_SWAP(word, was, was - 1 + (left->counted ? ENDED_ONE : 0)) == was;
}

/* Takes a call off the word. own: the epoch of the file that it is on. */
static __always_inline void fd_word_leave(u64 *word, u32 own, struct fd_word_left *left)
{
	for (u32 i = 0; i < WORD_TRIES; i++)
		if (fd_word_try_leave(word, own, left))
			return;
	left->counted = 0;
	left->was = __sync_fetch_and_add(word, -1);
	left->undecided = CHANGING(left->was);
}

/* Ends a change that was made. Returns the word before. *undecided: calls that end now may count for the next change. */
static __always_inline u64 fd_word_advance(u64 *word, bool *undecided)
{
	u64 was;

	*undecided = false;
	for (u32 i = 0; i < WORD_TRIES; i++) {
		was = *(volatile u64 *)word;
		if (FD_WORD_SWAP(word, was, was + EPOCH_ONE - CHANGING_ONE - ENDED(was) * ENDED_ONE) == was)
			return was;
	}
	was = __sync_fetch_and_add(word, EPOCH_ONE - CHANGING_ONE);
	__sync_fetch_and_add(word, -(ENDED(was) * ENDED_ONE));
	*undecided = true;
	return was;
}

#endif
