/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Calls of upper layers that cause many, larger or repeated calls in lower layers.
 */
#include <stdio.h>

#include "analysis/detectors.h"
#include "analysis/words.h"

static const struct file_layer *detect_upper_above(const struct analysis *a, const struct file_layer *f, enum trace_layer layer)
{
	return file_layer_find(a, f->file, layer);
}

/* Returns the statistics of a location on a file at a layer, NULL if there are none. */
static const struct io_stat *of_location(const struct file_layer *f, uint32_t location)
{
	for (size_t i = 0; f && i < f->n; i++)
		if (f->v[i]->key.location == location)
			return f->v[i];
	return NULL;
}

/* ---- amplification: bytes requested by all ranks compared with bytes moved below ---- */

static const struct file_layer *data_layer(const struct analysis *a, const struct file_layer *f)
{
	for (enum trace_layer l = 0; l < LAYER_ISOC; l++) {
		const struct file_layer *x = detect_upper_above(a, f, l);

		if (x && x->sum->dir[0].n + x->sum->dir[1].n)
			return x;
	}
	return NULL;
}

/* What fills a file when its variables are defined is no work of an operation on data (X05 is about that). */
static uint64_t moved_bytes(const struct io_stat *s)
{
	return s->dir[0].bytes + s->dir[1].bytes - s->writes_in_create_bytes;
}

static uint64_t moved_n(const struct io_stat *s)
{
	return s->dir[0].n + s->dir[1].n - s->writes_in_create;
}

static bool amplified_fires(const struct analysis *a, const struct file_layer *f)
{
	const struct file_layer *top = data_layer(a, f);
	uint64_t asked, below, calls;

	if (!top || top->sum->dir[0].unknown + top->sum->dir[1].unknown)
		return false;
	asked = top->sum->dir[0].asked + top->sum->dir[1].asked;
	below = moved_bytes(f->sum);
	calls = top->sum->dir[0].n + top->sum->dir[1].n;
	return asked && below >= SMALL_BYTES && (below >= a->thresholds.amplified_bytes * asked ||
	       moved_n(f->sum) >= a->thresholds.amplified_calls * calls);
}

static struct evidence detect_upper_amplified(const struct analysis *a, const struct file_layer *f, const struct io_stat *s)
{
	const struct dir_stat *r = &s->dir[0], *w = &s->dir[1];
	uint64_t n = moved_n(s), bytes = moved_bytes(s), ns = r->ns + w->ns - s->writes_in_create_ns;

	return (struct evidence){
		n,
		bytes,
		ns,
		r->first_ns < w->first_ns ? r->first_ns : w->first_ns,
		r->last_ns > w->last_ns ? r->last_ns : w->last_ns,
		saving_at_most(saving_larger(a,
					     &(struct removed){ a->facts->lowest, n, 0, ns, 0, r->late_ns + w->late_ns },
					     f->file, w->bytes > r->bytes, bytes)
				       .high_ns,
			       "large requests in this trace")
	};
}

static void detect_amplified(struct analysis *a, const struct detector *d)
{
	struct finding *f = builder_finish(
		detect_files(a, d, &(struct file_rule){ a->facts->lowest, amplified_fires, detect_upper_amplified }), "%s", "");
	const struct file_layer *low, *top;
	char asked[24], moved[24];

	if (!f)
		return;
	low = file_layer_find(a, f->files[0].file, a->facts->lowest);
	top = data_layer(a, low);
	words_bytes(asked, sizeof(asked), top->sum->dir[0].asked + top->sum->dir[1].asked);
	words_bytes(moved, sizeof(moved), moved_bytes(low->sum));
	snprintf(f->evidence, sizeof(f->evidence), "%llu %s operations ask for %s, %llu operations below move %s",
		 (unsigned long long)top->sum->dir[0].n + top->sum->dir[1].n, trace_layer_name(top->layer), asked,
		 (unsigned long long)moved_n(low->sum), moved);
}

const struct detector detector_X01 = {
	.code = "X01",
	.title = "one call becomes many or larger ones below",
	.on = "a file's highest layer and POSIX",
	.needs = NEED_SYSTEM | NEED_UPPER,
	.classes = CLASS_BIT(CLASS_READ) | CLASS_BIT(CLASS_WRITE),
	.when = "for each operation of a file's highest layer there are amplified_calls below, or for each byte asked "
		"amplified_bytes; both summed over all ranks, without the writes inside calls that create or define",
	.why = "the layout in the file does not fit the order in which the program reads or writes",
	.topic = "layout",
	.explains = "P05 P15 P06 P16 P09 P10 P11 P12",
	.test = "synthetic_amplified",
	.detect = detect_amplified,
};

