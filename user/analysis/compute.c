/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * What threads do in outermost calls and between them (--cpu-time): computing, asleep, or waiting for a CPU.
 */
#include "analysis/collect.h"

static uint64_t compute_lesser(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static void count_between(struct collector *c, const struct frame *f, const struct trace_cpu *cpu)
{
	struct cpu_stat *s = &c->stat->cpu;
	uint64_t wall_ns, delay_ns, sleep_ns, waited_ns = c->waited_ns;

	c->waited_ns = 0;
	if (!cpu->has_before || c->outermost_end_ns == TRACE_UNKNOWN || f->begin_ns <= c->outermost_end_ns)
		return;
	wall_ns = f->begin_ns - c->outermost_end_ns;
	delay_ns = compute_lesser(cpu->before_delay_ns, wall_ns);
	sleep_ns = compute_lesser(cpu->before_sleep_ns, wall_ns - delay_ns);
	/* A rank that waits in MPI is on a CPU, and computes nothing. Sleep and run delay are taken to be in MPI first. */
	waited_ns -= compute_lesser(waited_ns, delay_ns + sleep_ns);
	waited_ns = compute_lesser(waited_ns, wall_ns - delay_ns - sleep_ns);
	s->between_delay_ns += delay_ns;
	s->between_sleep_ns += sleep_ns;
	s->between_mpi_ns += waited_ns;
	s->between_cpu_ns += wall_ns - delay_ns - sleep_ns - waited_ns;
	c->computed_ns += wall_ns - delay_ns - sleep_ns - waited_ns;
}

/* Neither sleep nor run delay in a call that was not on a CPU all the time: the kernel does not distinguish them. */
static bool is_divided(const struct trace_cpu *cpu, uint64_t ns)
{
	return cpu->has_call && (cpu->sleep_ns || cpu->delay_ns || cpu->cpu_ns >= ns);
}

void collect_cpu(struct collector *c, const struct frame *f, const struct trace_cpu *cpu, uint64_t ns, enum cpu_kind kind)
{
	struct cpu_stat *s = &c->stat->cpu;

	if (kind == CPU_OTHER && !cpu->has_call && !cpu->has_before) {
		c->waited_ns += f->layer == LAYER_MPI ? ns : 0; /* a collective call: in the time between calls */
		return;
	}
	if (c->wanted)
		count_between(c, f, cpu);
	c->outermost_end_ns = f->begin_ns + ns;
	if (!c->wanted || kind == CPU_OTHER)
		return;
	s->calls++;
	if (!is_divided(cpu, ns)) {
		s->unknown++;
	} else {
		s->cpu_ns += cpu->cpu_ns;
		s->sleep_ns += cpu->sleep_ns;
		s->io_sleep_ns += cpu->io_sleep_ns;
		s->delay_ns += cpu->delay_ns;
	}
	if (kind != CPU_OUTPUT)
		return;
	if (s->writes++)
		s->computing_ns += c->computed_ns;
	else
		s->first_ns = f->begin_ns;
	c->computed_ns = 0;
	s->last_ns = f->begin_ns + ns;
	s->sleeping_ns += is_divided(cpu, ns) ? cpu->sleep_ns : 0;
}
