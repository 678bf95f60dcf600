/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Joins CPU records to the calls that follow them. A call without one had its CPU all the time, unless records of the thread were
 * lost.
 */
#include "replay/cpu_time.h"

#include <string.h>

int cpu_record(struct thread *thread, const struct iop_rec_cpu *rec)
{
	thread->cpu.next = *rec;
	return 0;
}

static uint64_t cpu_time_lesser(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Limits the parts to the whole: run delay is of another clock of the kernel, and the thread may lose its CPU between the call's
 * end and the measurement. */
static void cpu_time_divide(struct model_cpu *cpu, const struct iop_rec_cpu *rec, uint64_t time_ns)
{
	uint64_t off_ns = cpu_time_lesser(rec->off_ns, time_ns);

	cpu->cpu_ns = time_ns - off_ns;
	if (rec->flags & IOP_CPU_NO_DELAY) {
		cpu->undivided_ns = off_ns;
	} else {
		cpu->delay_ns = cpu_time_lesser(rec->delay_ns, off_ns);
		cpu->sleep_ns = off_ns - cpu->delay_ns;
		cpu->io_sleep_ns = cpu_time_lesser(rec->io_ns, cpu->sleep_ns);
	}
	cpu->user_ns = rec->user_ns;
	cpu->system_ns = rec->system_ns;
	cpu->sleeps = rec->voluntary;
}

static void cpu_time_carry(struct cpu_times *t, const struct iop_rec_cpu *rec, bool known)
{
	t->before_unknown |= !known || t->lost || (rec->flags & (IOP_CPU_UNKNOWN | IOP_CPU_BEFORE_UNKNOWN));
	t->before_off_ns += rec->before_off_ns + rec->off_ns;
	t->before_delay_ns += rec->before_delay_ns + rec->delay_ns;
	t->lost = false;
}

bool cpu_of_call(const struct replay *r, struct thread *thread, const struct frame *f, bool quiet, struct model_cpu *cpu)
{
	static const struct iop_rec_cpu all_on_cpu;
	struct cpu_times *t = &thread->cpu;
	bool found = t->next.enter_ns == f->enter_ns && f->enter_ns, known = !f->abandoned && (found || !t->lost);
	const struct iop_rec_cpu *rec = found ? &t->next : &all_on_cpu;

	if (!r->model->cpu_time)
		return false;
	memset(cpu, 0, sizeof(*cpu));
	if (quiet) {
		cpu_time_carry(t, rec, known);
		return false;
	}
	cpu->known = known && !(rec->flags & IOP_CPU_UNKNOWN);
	if (cpu->known)
		cpu_time_divide(cpu, rec, f->leave_ns - f->enter_ns);
	cpu->before_known = known && t->end_ns && t->end_ns <= f->enter_ns && !t->lost && !t->before_unknown &&
			    !(rec->flags & (IOP_CPU_BEFORE_UNKNOWN | IOP_CPU_NO_DELAY));
	if (cpu->before_known) {
		cpu->before_off_ns = cpu_time_lesser(t->before_off_ns + rec->before_off_ns, f->enter_ns - t->end_ns);
		cpu->before_delay_ns = cpu_time_lesser(t->before_delay_ns + rec->before_delay_ns, cpu->before_off_ns);
	}
	/* Where a call is abandoned because of a loss, the time before the next call is unknown, too, and that call's record may be
	 * here already. */
	*t = (struct cpu_times){ .next = t->next, .lost = t->lost && f->abandoned, .end_ns = f->leave_ns };
	return cpu->known || cpu->before_known;
}