/* ---- strided access requested from above ---- */

static void detect_strided(struct analysis *a, const struct detector *d)
{
	struct builder *b = builder_new(a, d);
	uint64_t most = 0;
	struct finding *f;

	for (size_t i = 0; b && i < a->facts->calls.n; i++) {
		const struct call_stat *c = a->facts->calls.v[i];
		uint64_t bytes = c->below_bytes[0] + c->below_bytes[1], nested = saving_part(c->frames - c->n, c->uniform, c->n);

		if (!c->uniform || c->key.region == TRACE_NONE || c->key.file >= a->trace->files.n ||
		    a->facts->file_class[c->key.file] != FILE_DATA)
			continue;
		most = c->most_below > most ? c->most_below : most;
		builder_add(
			b, c->key.file, c->key.location,
			&(struct evidence){ c->uniform, bytes, c->uniform_ns, c->first_ns, c->last_ns,
					    saving_larger(a,
							  &(struct removed){ a->trace->regions.v[c->key.region].layer, c->uniform,
									     nested, c->uniform_ns, c->outer_gap_ns, 0 },
							  c->key.file, c->below_n[1] > 0, bytes) });
		builder_add_call(b, c);
	}
	f = builder_finish(b, "%s", "");
	if (f)
		snprintf(f->evidence, sizeof(f->evidence),
			 "%llu calls each become up to %llu operations of one size at one distance", (unsigned long long)f->n,
			 (unsigned long long)most);
}

const struct detector detector_X20 = {
	.code = "X20",
	.title = "a call is served in many strided pieces",
	.on = "upper layers",
	.needs = NEED_SYSTEM | NEED_UPPER | NEED_OFFSETS,
	.classes = CLASS_BIT(CLASS_READ) | CLASS_BIT(CLASS_WRITE),
	.when = "one call of an upper layer has at least 256 operations of less than 64 KiB below it, nine in ten of one size and "
		"at one distance",
	.why = "the slab that is read or written lies across the order of the dimensions in the file",
	.topic = "layout",
	.explains = "X01 P05 P15 P06 P16 P09 P10 P11 P12",
	.always_explains = true,
	.test = "strided",
	.detect = detect_strided,
};

/* ---- header relocation ---- */

static bool header_fires(const struct analysis *a, const struct file_layer *f)
{
	const struct io_stat *s = f->sum;

	return s->relocated_read >= a->thresholds.header_bytes && s->relocated_written >= a->thresholds.header_bytes;
}

/* At least the reads and writes, at most all of the calls in which they stand. */
static struct evidence detect_upper_header(const struct analysis *a, const struct file_layer *f, const struct io_stat *s)
{
	struct saving low = saving_remove(a, &(struct removed){ a->facts->lowest, s->relocations, 0, s->relocation_ns, 0, 0 }, "");
	struct saving high = saving_remove(a, &(struct removed){ LAYER_NETCDF, 1, s->relocations, s->relocation_frame_ns, 0, 0 },
					   "");

	(void)f;
	return (struct evidence){ s->relocations,
				  s->relocated_written,
				  s->relocation_ns,
				  s->dir[DIR_READ].first_ns,
				  s->dir[DIR_WRITE].last_ns,
				  { true, low.low_ns, high.high_ns > low.high_ns ? high.high_ns : low.high_ns,
				    "time of these reads and writes, up to that of the calls that make them" } };
}

static void detect_header(struct analysis *a, const struct detector *d)
{
	struct finding *f = builder_finish(
		detect_files(a, d, &(struct file_rule){ a->facts->lowest, header_fires, detect_upper_header }), "%s", "");
	char bytes[24];

	if (!f)
		return;
	words_bytes(bytes, sizeof(bytes), f->bytes);
	snprintf(f->evidence, sizeof(f->evidence), "%s of data are read and written elsewhere while definitions end", bytes);
}

const struct detector detector_X13 = {
	.code = "X13",
	.title = "the header grows and all data moves",
	.on = "POSIX below netCDF or PnetCDF",
	.needs = NEED_SYSTEM | NEED_UPPER,
	.classes = CLASS_BIT(CLASS_DEFINE) | CLASS_BIT(CLASS_CLOSE),
	.when = "one call that ends definitions or closes a file reads and writes again at least header_bytes of it, and half of "
		"what the file has",
	.why = "new attributes or variables do not fit the space before the data, so the library copies the whole file",
	.topic = "header",
	.explains = "P09 P10 P11 P12 P05 P15 P06 P16 X01 X04 X05 X23",
	.always_explains = true,
	.test = "header",
	.detect = detect_header,
};

/* ---- repeated define mode ---- */

