/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Checks the events of the model, resolves what they refer to, and passes them to the writer.
 */
#include "sink/otf2/otf2_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Regions get their refs in the order of first use, so that unused ones (most rows of a table) leave no gap. */
static int region_define(struct otf2_sink *s, const struct model *model, uint32_t region)
{
	if (region >= model->regions.n)
		return otf2_fail(s, -EINVAL, "%s: event of an undefined region %u", s->dir, region);
	if (region >= s->nregion_refs) {
		size_t n = model->regions.n;
		uint32_t *refs = realloc(s->region_refs, n * sizeof(*refs));

		if (!refs)
			return otf2_fail(s, -ENOMEM, "%s: out of memory for %zu regions", s->dir, n);
		memset(refs + s->nregion_refs, 0xff, (n - s->nregion_refs) * sizeof(*refs));
		s->region_refs = refs;
		s->nregion_refs = n;
	}
	if (s->region_refs[region] != REF_NONE)
		return 0;
	if (s->nregions == s->cap_regions) {
		uint32_t cap = s->cap_regions ? 2 * s->cap_regions : 64;
		uint32_t *regions = realloc(s->regions, cap * sizeof(*regions));

		if (!regions)
			return otf2_fail(s, -ENOMEM, "%s: out of memory for %u regions", s->dir, cap);
		s->regions = regions;
		s->cap_regions = cap;
	}
	s->regions[s->nregions] = region;
	s->region_refs[region] = s->nregions++;
	return 0;
}

/* Preconditions for writing an event: an open location, a defined region, a time that does not decrease. */
static int otf2_events_prepare(struct otf2_sink *s, const struct model *model, const struct model_event *e)
{
	int error = 0;

	if (s->error)
		return s->error;
	if (!s->archive)
		return otf2_fail(s, -EBADF, "%s: event after the end of the archive", s->dir);
	if (e->location >= s->nlocations || !s->locations[e->location].kept)
		error = otf2_location_open(s, model, e->location);
	if (!error && s->locations[e->location].closed)
		error = otf2_fail(s, -EINVAL, "%s: event of location %u after its end", s->dir, e->location);
	if (!error && (e->type == EV_ENTER || e->type == EV_LEAVE) &&
	    (e->u.call.region >= s->nregion_refs || s->region_refs[e->u.call.region] == REF_NONE))
		error = region_define(s, model, e->u.call.region);
	if (!error && e->time_ns < s->locations[e->location].last_ns)
		error = otf2_fail(s, -EINVAL, "%s: time of location %u goes back from %llu to %llu ns", s->dir, e->location,
				  (unsigned long long)s->locations[e->location].last_ns, (unsigned long long)e->time_ns);
	return error;
}

int otf2_event(struct sink *sink, const struct model *model, const struct model_event *e)
{
	struct otf2_sink *s = (struct otf2_sink *)sink;
	bool call = e->type == EV_ENTER || e->type == EV_LEAVE;
	int error = otf2_events_prepare(s, model, e);

	if (!error && e->type == EV_ENTER && e->u.call.site && otf2_sites_add(s, model, e->u.call.site))
		error = otf2_fail(s, -ENOMEM, "%s: out of memory for %zu calling contexts", s->dir, model->contexts.n);
	if (error)
		return error;
	otf2_writer_event(s->writer, e, call ? s->region_refs[e->u.call.region] : 0);
	s->locations[e->location].last_ns = e->time_ns;
	if (e->time_ns < s->first_ns)
		s->first_ns = e->time_ns;
	if (e->time_ns > s->last_ns)
		s->last_ns = e->time_ns;
	return otf2_check_writer(s);
}
