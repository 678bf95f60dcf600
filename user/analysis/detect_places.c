/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Where files are, how many are created, and how a library's metadata is read.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/detectors.h"
#include "analysis/words.h"

/* ---- many files ---- */

struct created { const char *name; size_t len; const struct file_layer *f; };  /* name, len: of the directory */

static int by_directory(const void *a, const void *b)
{
	const struct created *x = a, *y = b;
	int order = memcmp(x->name, y->name, x->len < y->len ? x->len : y->len);

	if (order)
		return order;
	return x->len < y->len ? -1 : x->len > y->len ? 1 : x->f < y->f ? -1 : x->f > y->f;
}

static size_t list_created(struct analysis *a, struct created *list)
{
	size_t n = 0;

	for (size_t i = 0; i < a->files.n; i++) {
		const struct file_layer *f = &a->files.v[i];
		const char *name = file_name(a, f->file), *slash = strrchr(name, '/');

		if (f->layer == a->facts->lowest && f->sum->created && a->facts->file_class[f->file] == FILE_DATA && slash)
			list[n++] = (struct created){ name, slash - name, f };
	}
	qsort(list, n, sizeof(*list), by_directory);
	return n;
}

/* All calls that open, close or remove the file. */
static struct removed all_of_file(const struct analysis *a, const struct io_stat *s)
{
	static const enum call_class classes[] = { CLASS_OPEN, CLASS_CLOSE, CLASS_DELETE };
	struct removed r = { .layer = a->facts->lowest };

	for (size_t i = 0; i < sizeof(classes) / sizeof(*classes); i++) {
		r.n += s->meta[classes[i]].n;
		r.ns += s->meta[classes[i]].ns;
		r.gap_ns += s->meta[classes[i]].gap_ns;
		r.late_ns += s->meta[classes[i]].late_ns;
	}
	return r;
}

static void add_created(struct analysis *a, struct builder *b, const struct file_layer *f)
{
	for (size_t i = 0; i < f->n; i++) {
		struct removed r = all_of_file(a, f->v[i]);

		builder_add(b, f->file, f->v[i]->key.location,
			    &(struct evidence){ r.n, 0, r.ns, 0, 0,
						saving_remove(a, &r, "time of opening, closing and removing these files") });
	}
}

static void detect_creations(struct analysis *a, const struct detector *d)
{
	struct created *list = calloc(a->files.n + 1, sizeof(*list));
	struct builder *b = list ? builder_new(a, d) : NULL;
	size_t n = b ? list_created(a, list) : 0, most = 0;
	const struct created *where = NULL;
	struct finding *f;

	a->failed |= !list;
	for (size_t i = 0, j; i < n; i = j) {
		for (j = i; j < n && list[j].len == list[i].len && !memcmp(list[j].name, list[i].name, list[i].len); j++)
			;
		if (j - i < a->thresholds.create_count)
			continue;
		for (size_t k = i; k < j; k++)
			add_created(a, b, list[k].f);
		if (j - i > most) {
			most = j - i;
			where = &list[i];
		}
	}
	f = builder_finish(b, "%s", "");
	if (f)
		snprintf(f->evidence, sizeof(f->evidence), "%zu files are created in one directory, %.*s", most,
			 (int)(where->len < 300 ? where->len : 300), where->name);
	free(list);
}

const struct detector detector_X27 = {
	.code = "X27",
	.title = "many files are created in one directory",
	.on = "POSIX",
	.needs = NEED_SYSTEM,
	.classes = CLASS_BIT(CLASS_OPEN),
	.when = "at least create_count data files are created in one directory",
	.why = "a directory is changed by one client at a time: creations wait for each other, on all nodes",
	.topic = "many_files",
	.explains = "P17 X07",
	.always_explains = true,
	.test = "creations",
	.detect = detect_creations,
};

/* ---- a slow file system beside a parallel one ---- */

static bool detect_places_is_one_of(const char *type, const char *const *types, size_t n)
{
	for (size_t i = 0; type && i < n; i++)
		if (!strcmp(type, types[i]))
			return true;
	return false;
}

static bool on_parallel(const struct trace_file *f)
{
	static const char *const types[] = { "lustre", "gpfs", "beegfs", "pvfs2", "orangefs", "ceph", "wekafs", "daos" };

	return detect_places_is_one_of(trace_mount_of(f)->fs_type, types, sizeof(types) / sizeof(*types));
}

static bool on_home(const struct trace_file *f)
{
	static const char *const types[] = { "nfs", "nfs4", "cifs", "smb3", "overlay", "fuse.sshfs", "9p" };

	return detect_places_is_one_of(trace_mount_of(f)->fs_type, types, sizeof(types) / sizeof(*types));
}

