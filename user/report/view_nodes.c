/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Which nodes, and which of their ranks, make the system calls inside collective data calls of MPI-IO.
 */
#include "report/view_list.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/words.h"
#include "report/escape.h"
#include "report/json_values.h"

#define ROWS 32 /* of text and HTML; JSON has all */
#define WIDTH 1000
#define LABEL 220
#define ROW 16

/* A rank, or the sum of a node's ranks. */
struct share {
	uint32_t node, location;
	int64_t rank;
	uint64_t ranks, workers, calls, asked, system_n, system_bytes, system_ns, wait_ns;
};

struct shares {
	struct share *ranks, *nodes;
	size_t nranks, nnodes;
};

static uint32_t view_nodes_node_of(const struct trace *t, uint32_t location)
{
	uint32_t group = t->locations.v[location].group, node = group < t->groups.n ? t->groups.v[group].node : TRACE_NONE;

	for (unsigned depth = 0; depth < 64 && node < t->nodes.n; depth++, node = t->nodes.v[node].parent)
		if (t->nodes.v[node].class && !strcmp(t->nodes.v[node].class, "node"))
			return node;
	return TRACE_NONE;
}

static const char *node_name(const struct trace *t, uint32_t node)
{
	return node < t->nodes.n && t->nodes.v[node].name ? t->nodes.v[node].name : "unknown node";
}

static void add_instance(struct share *s, const struct instance *x, uint64_t last_enter)
{
	uint64_t arrived = last_enter < x->leave_ns ? last_enter : x->leave_ns;

	s->calls++;
	s->asked += x->asked;
	s->system_n += x->system_n;
	s->system_bytes += x->system_bytes;
	s->system_ns += x->system_ns;
	s->wait_ns += arrived - x->enter_ns;
}

static void add_instances(struct share *of, const struct facts *f)
{
	for (size_t i = 0, j; i < f->instances.n; i = j) {
		uint64_t last = 0;

		for (j = i; j < f->instances.n && f->instances.v[j].file == f->instances.v[i].file &&
			    f->instances.v[j].ordinal == f->instances.v[i].ordinal;
		     j++)
			last = f->instances.v[j].enter_ns > last ? f->instances.v[j].enter_ns : last;
		for (size_t k = i; k < j; k++)
			add_instance(&of[f->instances.v[k].location], &f->instances.v[k], last);
	}
}

static int by_node(const void *a, const void *b)
{
	const struct share *x = a, *y = b;

	if (x->node != y->node)
		return x->node < y->node ? -1 : 1;
	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	return x->location < y->location ? -1 : x->location > y->location;
}

static void add_nodes(struct shares *s)
{
	for (size_t i = 0; i < s->nranks; i++) {
		const struct share *r = &s->ranks[i];
		struct share *n = s->nnodes ? &s->nodes[s->nnodes - 1] : NULL;

		if (!n || n->node != r->node) {
			n = &s->nodes[s->nnodes++];
			*n = (struct share){ .node = r->node, .location = TRACE_NONE };
		}
		n->ranks++;
		n->workers += r->system_n > 0;
		n->calls += r->calls;
		n->asked += r->asked;
		n->system_n += r->system_n;
		n->system_bytes += r->system_bytes;
		n->system_ns += r->system_ns;
		n->wait_ns = r->wait_ns > n->wait_ns ? r->wait_ns : n->wait_ns;
	}
}

static void shares_init(struct shares *s, const struct analysis *a)
{
	size_t n = a->trace->locations.n;

	*s = (struct shares){ .ranks = calloc(n + 1, sizeof(*s->ranks)), .nodes = calloc(n + 1, sizeof(*s->nodes)) };
	if (!s->ranks || !s->nodes)
		return;
	add_instances(s->ranks, a->facts);
	for (uint32_t i = 0; i < n; i++)
		if (s->ranks[i].calls) {
			s->ranks[s->nranks] = s->ranks[i];
			s->ranks[s->nranks].node = view_nodes_node_of(a->trace, i);
			s->ranks[s->nranks].rank = location_rank(a, i);
			s->ranks[s->nranks++].location = i;
		}
	qsort(s->ranks, s->nranks, sizeof(*s->ranks), by_node);
	add_nodes(s);
}