/* Changes to define mode and back, without one of them. */
static struct removed define_cycles(const struct io_stat *s, enum trace_layer layer)
{
	uint64_t ends = s->meta[CLASS_DEFINE].n, left = ends ? ends - 1 : 0;
	struct removed r = { .layer = layer };

	for (enum call_class c = CLASS_DEFINE; c <= CLASS_REDEFINE; c++) {
		r.n += saving_part(s->meta[c].n, left, ends);
		r.ns += saving_part(s->meta[c].ns, left, ends);
		r.nested += saving_part(s->meta[c].nested, left, ends);
		r.gap_ns += saving_part(s->meta[c].gap_ns, left, ends);
	}
	return r;
}

static void detect_define(struct analysis *a, const struct detector *d)
{
	struct builder *b = builder_new(a, d);
	struct finding *f;

	for (size_t i = 0; b && i < a->files.n; i++) {
		const struct file_layer *x = &a->files.v[i];

		if (x->layer != LAYER_NETCDF && x->layer != LAYER_PNETCDF)
			continue;
		for (size_t j = 0; j < x->n; j++) {
			struct removed r = define_cycles(x->v[j], x->layer);

			if (x->v[j]->meta[CLASS_DEFINE].n > a->thresholds.redefine_count)
				builder_add(
					b, x->file, x->v[j]->key.location,
					&(struct evidence){
						x->v[j]->meta[CLASS_DEFINE].n, 0, r.ns, 0, 0,
						saving_remove(a, &r, "time of all changes between defining and writing but one") });
		}
	}
	f = builder_finish(b, "%s", "");
	if (f)
		snprintf(f->evidence, sizeof(f->evidence), "definitions end %llu times", (unsigned long long)f->n);
}

const struct detector detector_X14 = {
	.code = "X14",
	.title = "definitions are ended again and again",
	.on = "netCDF, PnetCDF",
	.needs = NEED_UPPER,
	.classes = CLASS_BIT(CLASS_DEFINE),
	.when = "one thread ends the definitions of a file more than redefine_count times",
	.why = "each end writes the header, and in a parallel file all ranks meet",
	.topic = "define",
	.explains = "X08 X23 X05 X01 P06 P16 P10 P12 X33",
	.always_explains = true,
	.test = "define",
	.detect = detect_define,
};

/* ---- metadata in small pieces ---- */

static bool dribble_fires(const struct analysis *a, const struct file_layer *f)
{
	return f->sum->meta_writes >= 10 * a->thresholds.small_count && f->sum->meta_writes * 5 >= f->sum->dir[DIR_WRITE].n;
}

static struct evidence detect_upper_dribble(const struct analysis *a, const struct file_layer *f, const struct io_stat *s)
{
	(void)f;
	return (struct evidence){ s->meta_writes,
				  0,
				  s->meta_writes_ns,
				  s->dir[DIR_WRITE].first_ns,
				  s->dir[DIR_WRITE].last_ns,
				  saving_remove(a,
						&(struct removed){ a->facts->lowest, s->meta_writes, 0, s->meta_writes_ns, 0, 0 },
						"time of these writes") };
}

static void detect_dribble(struct analysis *a, const struct detector *d)
{
	struct finding *f = builder_finish(
		detect_files(a, d, &(struct file_rule){ a->facts->lowest, dribble_fires, detect_upper_dribble }), "%s", "");
	bool flushed;

	if (!f)
		return;
	flushed = f->ncalls && a->facts->region_class[f->calls[0].region] == CLASS_SYNC;
	if (flushed)
		f->topic = "sync";
	snprintf(f->evidence, sizeof(f->evidence), "%llu small writes in calls that write no data of the program%s",
		 (unsigned long long)f->n, flushed ? ", most of them flushes" : "");
}

const struct detector detector_X23 = {
	.code = "X23",
	.title = "a library writes its metadata in small pieces",
	.on = "POSIX below an upper layer",
	.needs = NEED_SYSTEM | NEED_UPPER,
	.classes = CLASS_BIT(CLASS_OPEN) | CLASS_BIT(CLASS_CLOSE) | CLASS_BIT(CLASS_ATTRIBUTE) | CLASS_BIT(CLASS_SYNC) |
		   CLASS_BIT(CLASS_META),
	.when = "at least ten times small_count writes of 64 KiB or less on a data file are made inside calls that write no data, "
		"a fifth of all writes",
	.why = "object headers, indices and attributes go to the file one by one",
	.topic = "metadata_blocks",
	.explains = "P06 P16 P12 P10 X01",
	.always_explains = true,
	.test = "attributes",
	.detect = detect_dribble,
};

/* ---- chunks in pieces ---- */

