/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Frames of Python code above a call. The machine code of all of them is the interpreter's loop, so they come from the
 * interpreter's own chain of frames, and are a site of their own; a node for the pair of both sites stands for the call, and the
 * reader puts the chains together. DESIGN.md, "Call sites".
 */
#ifndef IOPROBE_BPF_PYTHON_H
#define IOPROBE_BPF_PYTHON_H

#include "sites.bpf.h"

/* The kernel allows eight functions deep: of those below, add_python_frames to send_code_piece take six. */

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, u32);               /* an image */
	__type(value, struct iop_python);
} site_pythons SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct iop_python_code_key);
	__type(value, u32);
} site_codes SEC(".maps");

__u32 python_images;    /* set by the agent: there are some in site_pythons */
__u32 last_code;

#define MAX_CODE_PIECE 4096
#define MAX_CODE_PIECES 16

static __always_inline u64 read_word(u64 at)
{
	u64 value = 0;

	bpf_probe_read_user(&value, sizeof(value), (void *)at);
	return value;
}

/* The frames of Python code of a call, innermost first. */
struct python_frame { u64 code, instruction; bool entry; };
struct python_walk {
	u64 thread;             /* of the interpreter's, as it was found last */
	u64 next;               /* the frame that is to be read */
	u32 n;
	u32 image;              /* of the process, while node keys have a code object's number */
	struct python_frame frames[IOP_PYTHON_MAX_FRAMES];
};

/* Of threads that run Python code, apart from struct thread, which would be too large. */
struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct python_walk);
} python_walks SEC(".maps");

static __always_inline struct python_walk *python_walk_here(u64 flags)
{
	return bpf_task_storage_get(&python_walks, bpf_get_current_task_btf(), 0, flags);
}

static __always_inline struct python_frame *python_frame_at(struct python_walk *w, u32 i)
{
	asm volatile("" : "+r"(i));
	return &w->frames[i & (IOP_PYTHON_MAX_FRAMES - 1)];
}

/* ---- the thread's state in the interpreter ---- */

/* The identity that the interpreter gives its threads is pthread_self(): the base of the FS segment. */
static __always_inline bool is_own_state(const struct iop_python *py, u64 state, u64 self)
{
	return state && read_word(state + py->thread_id) == self;
}

struct python_search { const struct iop_python *py; u64 interpreter, state, self; bool over; };

/* Ends the loop when the search is over: state is 0 if no thread of the interpreter is this one. */
static long python_thread_step(u32 i, void *data)
{
	struct python_search *search = data;
	const struct iop_python *py = search->py;

	(void)i;
	if (!search->state) {
		if (!search->interpreter)
			return search->over = true;
		search->state = read_word(search->interpreter + py->interpreter_threads);
		search->interpreter = read_word(search->interpreter + py->interpreter_next);
		return 0;
	}
	if (is_own_state(py, search->state, search->self))
		return search->over = true;
	search->state = read_word(search->state + py->thread_next);
	return 0;
}

/* Where the newest frame is. A state that was freed can look as it did, but leads to no frame: then it is searched anew. */
static __always_inline u64 frame_of_state(const struct iop_python *py, u64 state)
{
	u64 frame = read_word(state + py->thread_frame);

	return frame && py->holder_frame != IOP_PYTHON_DIRECT ? read_word(frame + py->holder_frame) : frame;
}

/* The newest frame of Python code that this thread runs, 0: none. */
__noinline u64 newest_python_frame(const struct iop_python *py)
{
	struct python_walk *w = python_walk_here(0);
	struct python_search search = { .py = py };
	u64 frame;

	if (!w || !py)
		return 0;
	search.self = BPF_CORE_READ(bpf_get_current_task_btf(), thread.fsbase);
	if (is_own_state(py, w->thread, search.self)) {
		frame = frame_of_state(py, w->thread);
		if (frame)
			return frame;
	}
	search.interpreter = read_word(py->runtime + py->interpreters);
	bpf_loop(IOP_PYTHON_MAX_THREADS, python_thread_step, &search, 0);
	if (!search.over)
		COUNT_SITE(no_python);
	w->thread = search.over ? search.state : 0;
	return w->thread ? frame_of_state(py, w->thread) : 0;
}

/* ---- code objects ---- */

/* One piece from `at` on, into the thread's room and from there to the ring. Returns the units that were sent, 0: none. */
__noinline u32 send_code_piece(struct thread *t, u64 data, u32 at)
{
	struct iop_rec_python_code *rec;
	u64 n, room = MAX_CODE_PIECE;

	if (!t)
		return 0;
	rec = (void *)t->scratch;
	n = rec->total - at;
	if (at >= rec->total)
		return 0;
	if (rec->kind == 2)
		n *= 2;
	else if (rec->kind == 4)
		n *= 4;
	if (n > room)
		n = room;
	asm volatile("" : "+r"(n));
	if (n > MAX_CODE_PIECE)
		return 0;
	if (bpf_probe_read_user(t->scratch + sizeof(*rec), n, (void *)(data + (u64)at * rec->kind)))
		return 0;
	rec->at = at;
	rec->len = n;
	rec_header(&rec->rec, t, IOP_REC_PYTHON_CODE, 0, (sizeof(*rec) + n + 7) & ~7ull,
		   t->up.now ? t->up.now : bpf_ktime_get_ns());
	send_record(t, rec, (sizeof(*rec) + n + 7) & 0x1ff8, false);
	return rec->kind == 2 ? n / 2 : rec->kind == 4 ? n / 4 : n;
}

