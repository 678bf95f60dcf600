/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * One time line for all nodes: CLOCK_REALTIME, which is what the nodes' synchronisation (NTP, PTP) keeps equal. Each node's
 * CLOCK_MONOTONIC is moved onto it by the offsets that were read when its recording began and ended, in between linearly. Where
 * the recording has seen that the wall clock was set, all its times follow the clock after the last step: ticks must not jump.
 * How exact that is, the kernels say; collective operations, which no rank leaves before the last one has entered, say it
 * independently.
 */
#include "merge/merge.h"

#include <errno.h>
#include <stdlib.h>

static int64_t offset_of(const struct model_clock *clock)
{
	return clock->realtime_ns - clock->monotonic_ns;
}

/* As OTF2's readers do it: constant before the first and after the last offset. */
int64_t clocks_global(const struct merge *m, size_t n, uint64_t time_ns)
{
	const struct node *node = &m->nodes[n];
	const struct node_map *map = &m->maps[n];
	double slope;

	if (!node->head.end.read || node->head.end.monotonic_ns <= node->head.start.monotonic_ns)
		return time_ns + map->offset_start_ns;
	slope = (double)(map->offset_end_ns - map->offset_start_ns) /
		(double)(node->head.end.monotonic_ns - node->head.start.monotonic_ns);
	return time_ns + map->offset_start_ns + (int64_t)(slope * (double)(int64_t)(time_ns - node->head.start.monotonic_ns));
}

/* ---- what the kernels say ---- */

/* By how much a node's wall clock may be wrong; false where its kernel does not know. */
static bool node_error(const struct node *node, uint64_t *error_ns)
{
	const struct model_clock *readings[] = { &node->head.start, &node->head.end };
	uint64_t worst = 0;

	for (int i = 0; i < 2; i++) {
		uint64_t error = readings[i]->error_ns + readings[i]->width_ns;

		if (!readings[i]->read)
			continue;
		if (!readings[i]->synchronized)
			return false;
		worst = error > worst ? error : worst;
	}
	*error_ns = worst;
	return true;
}

static void report_errors(struct merge *m)
{
	struct clock_report *c = &m->clocks;
	uint64_t worst[2] = { 0 };

	for (size_t i = 0; i < m->nnodes; i++) {
		uint64_t error_ns;

		c->without_end += !m->nodes[i].head.end.read;
		if (!node_error(&m->nodes[i], &error_ns)) {
			c->unsynchronized++;
		} else if (error_ns > worst[0]) {
			worst[1] = worst[0];
			worst[0] = error_ns;
		} else if (error_ns > worst[1]) {
			worst[1] = error_ns;
		}
	}
	c->error_known = !c->unsynchronized;
	c->error_ns = worst[0] + worst[1];
}

static void report_offsets(struct merge *m)
{
	struct clock_report *c = &m->clocks;

	for (size_t i = 0; i < m->nnodes; i++) {
		int64_t relative = m->maps[i].offset_start_ns - m->maps[0].offset_start_ns;
		int64_t change = llabs(m->maps[i].offset_end_ns - m->maps[i].offset_start_ns);

		c->offset_min_ns = relative < c->offset_min_ns ? relative : c->offset_min_ns;
		c->offset_max_ns = relative > c->offset_max_ns ? relative : c->offset_max_ns;
		if (change > c->change_max_ns) {
			c->change_max_ns = change;
			c->change_node = i;
		}
	}
}

/* Where an offset changes, readers may round to a neighbouring tick: the span has room for that. */
static void find_span(struct merge *m)
{
	m->begin_ns = UINT64_MAX;
	for (size_t i = 0; i < m->nnodes; i++) {
		const struct node_head *head = &m->nodes[i].head;
		unsigned room = m->maps[i].offset_start_ns == m->maps[i].offset_end_ns ? 0 : 2;
		uint64_t begin = clocks_global(m, i, head->clock_begin_ns) - room;
		uint64_t end = clocks_global(m, i, head->clock_begin_ns + head->clock_length_ns) + room;

		m->begin_ns = begin < m->begin_ns ? begin : m->begin_ns;
		m->end_ns = end > m->end_ns ? end : m->end_ns;
	}
}

