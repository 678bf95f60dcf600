/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * A file that all ranks of a launch open together is one handle, on however many nodes they are. What belongs together is told by
 * the communicator, the layer, the path, and the order of the opens, which is the same on all nodes; where the nodes did not see
 * equally many (one was attached late, one's recording was cut off), by time.
 */
#include "merge/merge.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* One node's part in a collective open. enter, leave: when the node's last rank entered and its first one left; 0 if unknown. */
struct open {
	uint32_t key, node, handle, joined;
	uint64_t enter_ns, leave_ns;
};

struct opens { MODEL_ARRAY(struct open, opens); uint32_t nkeys, njoined; };

/* ---- which handles are collective over nodes ---- */

/* Per communicator: does it have ranks on more than one node? */
static bool *find_wide_comms(const struct merge *m)
{
	bool *wide = calloc(m->comms.n + 1, sizeof(*wide));
	uint32_t *first = calloc(m->comms.n + 1, sizeof(*first));

	if (!wide || !first) {
		free(wide);
		free(first);
		return NULL;
	}
	for (size_t i = 0; i < m->nnodes; i++)
		for (size_t c = 0; c < m->nodes[i].comms.n; c++) {
			uint32_t ref = m->maps[i].comms[c];

			if (m->comms.v[ref].self || !m->nodes[i].comms.v[c].nmembers)
				continue;
			wide[ref] |= first[ref] && first[ref] != i + 1;
			first[ref] = i + 1;
		}
	free(first);
	return wide;
}

static void set_times(const struct merge *m, struct open *open)
{
	const struct node *node = &m->nodes[open->node];

	for (size_t i = 0; i < node->collectives.n; i++) {
		const struct node_collective *c = &node->collectives.v[i];

		if (c->handle != open->handle || !c->opened.ranks)
			continue;
		open->enter_ns = clocks_global(m, open->node, c->opened.last_enter_ns);
		open->leave_ns = clocks_global(m, open->node, c->opened.first_leave_ns);
	}
}

static int handles_collect(struct merge *m, struct opens *all)
{
	struct index keys = { 0 };
	bool *wide = find_wide_comms(m);
	int ret = wide ? 0 : -ENOMEM;

	for (uint32_t n = 0; n < m->nnodes && !ret; n++)
		for (uint32_t h = 0; h < m->nodes[n].handles.n && !ret; h++) {
			const struct node_handle *handle = &m->nodes[n].handles.v[h];
			struct open *open;
			struct index_key key;

			if (handle->comm == REF_NONE || handle->file == REF_NONE || !wide[m->maps[n].comms[handle->comm]])
				continue;
			key = (struct index_key){ { handle->paradigm, m->maps[n].comms[handle->comm],
						    m->maps[n].strings[m->nodes[n].files.v[handle->file].name] } };
			open = MODEL_ADD(all->opens);
			if (!open) {
				ret = -ENOMEM;
				break;
			}
			*open = (struct open){ .key = all->nkeys, .node = n, .handle = h, .joined = REF_NONE };
			ret = index_get(&keys, key, &open->key);
			all->nkeys += open->key == all->nkeys;
		}
	index_deinit(&keys);
	free(wide);
	return ret;
}

/* ---- what belongs together ---- */

static int by_key(const void *a, const void *b)
{
	const struct open *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	if (x->node != y->node)
		return x->node < y->node ? -1 : 1;
	return x->handle < y->handle ? -1 : 1;
}

static int by_enter(const void *a, const void *b)
{
	const struct open *x = a, *y = b;

	return x->enter_ns < y->enter_ns ? -1 : x->enter_ns > y->enter_ns;
}

static bool equally_many(const struct open *v, size_t n)
{
	size_t first = 0, count = 0;

	for (size_t i = 0; i < n; i++) {
		count++;
		if (i + 1 < n && v[i + 1].node == v[i].node)
			continue;
		if (first && count != first)
			return false;
		first = count;
		count = 0;
	}
	return true;
}

static void join_in_order(struct opens *all, struct open *v, size_t n)
{
	uint32_t begin = all->njoined, k = 0;

	for (size_t i = 0; i < n; i++) {
		k = i && v[i].node == v[i - 1].node ? k + 1 : 0;
		v[i].joined = begin + k;
		if (begin + k == all->njoined)
			all->njoined++;
	}
}

/* All ranks are inside an open from when the last one entered until the first one leaves it; no two opens of a communicator
 * overlap so. */
static void join_by_time(struct opens *all, struct open *v, size_t n)
{
	uint64_t leave_ns = 0;

	for (size_t i = 0; i < n; i++)
		if (!v[i].enter_ns)
			return;
	qsort(v, n, sizeof(*v), by_enter);
	for (size_t i = 0; i < n; i++) {
		bool same = i && v[i].enter_ns <= leave_ns;

		for (size_t k = i; same && k-- > 0 && v[k].joined == v[i - 1].joined;)
			same = v[k].node != v[i].node;
		v[i].joined = same ? v[i - 1].joined : all->njoined++;
		leave_ns = same && leave_ns < v[i].leave_ns ? leave_ns : v[i].leave_ns;
	}
}

static void handles_join(struct merge *m, struct opens *all)
{
	struct open *v = all->opens.v;

	if (all->opens.n)
		qsort(v, all->opens.n, sizeof(*v), by_key);
	for (size_t i = 0, end; i < all->opens.n; i = end) {
		for (end = i + 1; end < all->opens.n && v[end].key == v[i].key; end++)
			;
		if (equally_many(v + i, end - i)) {
			join_in_order(all, v + i, end - i);
			continue;
		}
		for (size_t k = i; k < end; k++)
			set_times(m, &v[k]);
		join_by_time(all, v + i, end - i);
	}
}

/* ---- refs ---- */

/* A joined handle is on a file only if it is the same one on all nodes. */
static int find_files(struct merge *m, const struct opens *all, bool *fileless)
{
	uint32_t *files = calloc(all->njoined + 1, sizeof(*files)), *nodes = calloc(all->njoined + 1, sizeof(*nodes));

	for (size_t i = 0; files && nodes && i < all->opens.n; i++) {
		const struct open *open = &all->opens.v[i];
		uint32_t file = m->maps[open->node].files[m->nodes[open->node].handles.v[open->handle].file];

		if (open->joined == REF_NONE) {
			m->unmatched_handles++;
			continue;
		}
		if (nodes[open->joined]++ && files[open->joined] != file)
			fileless[open->joined] = true;
		files[open->joined] = file;
	}
	for (uint32_t j = 0; files && nodes && j < all->njoined; j++) {
		m->joined_handles += nodes[j] > 1;
		m->unmatched_handles += nodes[j] == 1;
		m->split_handles += fileless[j];
	}
	free(files);
	free(nodes);
	return files && nodes ? 0 : -ENOMEM;
}

/* In the order of the nodes and their handles, so that a parent has a smaller ref than its children. */
static int handles_number(struct merge *m, const struct opens *all)
{
	uint32_t *refs = malloc((all->njoined + 1) * sizeof(*refs));
	bool *fileless = calloc(all->njoined + 1, sizeof(*fileless));
	int ret = refs && fileless ? find_files(m, all, fileless) : -ENOMEM;

	for (size_t i = 0; i < all->opens.n && !ret; i++) {
		const struct open *open = &all->opens.v[i];

		if (open->joined != REF_NONE) {
			m->maps[open->node].handles[open->handle] = open->joined + 1;
			m->maps[open->node].fileless[open->handle] = fileless[open->joined];
			refs[open->joined] = REF_NONE;
		}
	}
	for (size_t n = 0; n < m->nnodes && !ret; n++)
		for (size_t h = 0; h < m->nodes[n].handles.n; h++) {
			uint32_t *ref = &m->maps[n].handles[h], joined = *ref - 1;

			if (*ref && refs[joined] != REF_NONE)
				*ref = refs[joined];
			else if (*ref)
				*ref = refs[joined] = m->nhandles++;
			else
				*ref = m->nhandles++;
		}
	free(refs);
	free(fileless);
	return ret;
}

int unify_handles(struct merge *m)
{
	struct opens all = { 0 };
	int ret = handles_collect(m, &all);

	if (!ret) {
		handles_join(m, &all);
		ret = handles_number(m, &all);
	}
	free(all.opens.v);
	return ret ? merge_fail(m, ret, "out of memory") : 0;
}
