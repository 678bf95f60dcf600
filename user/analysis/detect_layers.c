/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Problems visible only across layers: I/O of a lower layer that the upper call did not request.
 */
#include <stdio.h>
#include <string.h>

#include "analysis/detectors.h"
#include "analysis/words.h"
#include "trace/file_facts.h"

/* ---- read-modify-write ---- */

static bool rmw_fires(const struct analysis *a, const struct file_layer *f)
{
	return f->sum->reads_in_write >= 10 &&
	       f->sum->reads_in_write_bytes >= a->thresholds.rmw_share * f->sum->dir[DIR_WRITE].bytes;
}

/* Bytes that a location asked to write at the highest layer above the system; TRACE_UNKNOWN. */
static uint64_t asked_above(const struct analysis *a, uint32_t file, uint32_t location)
{
	for (enum trace_layer l = 0; l < LAYER_POSIX; l++) {
		const struct file_layer *f = file_layer_find(a, file, l);

		if (!f || !f->sum->dir[DIR_WRITE].n)
			continue;
		for (size_t i = 0; i < f->n; i++)
			if (f->v[i]->key.location == location && !f->v[i]->dir[DIR_WRITE].unknown)
				return f->v[i]->dir[DIR_WRITE].asked;
		return TRACE_UNKNOWN;
	}
	return TRACE_UNKNOWN;
}

/* The reads, and what is written beyond what was asked. The reads of what is then written may have brought the file's pages into
 * memory, or its blocks from the disk: without them the writes pay for that. */
static struct evidence detect_layers_rmw(const struct analysis *a, const struct file_layer *f, const struct io_stat *s)
{
	const struct dir_stat *w = &s->dir[DIR_WRITE];
	uint64_t asked = asked_above(a, f->file, s->key.location), inside = w->nested_bytes ? w->nested_bytes : w->bytes;
	uint64_t beyond = asked < inside ? inside - asked : 0;          /* not of what the program writes itself */
	uint64_t beyond_n = saving_part(w->n, beyond, w->bytes), beyond_ns = saving_part(w->ns, beyond, w->bytes);
	uint64_t read_only = asked < s->reads_in_write_bytes ? s->reads_in_write_bytes - asked : 0; /* read, not to be written */
	struct removed all = { a->facts->lowest, s->reads_in_write + beyond_n, 0, s->reads_in_write_ns + beyond_ns, 0, 0 };
	struct removed least = { a->facts->lowest,
				 saving_part(s->reads_in_write, read_only, s->reads_in_write_bytes) + beyond_n,
				 0,
				 saving_part(s->reads_in_write_ns, read_only, s->reads_in_write_bytes) + beyond_ns,
				 0,
				 0 };
	struct saving saving = saving_remove(a, &all, "time of the reads, less what the writes may pay instead, and of the writes "
						      "beyond what was asked");

	if (!s->reads_in_write)
		return (struct evidence){ 0 };
	saving.low_ns = saving_remove(a, &least, "").low_ns;
	return (struct evidence){ s->reads_in_write,
				  s->reads_in_write_bytes,
				  all.ns,
				  s->dir[DIR_READ].first_ns,
				  s->dir[DIR_READ].last_ns,
				  saving };
}

static void detect_rmw(struct analysis *a, const struct detector *d)
{
	struct finding *f =
		builder_finish(detect_files(a, d, &(struct file_rule){ a->facts->lowest, rmw_fires, detect_layers_rmw }), "%s", "");
	char bytes[24], written[24];
	const struct file_layer *low;

	if (!f)
		return;
	low = file_layer_find(a, f->files[0].file, a->facts->lowest);
	words_bytes(bytes, sizeof(bytes), f->bytes);
	words_bytes(written, sizeof(written), low->sum->dir[DIR_WRITE].bytes);
	snprintf(f->evidence, sizeof(f->evidence),
		 "%llu reads inside calls that write: %s are read to be written back; %s are written to the file",
		 (unsigned long long)f->n, bytes, written);
}

const struct detector detector_X04 = {
	.code = "X04",
	.title = "writes read first (read-modify-write)",
	.on = "POSIX below an upper layer",
	.needs = NEED_SYSTEM | NEED_UPPER,
	.classes = CLASS_BIT(CLASS_WRITE),
	.when = "at least 10 reads of a data file are made inside writing calls of an upper layer, and their bytes are rmw_share "
		"of those written",
	.why = "data sieving or a partly written chunk reads a whole block, changes it and writes it back, under a lock",
	.topic = "rmw",
	.explains = "P05 P15 P06 P16 P09 P10 P11 P12 X01",
	.always_explains = true,
	.test = "rmw",
	.detect = detect_rmw,
};

