/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * With --cpu-time: how much of the outermost calls' time, and of the time between them, was spent on a CPU, asleep, and waiting for
 * a CPU.
 */
#include "sink/summary/summary_internal.h"

#include <inttypes.h>

/* The time since the thread's previous outermost call. */
static void count_before(struct summary_between *between, const struct model_cpu *cpu, uint64_t wall_ns)
{
	uint64_t off_ns = cpu->before_off_ns < wall_ns ? cpu->before_off_ns : wall_ns;
	uint64_t delay_ns = cpu->before_delay_ns < off_ns ? cpu->before_delay_ns : off_ns;

	between->cpu_ns += wall_ns - off_ns;
	between->sleep_ns += off_ns - delay_ns;
	between->delay_ns += delay_ns;
}

void summary_cpu_count(struct location_state *l, struct summary_cpu *calls, struct summary_between *between,
		       const struct model_event *e, uint64_t enter_ns)
{
	const struct model_cpu *cpu = e->u.call.cpu;
	uint64_t wall_ns = l->outermost_end_ns ? enter_ns - l->outermost_end_ns : 0;

	if (cpu && cpu->before_known && l->outermost_end_ns)
		count_before(between, cpu, wall_ns);
	else
		between->unknown_ns += wall_ns;
	l->outermost_end_ns = e->time_ns;
	calls->calls++;
	calls->time_ns += e->time_ns - enter_ns;
	if (!cpu || !cpu->known) {
		calls->calls_unknown++;
		calls->unknown_ns += e->time_ns - enter_ns;
		return;
	}
	calls->cpu_ns += cpu->cpu_ns;
	calls->sleep_ns += cpu->sleep_ns;
	calls->io_sleep_ns += cpu->io_sleep_ns;
	calls->delay_ns += cpu->delay_ns;
	calls->undivided_ns += cpu->undivided_ns;
	calls->user_ns += cpu->user_ns;
	calls->system_ns += cpu->system_ns;
	calls->sleeps += cpu->sleeps;
}

void summary_cpu_add(struct summary_cpu *to, const struct summary_cpu *from)
{
	to->calls += from->calls;
	to->calls_unknown += from->calls_unknown;
	to->time_ns += from->time_ns;
	to->unknown_ns += from->unknown_ns;
	to->cpu_ns += from->cpu_ns;
	to->sleep_ns += from->sleep_ns;
	to->io_sleep_ns += from->io_sleep_ns;
	to->delay_ns += from->delay_ns;
	to->undivided_ns += from->undivided_ns;
	to->user_ns += from->user_ns;
	to->system_ns += from->system_ns;
	to->sleeps += from->sleeps;
}

static struct summary_between sum_between(const struct summary_report *r)
{
	struct summary_between sum = { 0 };

	for (size_t i = 0; i < r->model->groups.n; i++) {
		const struct summary_between *b = &r->processes[i].between;

		sum.cpu_ns += b->cpu_ns;
		sum.sleep_ns += b->sleep_ns;
		sum.delay_ns += b->delay_ns;
		sum.unknown_ns += b->unknown_ns;
	}
	return sum;
}

static void summary_cpu_print_row(FILE *out, const char *name, const struct summary_cpu *c)
{
	fprintf(out, "%-14s %14.6f %14.6f %14.6f %14.6f %14.6f %14.6f\n", name, c->time_ns / 1e9, c->cpu_ns / 1e9,
		c->sleep_ns / 1e9, c->io_sleep_ns / 1e9, c->delay_ns / 1e9, (c->unknown_ns + c->undivided_ns) / 1e9);
}

void summary_cpu_text(FILE *out, const struct summary_report *r)
{
	struct summary_between between = sum_between(r);
	struct summary_cpu sum = { 0 };

	if (!r->model->cpu_time)
		return;
	fprintf(out, "%-14s %14s %14s %14s %14s %14s %14s\n", "outermost", "seconds", "on a CPU", "asleep", "of it for I/O",
		"awaiting a CPU", "unknown");
	for (size_t i = 0; i < r->nlayers; i++) {
		summary_cpu_add(&sum, &r->layers[i].cpu);
		if (r->layers[i].cpu.calls)
			summary_cpu_print_row(out, r->layers[i].name, &r->layers[i].cpu);
	}
	fprintf(out, "%-14s %14.6f %14.6f %14.6f %14s %14.6f %14.6f\n", "between calls",
		(between.cpu_ns + between.sleep_ns + between.delay_ns + between.unknown_ns) / 1e9, between.cpu_ns / 1e9,
		between.sleep_ns / 1e9, "-", between.delay_ns / 1e9, between.unknown_ns / 1e9);
	fprintf(out, "of %.6f s inside outermost calls: %.6f s on a CPU, %.6f s asleep, %.6f s waiting for a CPU",
		sum.time_ns / 1e9, sum.cpu_ns / 1e9, sum.sleep_ns / 1e9, sum.delay_ns / 1e9);
	if (sum.unknown_ns + sum.undivided_ns)
		fprintf(out, ", %.6f s unknown", (sum.unknown_ns + sum.undivided_ns) / 1e9);
	fputs("; summed over threads\n\n", out);
}