static void detect_place(struct analysis *a, const struct detector *d)
{
	struct builder *b = NULL;
	bool parallel = false;
	struct finding *f;

	for (size_t i = 0; i < a->files.n; i++)
		parallel |= a->facts->file_class[a->files.v[i].file] == FILE_DATA &&
			    on_parallel(&a->trace->files.v[a->files.v[i].file]);
	for (size_t i = 0; parallel && i < a->files.n; i++) {
		const struct file_layer *x = &a->files.v[i];

		if (x->layer != a->facts->lowest || a->facts->file_class[x->file] != FILE_DATA ||
		    !on_home(&a->trace->files.v[x->file]))
			continue;
		for (size_t j = 0; j < x->n; j++) {
			const struct io_stat *s = x->v[j];
			uint64_t n = s->dir[0].n + s->dir[1].n;

			if (s->ns < a->thresholds.place_share * a->facts->locations[s->key.location].io_ns ||
			    (!b && !(b = builder_new(a, d))))
				continue;
			builder_add(b, x->file, s->key.location,
				    &(struct evidence){
					    n ? n : s->calls, s->dir[0].bytes + s->dir[1].bytes, s->ns, 0, 0,
					    saving_at_most(s->ns, "all of it, if the parallel file system costs nothing") });
		}
	}
	f = builder_finish(b, "%s", "");
	if (f) {
		f->inferred = true;
		snprintf(f->evidence, sizeof(f->evidence), "%zu data file%s on %s, while the job also uses a parallel file system",
			 f->nfiles, f->nfiles == 1 ? " is" : "s are",
			 trace_mount_of(&a->trace->files.v[f->files[0].file])->fs_type);
	}
}

const struct detector detector_X28 = {
	.code = "X28",
	.title = "data is on a file system that is not made for it",
	.on = "POSIX",
	.needs = NEED_SYSTEM,
	.classes = CLASS_BIT(CLASS_READ) | CLASS_BIT(CLASS_WRITE),
	.when = "a data file on NFS, CIFS or a container's overlay takes place_share of a rank's I/O time, and the job has data on "
		"a parallel file system too",
	.why = "one server, or one disk below a container, serves all ranks",
	.topic = "place",
	.test = "synthetic_place",
	.detect = detect_place,
};

/* ---- one path, many local files ---- */

static const char *detect_places_node_of(const struct analysis *a, uint32_t file)
{
	uint32_t node = a->trace->files.v[file].scope;

	return node < a->trace->nodes.n && a->trace->nodes.v[node].class && !strcmp(a->trace->nodes.v[node].class, "node")
		       ? a->trace->nodes.v[node].name
		       : NULL;
}

static int detect_places_by_name(const void *a, const void *b)
{
	const struct created *x = a, *y = b;
	int order = strcmp(x->name, y->name);

	return order ? order : x->f < y->f ? -1 : x->f > y->f;
}

/* What some nodes write and others only read is not the same file there. */
static bool detect_places_differs(const struct created *list, size_t begin, size_t end)
{
	bool writes = false, reads = false;

	for (size_t i = begin; i < end; i++) {
		writes |= list[i].f->sum->dir[DIR_WRITE].n > 0;
		reads |= list[i].f->sum->dir[DIR_READ].n && !list[i].f->sum->dir[DIR_WRITE].n;
	}
	return writes && reads;
}

static void detect_local(struct analysis *a, const struct detector *d)
{
	struct created *list = calloc(a->files.n + 1, sizeof(*list));
	struct builder *b = list ? builder_new(a, d) : NULL;
	size_t n = 0, names = 0;
	bool warn = false;
	struct finding *f;

	a->failed |= !list;
	for (size_t i = 0; b && i < a->files.n; i++)
		if (a->files.v[i].layer == a->facts->lowest && a->facts->file_class[a->files.v[i].file] == FILE_DATA &&
		    detect_places_node_of(a, a->files.v[i].file))
			list[n++] = (struct created){ file_name(a, a->files.v[i].file), 0, &a->files.v[i] };
	if (n)
		qsort(list, n, sizeof(*list), detect_places_by_name);
	for (size_t i = 0, j; i < n; i = j) {
		for (j = i; j < n && !strcmp(list[j].name, list[i].name); j++)
			;
		if (j - i < 2)
			continue;
		names++;
		warn |= detect_places_differs(list, i, j);
		for (size_t k = i; k < j; k++)
			for (size_t s = 0; s < list[k].f->n; s++)
				builder_add(b, list[k].f->file, list[k].f->v[s]->key.location,
					    &(struct evidence){
						    list[k].f->v[s]->calls, 0, 0, 0, 0,
						    saving_at_most(0, "nothing to save: it may be a mistake of the path") });
	}
	f = builder_finish(b, "%zu path%s local to several nodes: %s", names, names == 1 ? " is" : "s are",
			   warn ? "some nodes write what others only read" : "each node has files of its own");
	if (f && warn)
		f->severity = SEVERITY_WARN;    /* by what it may mean */
	free(list);
}