/* ---- fill values ---- */

/* Bytes of the filled space that any rank wrote later; without offsets all of it. */
static uint64_t filled_again(const struct file_layer *f)
{
	uint64_t bytes = f->sum->filled_again;
	bool known = false;

	for (size_t i = 0; i < f->n; i++)
		for (size_t j = 0; j < f->n && f->v[i]->filled; j++) {
			known = true;
			bytes += i == j ? 0 : extents_common(f->v[i]->filled, f->v[j]->dir[DIR_WRITE].extents);
		}
	return known ? bytes : f->sum->writes_in_create_bytes;
}

enum filled { FILLED_UNKNOWN, FILLED_NO, FILLED_YES };

/* HDF5 fills "if set" only with a value of the program. fact: "HDF5 DATASET: Fill Time". */
static enum filled filled_by_hdf5(const struct analysis *a, const struct trace_fact *fact)
{
	size_t n, prefix = strlen(fact->name) - strlen("Time");
	const struct trace_fact *v = trace_facts_of(a->trace, fact->file, &n);

	if (!strcmp(fact->value, "never"))
		return FILLED_NO;
	if (!strcmp(fact->value, "at-allocation"))
		return FILLED_YES;
	for (size_t i = 0; i < n && !strcmp(fact->value, "if-set"); i++)
		if (!strncmp(v[i].name, fact->name, prefix) && !strcmp(v[i].name + prefix, "Value"))
			return !strcmp(v[i].value, "set") ? FILLED_YES :
			       !strcmp(v[i].value, "default") || !strcmp(v[i].value, "undefined") ? FILLED_NO : FILLED_UNKNOWN;
	return FILLED_UNKNOWN;
}

/* Whether fill values are written to objects of the file, by what its program has set: no, if that is known of all. */
static enum filled file_is_filled(const struct analysis *a, uint32_t file)
{
	size_t n, no = 0, unknown = a->trace->facts_unknown;
	const struct trace_fact *v = trace_facts_of(a->trace, file, &n);

	for (size_t i = 0; i < n; i++) {
		enum filled one = trace_fact_is(&v[i], ": Fill Time") ? filled_by_hdf5(a, &v[i]) :
				  !trace_fact_is(&v[i], ": Fill Mode") ? FILLED_UNKNOWN :
				  !strcmp(v[i].value, "fill") ? FILLED_YES :
				  !strcmp(v[i].value, "no-fill") ? FILLED_NO : FILLED_UNKNOWN;

		if (one == FILLED_YES)
			return FILLED_YES;
		no += one == FILLED_NO;
		unknown += one == FILLED_UNKNOWN && (trace_fact_is(&v[i], ": Fill Time") || trace_fact_is(&v[i], ": Fill Mode"));
	}
	return no && !unknown ? FILLED_NO : FILLED_UNKNOWN;
}

static bool fill_fires(const struct analysis *a, const struct file_layer *f)
{
	const struct dir_stat *w = &f->sum->dir[DIR_WRITE];
	uint64_t data = w->bytes - f->sum->writes_in_create_bytes;

	return f->sum->writes_in_create_bytes >= SMALL_BYTES && f->sum->writes_in_create_bytes >= a->thresholds.fill_share * data &&
	       file_is_filled(a, f->file) != FILLED_NO &&
	       filled_again(f) * 2 >= f->sum->writes_in_create_bytes;
}

/* At most their time: where the first write of a page or block costs most, the data's write is then the first one. */
static struct evidence detect_layers_fill(const struct analysis *a, const struct file_layer *f, const struct io_stat *s)
{
	struct removed fill = { a->facts->lowest, s->writes_in_create, 0, s->writes_in_create_ns, 0, 0 };

	(void)f;
	return (struct evidence){
		s->writes_in_create,
		s->writes_in_create_bytes,
		s->writes_in_create_ns,
		s->dir[DIR_WRITE].first_ns,
		s->dir[DIR_WRITE].last_ns,
		saving_at_most(saving_remove(a, &fill, "").high_ns,
			       "time of these writes; the data's writes may pay for the first use of space instead")
	};
}