/* All of a text or table whose number of units is in the record. */
__noinline int send_code_pieces(struct thread *t, u64 data)
{
	u32 at = 0, n = 1;

	for (u32 i = 0; i < MAX_CODE_PIECES && n; i++) {
		n = send_code_piece(t, data, at);
		at += n;
	}
	return 0;
}

static __always_inline struct iop_rec_python_code *begin_code_record(struct thread *t, u32 id, u32 first_line, u8 piece)
{
	struct iop_rec_python_code *rec = (void *)t->scratch;

	rec->id = id;
	rec->first_line = first_line;
	rec->piece = piece;
	rec->kind = 1;
	rec->total = 0;
	rec->pad = 0;
	return rec;
}

/* PEP 393: bits 2 to 4 of the state are the bytes of a character, bit 5 that the characters follow the object, bit 6 that all are
 * ASCII. */
__noinline int send_code_text(struct thread *t, const struct iop_python *py, u32 id, u64 string, u8 piece)
{
	struct iop_rec_python_code *rec;
	u32 state = 0;

	if (!t || !py)
		return 0;
	bpf_probe_read_user(&state, sizeof(state), (void *)(string + py->string_state));
	if (!(state & 32))
		return 0;
	rec = begin_code_record(t, id, 0, piece);
	bpf_probe_read_user(&rec->total, sizeof(rec->total), (void *)(string + py->string_length));
	rec->kind = state >> 2 & 7;
	if (rec->kind != 1 && rec->kind != 2 && rec->kind != 4)
		return 0;
	return send_code_pieces(t, string + (state & 64 ? py->string_ascii : py->string_wide));
}

__noinline int send_code_lines(struct thread *t, const struct iop_python *py, u32 id, const struct iop_python_code_key *key)
{
	struct iop_rec_python_code *rec;

	if (!t || !py || !key)
		return 0;
	rec = begin_code_record(t, id, key->first_line, IOP_PYTHON_LINES);
	bpf_probe_read_user(&rec->total, sizeof(rec->total), (void *)(key->lines + py->bytes_length));
	return send_code_pieces(t, key->lines + py->bytes_data);
}

static __always_inline u32 new_code(void)
{
	u32 id = last_code < IOP_SITE_MAX_CODE_ID ? __sync_fetch_and_add(&last_code, 1) + 1 : 0;

	return id <= IOP_SITE_MAX_CODE_ID ? id : 0;
}

/* Whether the members of a code object could be read. */
__noinline bool read_code_key(struct thread *t, const struct iop_python *py, u64 code, struct iop_python_code_key *key)
{
	struct python_walk *w = python_walk_here(0);
	u32 line, file, name, lines;

	if (!t || !w || !py || !key)
		return false;
	if (bpf_probe_read_user(t->scratch, IOP_PYTHON_WINDOW, (void *)(code + py->code)))
		return false;
	line = py->code_first_line & 127;
	file = py->code_file & 127;
	name = py->code_name & 127;
	lines = py->code_lines & 127;
	key->code = code;
	key->file = *(u64 *)(t->scratch + file);
	key->name = *(u64 *)(t->scratch + name);
	key->lines = *(u64 *)(t->scratch + lines);
	key->first_line = *(u32 *)(t->scratch + line);
	key->image = w->image;
	return true;
}

/* The number of a frame's code object; what it consists of is sent when it is met first. 0: it could not be read, or there is no
 * room. */
static __always_inline u32 code_number(struct thread *t, const struct iop_python *py, u64 code)
{
	struct iop_python_code_key key = { 0 };
	u32 *known, id;

	if (!read_code_key(t, py, code, &key))
		return 0;
	known = bpf_map_lookup_elem(&site_codes, &key);
	if (known)
		return *known;
	id = new_code();
	if (!id)
		return 0;
	if (bpf_map_update_elem(&site_codes, &key, &id, BPF_NOEXIST)) {
		known = bpf_map_lookup_elem(&site_codes, &key);         /* another thread was faster */
		return known ? *known : 0;
	}
	send_code_text(t, py, id, key.file, IOP_PYTHON_FILE);
	send_code_text(t, py, id, key.name, IOP_PYTHON_NAME);
	send_code_lines(t, py, id, &key);
	return id;
}

/* ---- frames ---- */

struct python_frames { struct thread *t; const struct iop_python *py; u32 flags; int end; };