static void detect_pieces(struct analysis *a, const struct detector *d)
{
	struct builder *b = builder_new(a, d);
	uint64_t n = 0, below = 0;
	struct removed removed;
	struct finding *f;

	for (size_t i = 0; b && i < a->facts->calls.n; i++) {
		const struct call_stat *c = a->facts->calls.v[i];

		if (!c->pieces || c->key.file >= a->trace->files.n || a->facts->file_class[c->key.file] != FILE_DATA)
			continue;
		n += c->pieces;
		below += c->pieces_n;
		removed = (struct removed){ LAYER_HDF5, c->pieces, c->pieces_n, c->pieces_ns, 0, 0 };
		builder_add(b, c->key.file, c->key.location,
			    &(struct evidence){ c->pieces, c->pieces_bytes, c->pieces_ns, c->first_ns, c->last_ns,
						saving_larger(a, &removed, c->key.file, c->below_n[1] > 0, c->pieces_bytes) });
		builder_add_call(b, c);
	}
	f = builder_finish(b, "%s", "");
	if (f)
		snprintf(f->evidence, sizeof(f->evidence),
			 "%llu calls on chunked datasets become %llu requests: their chunks are not kept in the cache",
			 (unsigned long long)n, (unsigned long long)below);
}

const struct detector detector_X21 = {
	.code = "X21",
	.title = "HDF5 reads or writes a chunk in many small pieces",
	.on = "POSIX below HDF5",
	.needs = NEED_SYSTEM | NEED_UPPER | NEED_CHUNKS,
	.classes = CLASS_BIT(CLASS_READ) | CLASS_BIT(CLASS_WRITE),
	.when = "one call of HDF5 on a dataset that is known to be chunked has at least 64 data calls of 4 KiB or less below it",
	.why = "a chunk that does not fit into the cache is not kept: each piece is read or written by itself",
	.topic = "chunk_cache",
	.explains = "X20 X01 P05 P15 P06 P16 P09 P10 P11 P12",
	.always_explains = true,
	.test = "bypass",
	.detect = detect_pieces,
};

/* ---- chunks read again ---- */

static bool thrash_fires(const struct analysis *a, const struct file_layer *f)
{
	const struct dir_stat *r = &f->sum->dir[DIR_READ];

	return detect_upper_above(a, f, LAYER_HDF5) && !r->doubtful && r->again_bytes >= a->thresholds.again_bytes &&
	       r->again * 2 >= r->n && r->nested == r->n;
}

static struct evidence detect_upper_thrash(const struct analysis *a, const struct file_layer *f, const struct io_stat *s)
{
	const struct io_stat *upper = of_location(detect_upper_above(a, f, LAYER_HDF5), s->key.location);
	const struct dir_stat *r = &s->dir[DIR_READ];
	uint64_t ns = upper && r->n ? (uint64_t)((double)upper->dir[DIR_READ].ns * r->again / r->n) : r->again_ns;
	uint64_t frames = upper ? saving_part(upper->dir[DIR_READ].n, r->again, r->n) : 0;
	struct saving low = saving_remove(a, &(struct removed){ a->facts->lowest, r->again, 0, r->again_ns, 0, 0 }, "");
	struct saving high = saving_remove(a, &(struct removed){ LAYER_HDF5, frames, r->again, ns, 0, 0 }, "");

	return (struct evidence){ r->again, r->again_bytes, ns, r->first_ns, r->last_ns,
				  { true, low.low_ns, high.high_ns,
				    "time of the repeated reads, up to that of the calls above them" } };
}

static void detect_thrash(struct analysis *a, const struct detector *d)
{
	struct finding *f = builder_finish(
		detect_files(a, d, &(struct file_rule){ a->facts->lowest, thrash_fires, detect_upper_thrash }), "%s", "");
	char bytes[24];

	if (!f)
		return;
	words_bytes(bytes, sizeof(bytes), f->bytes);
	f->inferred = true;
	snprintf(f->evidence, sizeof(f->evidence), "HDF5 reads %s again that it has read before, in %llu requests", bytes,
		 (unsigned long long)f->n);
}

const struct detector detector_X06 = {
	.code = "X06",
	.title = "HDF5 reads the same chunks again and again",
	.on = "POSIX below HDF5",
	.needs = NEED_SYSTEM | NEED_UPPER | NEED_OFFSETS,
	.classes = CLASS_BIT(CLASS_READ),
	.when = "at least half of the reads below HDF5 on a file, and again_bytes, are of data that the same thread has read "
		"before",
	.why = "the chunk cache is smaller than the chunks that one pass touches: each is read, and unpacked, once for every piece",
	.topic = "chunk_cache",
	.explains = "P09 P05 P15 P11 X01 X20 X33",
	.always_explains = true,
	.test = "chunks",
	.detect = detect_thrash,
};