static void detect_fill(struct analysis *a, const struct detector *d)
{
	struct finding *f = builder_finish(
		detect_files(a, d, &(struct file_rule){ a->facts->lowest, fill_fires, detect_layers_fill }), "%s", "");
	char bytes[24];

	if (!f)
		return;
	words_bytes(bytes, sizeof(bytes), f->bytes);
	f->inferred = file_is_filled(a, f->files[0].file) != FILLED_YES;
	snprintf(f->evidence, sizeof(f->evidence), "%s are written while datasets or variables are created, before any data%s",
		 bytes, f->inferred ? "" : "; the program has set that they are filled");
}

const struct detector detector_X05 = {
	.code = "X05",
	.title = "fill values are written",
	.on = "POSIX below HDF5 or netCDF",
	.needs = NEED_SYSTEM | NEED_UPPER,
	.classes = CLASS_BIT(CLASS_OPEN) | CLASS_BIT(CLASS_DEFINE) | CLASS_BIT(CLASS_RESIZE) | CLASS_BIT(CLASS_META),
	.when = "at least 1 MiB of a data file are written inside calls that create or define variables, and fill_share of the "
		"data written later; half of them are written again. Not if the program is known to have set that nothing is "
		"filled; inferred if that is not known",
	.why = "space is filled first and written over with data later: the same bytes go to disk twice",
	.topic = "fill",
	.explains = "P10 P12 X01",
	.always_explains = true,
	.test = "fill",
	.detect = detect_fill,
};

/* ---- streams ---- */

static bool stream_fires(const struct analysis *a, const struct file_layer *f)
{
	const struct dir_stat *r = &f->sum->dir[DIR_READ], *w = &f->sum->dir[DIR_WRITE];
	uint64_t n = r->n + w->n, bytes = r->bytes + w->bytes,
		 all = a->data_bytes[a->facts->lowest][0] + a->data_bytes[a->facts->lowest][1];

	return n >= a->thresholds.small_count && (double)bytes / (double)n < a->thresholds.stream_bytes &&
	       bytes >= a->thresholds.stream_share * all;
}

static struct evidence detect_layers_stream(const struct analysis *a, const struct file_layer *f, const struct io_stat *s)
{
	const struct dir_stat *r = &s->dir[DIR_READ], *w = &s->dir[DIR_WRITE];
	int dir = w->bytes > r->bytes ? DIR_WRITE : DIR_READ;
	uint64_t nested = s->meta[CLASS_READ].nested + s->meta[CLASS_WRITE].nested;

	return (struct evidence){ r->n + w->n,
				  r->bytes + w->bytes,
				  r->ns + w->ns,
				  r->first_ns < w->first_ns ? r->first_ns : w->first_ns,
				  r->last_ns > w->last_ns ? r->last_ns : w->last_ns,
				  { true, 0,
				    saving_larger(a,
						  &(struct removed){ LAYER_ISOC, r->n + w->n, nested, r->ns + w->ns,
								     r->gap_ns + w->gap_ns, r->late_ns + w->late_ns },
						  f->file, dir, r->bytes + w->bytes)
					    .high_ns,
				    "large requests in this trace; what a larger buffer saves of it depends on the calls" } };
}

static void detect_stream(struct analysis *a, const struct detector *d)
{
	struct finding *f =
		builder_finish(detect_files(a, d, &(struct file_rule){ LAYER_ISOC, stream_fires, detect_layers_stream }), "%s", "");
	char mean[24];

	if (!f)
		return;
	words_bytes(mean, sizeof(mean), f->n ? f->bytes / f->n : 0);
	snprintf(f->evidence, sizeof(f->evidence), "%llu stream operations of %s on average on data files",
		 (unsigned long long)f->n, mean);
}

const struct detector detector_S01 = {
	.code = "S01",
	.title = "data goes through buffered streams in small pieces",
	.on = "ISO C",
	.classes = CLASS_BIT(CLASS_READ) | CLASS_BIT(CLASS_WRITE),
	.when = "stream operations on a data file are small_count or more, of less than stream_bytes on average, and have "
		"stream_share of all bytes on data files",
	.why = "the stream's buffer (4 KiB) sets the size of the requests, and every byte is copied once more",
	.topic = "stream",
	.explains = "P05 P15 P06 P16",
	.always_explains = true,
	.test = "streams_small",
	.detect = detect_stream,
};
