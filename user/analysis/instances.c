/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Collective data calls: the parts of all ranks as one.
 */
#include "analysis/instances.h"

size_t instance_sum(const struct facts *f, size_t i, struct instance_sum *s)
{
	const struct instance *v = f->instances.v;
	size_t j;

	*s = (struct instance_sum){ .first_enter = UINT64_MAX };
	for (j = i; j < f->instances.n && v[j].file == v[i].file && v[j].ordinal == v[i].ordinal; j++) {
		s->of_data |= v[j].of_data;
		s->members++;
		s->asked += v[j].asked;
		s->workers += v[j].system_bytes > 0;
		s->system_n += v[j].system_n;
		s->system_bytes += v[j].system_bytes;
		s->last_enter = v[j].enter_ns > s->last_enter ? v[j].enter_ns : s->last_enter;
		s->first_enter = v[j].enter_ns < s->first_enter ? v[j].enter_ns : s->first_enter;
		s->last_leave = v[j].leave_ns > s->last_leave ? v[j].leave_ns : s->last_leave;
		s->longest_system = v[j].system_ns > s->longest_system ? v[j].system_ns : s->longest_system;
	}
	return j;
}