static void shares_deinit(struct shares *s)
{
	free(s->ranks);
	free(s->nodes);
}

static bool view_nodes_has(const struct analysis *a)
{
	return a->facts->instances.n > 0;
}

static void name_of(const struct analysis *a, const struct share *s, char *name, size_t len)
{
	if (s->location == TRACE_NONE)
		snprintf(name, len, "%.80s: %" PRIu64 " of %" PRIu64 " ranks", node_name(a->trace, s->node), s->workers, s->ranks);
	else
		location_name(a, s->location, name, len);
}

struct output {
	FILE *out;
	const struct analysis *a;
	uint64_t most;
}; /* most: system calls of the node with most, the chart's scale */
typedef void write_row(const struct output *o, const struct share *s, size_t number);

/* Calls row for each node and, below it, for its ranks. Returns how many are beyond ROWS. */
static size_t each_row(const struct output *o, const struct shares *s, write_row *row)
{
	size_t shown = 0, rank = 0;

	for (size_t n = 0; n < s->nnodes; n++) {
		if (shown < ROWS)
			row(o, &s->nodes[n], shown++);
		for (; rank < s->nranks && s->ranks[rank].node == s->nodes[n].node; rank++)
			if (shown < ROWS)
				row(o, &s->ranks[rank], shown++);
	}
	return s->nnodes + s->nranks - shown;
}

/* ---- text ---- */

static void view_nodes_text_row(const struct output *o, const struct share *s, size_t number)
{
	char label[128], name[140], asked[24], moved[24], time[24], wait[24];

	(void)number;
	name_of(o->a, s, label, sizeof(label));
	escape_terminal(name, sizeof(name), label, 34);
	words_bytes(asked, sizeof(asked), s->asked);
	words_bytes(moved, sizeof(moved), s->system_bytes);
	words_seconds(time, sizeof(time), s->system_ns);
	words_seconds(wait, sizeof(wait), s->wait_ns);
	fprintf(o->out, "%s%-*s %7" PRIu64 " %9s %9" PRIu64 " %9s %10s %10s\n", s->location == TRACE_NONE ? "" : "  ",
		s->location == TRACE_NONE ? 36 : 34, name, s->calls, asked, s->system_n, moved, time, wait);
}

static void view_nodes_text(FILE *out, const struct analysis *a)
{
	const struct output o = { out, a, 0 };
	struct shares s;
	size_t left;

	shares_init(&s, a);
	fprintf(out, "%-36s %7s %9s %9s %9s %10s %10s\n", "node: ranks with system calls", "calls", "asked", "sys calls", "moved",
		"time", "waited");
	left = each_row(&o, &s, view_nodes_text_row);
	if (left)
		fprintf(out, "and %zu more nodes and ranks\n", left);
	fputs("system calls with data only; waited: until the last rank arrived, of a node its longest\n", out);
	shares_deinit(&s);
}

/* ---- JSON ---- */

static json_t *share_object(const struct analysis *a, const struct share *s)
{
	return json_pack("{s:o, s:o, s:I, s:I, s:I, s:I, s:o, s:o}", "node", json_text(node_name(a->trace, s->node)), "by",
			 json_location(a, s->location), "collective_calls", (json_int_t)s->calls, "bytes_asked",
			 (json_int_t)s->asked, "system_calls", (json_int_t)s->system_n, "bytes_moved", (json_int_t)s->system_bytes,
			 "system_seconds", json_seconds(s->system_ns), "waited_seconds", json_seconds(s->wait_ns));
}