/* Reads one frame. Returns 1 at the end of the chain, -1 where it cannot be read. */
__noinline int read_python_frame(struct thread *t, const struct iop_python *py)
{
	struct python_walk *w = python_walk_here(0);
	u32 code, previous, instruction, entry;
	struct python_frame *frame;
	bool is_entry;

	if (!t || !w || !py)
		return -1;
	if (!w->next)
		return 1;
	if (bpf_probe_read_user(t->scratch, IOP_PYTHON_WINDOW, (void *)w->next))
		return -1;
	code = py->frame_code & 127;
	previous = py->frame_previous & 127;
	instruction = py->frame_instruction & 127;
	entry = py->frame_entry & 127;
	w->next = *(u64 *)(t->scratch + previous);
	is_entry = t->scratch[entry] == py->entry_value;
	if (py->entry_is_marker && is_entry) {
		if (w->n)
			python_frame_at(w, w->n - 1)->entry = true;
		return 0;
	}
	frame = python_frame_at(w, w->n++);
	frame->code = *(u64 *)(t->scratch + code);
	frame->instruction = *(u64 *)(t->scratch + instruction);
	frame->entry = is_entry;
	return w->n == IOP_PYTHON_MAX_FRAMES;
}

/* The node of a frame below the one that called it. Returns false if there is no room, or its code cannot be read. */
static __always_inline bool add_python_node(struct thread *t, const struct iop_python *py, u32 i, u32 flags)
{
	struct python_walk *w = python_walk_here(0);
	struct python_frame *frame;
	u32 code;

	if (!t || !w || !py)
		return false;
	frame = python_frame_at(w, i);
	code = code_number(t, py, frame->code);
	if (!code)
		return false;
	flags |= IOP_SITE_PYTHON | (frame->entry ? IOP_SITE_ENTRY : 0);
	t->up.image = code | IOP_PYTHON_IMAGE;
	t->up.pc = ((frame->instruction - frame->code - py->code_instructions) & IOP_PYTHON_OFFSET) |
		   (u64)flags << IOP_PYTHON_FLAGS_SHIFT;
	t->up.node = site_node(t, flags);
	return t->up.node != 0;
}

static long python_frame_step(u32 i, void *data)
{
	struct python_frames *frames = data;

	(void)i;
	frames->end = read_python_frame(frames->t, frames->py);
	return frames->end != 0;
}

static long python_node_step(u32 i, void *data)
{
	struct python_frames *frames = data;
	struct python_walk *w = python_walk_here(0);

	if (!w || i >= w->n)
		return 1;
	if (!add_python_node(frames->t, frames->py, w->n - 1 - i, frames->flags)) {
		frames->end = -1;
		return 1;
	}
	frames->flags = 0;
	return 0;
}

/* Walks the frames of Python code. Returns the innermost one's node, 0: none. Nodes are made from the outermost frame inwards:
 * calls from a deep place, as an import is, share what is above it. */
static __always_inline u32 find_python_site(struct thread *t, const struct iop_python *py)
{
	struct python_walk *w = python_walk_here(BPF_LOCAL_STORAGE_GET_F_CREATE);
	struct python_frames frames = { .t = t, .py = py, .flags = IOP_SITE_TRUNCATED };

	if (!w) {
		COUNT_SITE(no_python);
		return 0;
	}
	w->image = t->up.image;
	w->n = 0;
	w->next = newest_python_frame(py);
	bpf_loop(2 * IOP_PYTHON_MAX_FRAMES, python_frame_step, &frames, 0);     /* with markers */
	if (frames.end > 0 && !w->next)
		frames.flags = IOP_SITE_WHOLE;
	t->up.node = 0;
	if (frames.end >= 0)
		bpf_loop(IOP_PYTHON_MAX_FRAMES, python_node_step, &frames, 0);
	if (frames.end < 0)
		COUNT_SITE(no_python);
	return frames.end < 0 ? 0 : t->up.node;
}

/* Of a call whose number only it has: no other one will look for it. */
static __always_inline u32 pair_of_call(struct thread *t)
{
	u32 id = new_site_id();

	if (id)
		send_site(t, id, IOP_SITE_PAIR);
	return id;
}

/* The site of a call whose frames of machine code are those of `site`, with its frames of Python code. */
__noinline u32 add_python_frames(struct thread *t, u32 site)
{
	struct iop_python *py;
	u32 image, python, pair;

	if (!t)
		return site;
	image = t->up.image;
	py = bpf_map_lookup_elem(&site_pythons, &image);
	if (!py)
		return site;
	python = find_python_site(t, py);
	if (!python)
		return site;
	t->up.node = site;
	t->up.image = IOP_PYTHON_PAIR;
	t->up.pc = python;
	pair = t->up.call ? pair_of_call(t) : site_node(t, IOP_SITE_PAIR);
	if (!pair)
		COUNT_SITE(full);
	return pair ? pair : site;
}

#endif
