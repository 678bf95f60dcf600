/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * From facts to findings: problems, their cost on the rank with the highest cost, and the possible saving of a change.
 */
#ifndef IOPROBE_ANALYSIS_ANALYSIS_H
#define IOPROBE_ANALYSIS_ANALYSIS_H

#include "analysis/cost_model.h"
#include "analysis/facts.h"
#include "analysis/thresholds.h"

enum severity { SEVERITY_NOTE, SEVERITY_WARN, SEVERITY_HIGH };
const char *severity_name(enum severity severity);

/* Facts that a detector needs to decide. */
enum need {
	NEED_OFFSETS = 1,
	NEED_ERRORS = 2,
	NEED_SYSTEM = 4,
	NEED_MPIIO = 8,
	NEED_RANKS = 16,
	NEED_BLOCKS = 32,
	NEED_UPPER = 64,
	NEED_STRIPES = 128,
	NEED_COMPUTE = 256,
	NEED_MEMORY = 512,
	NEED_HINTS = 1024,
	NEED_LOCKS = 2048,
	NEED_CHUNKS = 4096
};

#define FINDING_FILES 3
#define FINDING_CALLS 3
#define CLASS_BIT(class) (1u << (class))

struct analysis;
struct detail;
struct detector;

struct finding_file { uint32_t file; uint64_t n, bytes, ns; };
struct finding_call { uint32_t region, site; uint64_t n, ns; };
struct saving { bool known; uint64_t low_ns, high_ns; const char *basis; };   /* not known: high_ns is the cost, an upper bound */

struct finding {
	const struct detector *detector;
	const char *topic;              /* of advice: the detector's, or one that fits better */
	enum severity severity;
	bool inferred;                  /* not measured: the cause itself is not visible in the archive */
	const struct finding *cause;    /* another finding explains this one */
	uint64_t n, bytes, cost_ns, begin_ns, end_ns;
	uint32_t location;              /* with the highest cost */
	uint32_t nlocations, *locations;
	size_t nfiles;
	struct finding_file files[FINDING_FILES];
	unsigned ncalls;
	struct finding_call calls[FINDING_CALLS];
	struct saving saving;
	char evidence[512];
};

/* A detector: what it finds, which facts it needs, and the texts of its finding. explains: codes of findings on the same files of
 * which it is the cause. */
struct detector {
	const char *code, *title, *on, *when, *why, *topic, *explains, *test;
	unsigned needs, classes;        /* classes: of the calls that are named as its sites */
	bool always_explains;           /* also where it costs less than its effect */
	bool names_payers;              /* not all that have some of it */
	bool info, fine; /* says what kind of I/O it is, no mistake: never more than a note; fine: nothing to change */
	void (*detect)(struct analysis *a, const struct detector *d);
};
extern const struct detector *const detectors[];
extern const size_t ndetectors;
const struct detector *detector_by_code(const char *code);

/* The statistics of a file on a layer, and their sum. */
struct file_layer {
	uint32_t file;
	enum trace_layer layer;
	struct io_stat *const *v;
	size_t n;
	const struct io_stat *sum;      /* their sum, without extents; with one of them: this one */
};

struct analysis {
	struct facts *facts;
	struct trace *trace;
	struct thresholds thresholds;
	TRACE_ARRAY(struct file_layer, files);  /* by file, then layer */
	TRACE_ARRAY(struct finding *, findings); /* in order of severity */
	TRACE_ARRAY(const struct detector *, cannot_tell);
	const struct detail *detail;            /* NULL: the second pass was not made */
	struct cost_model models[FS_KINDS][DIRS];
	uint64_t data_bytes[LAYERS][DIRS];      /* on data files */
	uint64_t data_n[DIRS], small_n[DIRS], small_bytes[DIRS]; /* of the lowest layer on data files: operations, small ones */
	uint32_t worst;                         /* location with the most I/O time, TRACE_NONE */
	uint64_t worst_wall_ns;
	bool failed;                            /* out of memory */
};

int analysis_run(struct analysis *a, struct facts *facts, char *err, size_t err_len);
void analysis_free(struct analysis *a);
unsigned analysis_facts(const struct analysis *a);     /* bits of enum need that the archive contains */

/* Returns the wall time of a location's process: as recorded, or the span of its events. */
uint64_t location_wall_ns(const struct analysis *a, uint32_t location);
bool location_counts(const struct analysis *a, uint32_t location);      /* it belongs to a rank, or there are no ranks */
/* "rank 2", "rank 2/Thread 3" or the process' name. */
void location_name(const struct analysis *a, uint32_t location, char *name, size_t len);
int64_t location_rank(const struct analysis *a, uint32_t location);
/* Formats the findings' ranks as "0-3,7", or processes. */
void finding_ranks(const struct analysis *a, const struct finding *f, char *text, size_t len);
/* Returns the source of a call site, NULL if unknown. */
const struct trace_site *site_source(const struct trace *trace, uint32_t site);
/* Formats "file.c:12 in function", "" if unknown. */
void site_text(const struct trace *trace, uint32_t site, char *text, size_t len);
const char *file_name(const struct analysis *a, uint32_t file);
const struct file_layer *file_layer_find(const struct analysis *a, uint32_t file, enum trace_layer layer);

/* ---- for detectors ---- */

struct evidence { uint64_t n, bytes, ns, begin_ns, end_ns; struct saving saving; };

struct builder;
struct builder *builder_new(struct analysis *a, const struct detector *d);
void builder_add(struct builder *b, uint32_t file, uint32_t location, const struct evidence *e);
/* A call that the evidence is of, named as a site; without any: all calls of the detector's classes on the files. */
void builder_add_call(struct builder *b, const struct call_stat *c);
/* Makes the finding and frees the builder; NULL if nothing was added. */
struct finding *builder_finish(struct builder *b, const char *format, ...) __attribute__((format(printf, 2, 3)));
void builder_drop(struct builder *b);

/* Applies a rule to each data file of matching layers: if fires accepts the sum, evidence is added for each location. Returns the
 * builder, or NULL. */
struct file_rule {
	enum trace_layer layer;
	bool (*fires)(const struct analysis *a, const struct file_layer *f);
	struct evidence (*evidence)(const struct analysis *a, const struct file_layer *f, const struct io_stat *s);
};
struct builder *detect_files(struct analysis *a, const struct detector *d, const struct file_rule *rule);

/* Calls that a change would remove: n of a layer with nested recorded calls inside, their time, and the short times before them
 * (gap_ns of the facts), which go with the loop that makes the calls. late_ns: the part of ns that is late_ns of the facts. */
struct removed { enum trace_layer layer; uint64_t n, nested, ns, gap_ns, late_ns; };
/* The calls are removed completely. The recorder's own time is subtracted. */
struct saving saving_remove(const struct analysis *a, const struct removed *r, const char *basis);
/* Their bytes stay, in requests of 4 MiB: so does the time of a few calls that took far longer than the others. */
struct saving saving_larger(const struct analysis *a, const struct removed *r, uint32_t file, int dir, uint64_t bytes);
/* The part of a sum that k of n calls have. */
static inline uint64_t saving_part(uint64_t sum, uint64_t k, uint64_t n)
{
	return n ? (uint64_t)((double)sum * k / n) : 0;
}
/* Between nothing and this time. */
struct saving saving_at_most(uint64_t ns, const char *basis);

#endif