static json_t *view_nodes_json(const struct analysis *a)
{
	json_t *nodes = json_array(), *ranks = json_array();
	struct shares s;

	shares_init(&s, a);
	for (size_t i = 0; i < s.nnodes; i++) {
		json_t *node = share_object(a, &s.nodes[i]);

		json_object_del(node, "by");
		json_object_set_new(node, "ranks", json_integer(s.nodes[i].ranks));
		json_object_set_new(node, "ranks_with_system_calls", json_integer(s.nodes[i].workers));
		json_array_append_new(nodes, node);
	}
	for (size_t i = 0; i < s.nranks; i++)
		json_array_append_new(ranks, share_object(a, &s.ranks[i]));
	shares_deinit(&s);
	return json_pack("{s:o, s:o}", "nodes", nodes, "ranks", ranks);
}

/* ---- HTML ---- */

static void view_nodes_svg_row(const struct output *o, const struct share *s, size_t number)
{
	double width = o->most ? (double)(WIDTH - LABEL - 90) * s->system_n / o->most : 0;
	bool node = s->location == TRACE_NONE;
	char name[128];

	name_of(o->a, s, name, sizeof(name));
	fprintf(o->out, "<text x=%d y=%zu%s>", node ? 0 : 14, number * ROW + 12, node ? " class=head" : "");
	escape_html(o->out, name);
	fprintf(o->out, "</text><rect class=%s x=%d y=%zu width=%.1f height=%d /><text x=%.1f y=%zu>%" PRIu64 "</text>\n",
		node ? "node" : "rank", LABEL, number * ROW + 2, width, ROW - 4, LABEL + width + 4, number * ROW + 12, s->system_n);
}

static void view_nodes_html_row(const struct output *o, const struct share *s, size_t number)
{
	char name[128], asked[24], moved[24], time[24], wait[24];

	(void)number;
	name_of(o->a, s, name, sizeof(name));
	words_bytes(asked, sizeof(asked), s->asked);
	words_bytes(moved, sizeof(moved), s->system_bytes);
	words_seconds(time, sizeof(time), s->system_ns);
	words_seconds(wait, sizeof(wait), s->wait_ns);
	fprintf(o->out, "<tr><td class=d%d>", s->location != TRACE_NONE);
	escape_html(o->out, name);
	fprintf(o->out,
		"<td class=n>%" PRIu64 "<td class=n>%s<td class=n>%" PRIu64 "<td class=n>%s<td class=n>%s<td class=n>%s</tr>\n",
		s->calls, asked, s->system_n, moved, time, wait);
}

static void view_nodes_html(FILE *out, const struct analysis *a)
{
	struct output o = { out, a, 0 };
	struct shares s;
	size_t rows, left;

	shares_init(&s, a);
	for (size_t i = 0; i < s.nnodes; i++)
		o.most = s.nodes[i].system_n > o.most ? s.nodes[i].system_n : o.most;
	rows = s.nnodes + s.nranks < ROWS ? s.nnodes + s.nranks : ROWS;
	fprintf(out,
		"<p>System calls that move data, of a node and of its ranks.</p>\n<div class=wide><svg viewBox=\"0 0 %d %zu\" "
		"width=%d role=img "
		"aria-label=\"system calls per node and rank\">\n",
		WIDTH, rows * ROW, WIDTH);
	each_row(&o, &s, view_nodes_svg_row);
	fputs("</svg></div>\n<div class=wide><table><tr><th>Node, rank<th class=n>Collective calls<th class=n>Bytes asked<th "
	      "class=n>System calls"
	      "<th class=n>Bytes moved<th class=n>Time in them<th class=n>Waited for others to arrive</tr>\n",
	      out);
	left = each_row(&o, &s, view_nodes_html_row);
	fputs("</table></div>\n", out);
	if (left)
		fprintf(out, "<p>and %zu more nodes and ranks</p>\n", left);
	shares_deinit(&s);
}

const struct report_view view_nodes = { "nodes",         "Who makes the system calls inside collective calls",
					view_nodes_has,  view_nodes_text,
					view_nodes_json, view_nodes_html };