void clocks_relate(struct merge *m)
{
	for (size_t i = 0; i < m->nnodes; i++) {
		const struct node_head *head = &m->nodes[i].head;
		const struct model_clock *last = head->end.read         ? &head->end
						 : head->last_step.read ? &head->last_step
									: &head->start;

		m->maps[i].offset_end_ns = offset_of(last);
		m->maps[i].offset_start_ns = head->clock_steps ? m->maps[i].offset_end_ns : offset_of(&head->start);
		m->clocks.stepped += head->clock_steps > 0;
	}
	report_offsets(m);
	report_errors(m);
	find_span(m);
}

/* ---- what collective operations say ---- */

/* One operation of all nodes: the two latest enters and the two earliest leaves, each of another node. */
struct extreme { int64_t time_ns[2]; uint32_t node[2]; };
struct operation { struct extreme enter, leave; uint32_t nodes; };
struct operations { struct operation *v; size_t n, cap; };

static void note_extreme(struct extreme *e, uint32_t known, int64_t time_ns, uint32_t node, int sign)
{
	if (!known || sign * (time_ns - e->time_ns[0]) > 0) {
		e->time_ns[1] = e->time_ns[0];
		e->node[1] = e->node[0];
		e->time_ns[0] = time_ns;
		e->node[0] = node;
	} else if (known == 1 || sign * (time_ns - e->time_ns[1]) > 0) {
		e->time_ns[1] = time_ns;
		e->node[1] = node;
	}
}

static void note_meeting(const struct merge *m, struct operation *operation, uint32_t node, const struct node_meeting *meeting)
{
	if (!meeting->ranks)
		return;
	note_extreme(&operation->enter, operation->nodes, clocks_global(m, node, meeting->last_enter_ns), node, 1);
	note_extreme(&operation->leave, operation->nodes, clocks_global(m, node, meeting->first_leave_ns), node, -1);
	operation->nodes++;
}

static void clocks_check_node(struct clock_report *c, const struct operation *o, int enter, int leave)
{
	int64_t slack = o->leave.time_ns[leave] - o->enter.time_ns[enter];

	if (o->leave.node[leave] == o->enter.node[enter] || slack >= c->slack_ns)
		return;
	c->slack_ns = slack;
	c->early = o->leave.node[leave];
	c->late = o->enter.node[enter];
}

static int64_t clocks_least(const struct operation *o)
{
	int64_t direct = o->leave.time_ns[0] - o->enter.time_ns[0], a, b;

	if (o->leave.node[0] != o->enter.node[0])
		return direct;
	a = o->leave.time_ns[1] - o->enter.time_ns[0];
	b = o->leave.time_ns[0] - o->enter.time_ns[1];
	return a < b ? a : b;
}

static void check_operation(struct clock_report *c, const struct operation *o)
{
	if (o->nodes < 2)
		return;
	c->meetings++;
	c->violated += clocks_least(o) < 0;
	if (c->meetings == 1)
		c->slack_ns = INT64_MAX;
	clocks_check_node(c, o, 0, 0);
	clocks_check_node(c, o, 0, 1);
	clocks_check_node(c, o, 1, 0);
}

/* The operations of a handle, opening and closing, wherever it was used; NULL without memory. */
static struct operation *operations_of(struct index *index, struct operations *all, uint32_t handle)
{
	uint32_t number = all->n / 2;

	if (index_get(index, (struct index_key){ { handle } }, &number))
		return NULL;
	if (number == all->n / 2 && (!MODEL_ADD(*all) || !MODEL_ADD(*all)))
		return NULL;
	return &all->v[2 * number];
}

static int collect_operations(struct merge *m, struct index *index, struct operations *all)
{
	for (uint32_t n = 0; n < m->nnodes; n++) {
		m->clocks.without_meetings += !m->nodes[n].head.has_collectives;
		for (size_t i = 0; i < m->nodes[n].collectives.n; i++) {
			const struct node_collective *c = &m->nodes[n].collectives.v[i];
			struct operation *o = operations_of(index, all, m->maps[n].handles[c->handle]);

			if (!o)
				return merge_fail(m, -ENOMEM, "out of memory");
			note_meeting(m, &o[0], n, &c->opened);
			note_meeting(m, &o[1], n, &c->closed);
		}
	}
	return 0;
}

int clocks_check(struct merge *m)
{
	struct index index = { 0 };
	struct operations all = { 0 };
	int ret = collect_operations(m, &index, &all);

	for (size_t i = 0; i < all.n && !ret; i++)
		check_operation(&m->clocks, &all.v[i]);
	free(all.v);
	index_deinit(&index);
	return ret;
}