const struct detector detector_X11 = {
	.code = "X11",
	.title = "one path means another file on each node",
	.on = "POSIX",
	.needs = NEED_SYSTEM,
	.classes = CLASS_BIT(CLASS_OPEN) | CLASS_BIT(CLASS_READ) | CLASS_BIT(CLASS_WRITE),
	.when = "a data file's path is used on several nodes, and is on a file system that is local to each; a warning if one node "
		"only reads what another writes",
	.why = "what one node writes there, the others do not see",
	.topic = "place",
	.test = "synthetic_local",
	.detect = detect_local,
};

/* ---- HDF5 metadata by all ranks ---- */

static bool metadata_fires(const struct analysis *a, const struct file_layer *f)
{
	const struct file_layer *mpi = file_layer_find(a, f->file, LAYER_MPIIO);
	uint64_t ranks = 0;

	if (!mpi || mpi->n < 2 || !file_layer_find(a, f->file, LAYER_HDF5))
		return false;
	for (size_t i = 0; i < f->n; i++)
		ranks += f->v[i]->meta_reads >= a->thresholds.meta_reads_count && location_rank(a, f->v[i]->key.location) >= 0;
	return ranks >= 2 && ranks * 2 >= a->facts->nranks;
}

/* The calls of HDF5 on the file that move no data, at one location. */
static struct removed metadata_calls(const struct analysis *a, uint32_t file, uint32_t location)
{
	struct removed r = { .layer = LAYER_HDF5 };

	for (size_t i = 0; i < a->facts->calls.n; i++) {
		const struct call_stat *c = a->facts->calls.v[i];

		if (c->key.file == file && c->key.location == location && c->outer_n && c->class > CLASS_WRITE &&
		    c->key.region != TRACE_NONE && a->trace->regions.v[c->key.region].layer == LAYER_HDF5) {
			r.n += c->outer_n;
			r.nested += c->frames - c->n;
			r.ns += c->outer_ns;
		}
	}
	return r;
}

static struct evidence detect_places_metadata(const struct analysis *a, const struct file_layer *f, const struct io_stat *s)
{
	struct removed r = metadata_calls(a, f->file, s->key.location);

	if (r.ns < s->meta_reads_ns)
		r = (struct removed){ a->facts->lowest, s->meta_reads, 0, s->meta_reads_ns, 0, 0 };
	return (struct evidence){ s->meta_reads,
				  0,
				  r.ns,
				  s->dir[DIR_READ].first_ns,
				  s->dir[DIR_READ].last_ns,
				  saving_at_most(saving_remove(a, &r, "").high_ns,
						 "time of HDF5's calls that move no data, if one rank reads for all") };
}

static void detect_independent_metadata(struct analysis *a, const struct detector *d)
{
	struct finding *f = builder_finish(
		detect_files(a, d, &(struct file_rule){ a->facts->lowest, metadata_fires, detect_places_metadata }), "%s", "");

	if (f)
		snprintf(f->evidence, sizeof(f->evidence),
			 "%u ranks read HDF5's metadata, each by itself: %llu small reads in calls that move no data",
			 f->nlocations, (unsigned long long)f->n);
}

const struct detector detector_X22 = {
	.code = "X22",
	.title = "every rank reads HDF5's metadata",
	.on = "POSIX below HDF5",
	.needs = NEED_SYSTEM | NEED_UPPER | NEED_MPIIO | NEED_RANKS,
	.classes = CLASS_BIT(CLASS_OPEN) | CLASS_BIT(CLASS_ATTRIBUTE) | CLASS_BIT(CLASS_META) | CLASS_BIT(CLASS_CLOSE),
	.when = "half of the ranks make at least meta_reads_count reads of 64 KiB or less each, inside calls of HDF5 that move no "
		"data, on a file that they opened together",
	.why = "the same small blocks are read once for each rank",
	.topic = "collective_metadata",
	.explains = "P05 P15 P11 P09 X18 X01 M02",
	.test = "synthetic_metadata",
	.detect = detect_independent_metadata,
};
