/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Worker threads, each with its own OTF2 reader: readers share nothing, so they do not wait for each other. The library may loop
 * forever in a damaged file: a file cannot have more events than bytes, and a process that consumes CPU time without progress is
 * terminated.
 */
#include "trace/read.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <otf2/otf2.h>

#include "otf2/otf2_library.h"
#include "trace/events.h"

#define NO_PROGRESS_S 30        /* CPU time of the process, not wall time: a busy machine does not mean damage */

struct shared {
	struct trace *trace;
	const struct trace_visitor *visitor;
	atomic_size_t next;             /* next location to read */
	atomic_ullong progress;         /* locations begun and blocks of events */
	atomic_int error;
	atomic_bool done;
	char err[512];
	pthread_mutex_t lock;
};

struct worker { struct shared *shared; void *data; pthread_t thread; bool started; };

/* ---- one location ---- */

static uint64_t event_file_bytes(const struct trace *trace, uint64_t id)
{
	size_t stem = strlen(trace->anchor) > 5 ? strlen(trace->anchor) - 5 : 0;       /* without ".otf2" */
	char path[4300];
	struct stat st;

	snprintf(path, sizeof(path), "%.*s/%" PRIu64 ".evt", (int)stem, trace->anchor, id);
	return stat(path, &st) ? UINT64_MAX : (uint64_t)st.st_size;
}

/* The mapping tables and clock offset of a merged archive are in its local definitions, which an archive may not have. */
static void read_local_definitions(OTF2_Reader *reader, uint64_t id)
{
	OTF2_DefReader *definitions = OTF2_Reader_GetDefReader(reader, id);
	uint64_t n;

	if (!definitions)
		return;
	OTF2_Reader_ReadAllLocalDefinitions(reader, definitions, &n);
	OTF2_Reader_CloseDefReader(reader, definitions);
}

static void read_location(struct worker *w, OTF2_Reader *reader, uint32_t index)
{
	struct shared *s = w->shared;
	struct trace_location *location = &s->trace->locations.v[index];
	struct events_state state = { .trace = s->trace, .visitor = s->visitor, .worker = w->data, .progress = &s->progress,
				      .limit = event_file_bytes(s->trace, location->id) };
	OTF2_EvtReader *events = NULL;
	OTF2_ErrorCode code = OTF2_ERROR_INTEGRITY_FAULT;
	uint64_t n = 0;

	trace_find_attributes(s->trace, &state.attributes);
	otf2_library_watch();
	read_local_definitions(reader, location->id);
	otf2_library_watch();           /* missing local definitions are not an error */
	s->visitor->location_begin(w->data, index);
	if (!location->events && state.limit == UINT64_MAX)
		code = OTF2_SUCCESS;    /* a location without events may have no file */
	else
		events = OTF2_Reader_GetEvtReader(reader, location->id);
	if (events && (code = events_register(reader, events, &state)) == OTF2_SUCCESS)
		code = OTF2_Reader_ReadAllLocalEvents(reader, events, &n);
	if (events)
		OTF2_Reader_CloseEvtReader(reader, events);
	s->visitor->location_end(w->data, index);
	location->damaged = code != OTF2_SUCCESS || state.overrun || n < location->events;
	location->read = true;
}

/* ---- threads ---- */

static void read_fail(struct shared *s, const char *what)
{
	pthread_mutex_lock(&s->lock);
	if (!s->error)
		snprintf(s->err, sizeof(s->err), "%.200s: %.280s", s->trace->dir, what);
	s->error = -EBADMSG;
	pthread_mutex_unlock(&s->lock);
}

static OTF2_Reader *reader_open(struct shared *s)
{
	OTF2_Reader *reader;

	otf2_library_watch();
	reader = OTF2_Reader_Open(s->trace->anchor);
	if (!reader) {
		read_fail(s, otf2_library_message(OTF2_ERROR_INTEGRITY_FAULT));
		return NULL;
	}
	OTF2_Reader_SetSerialCollectiveCallbacks(reader);
	for (size_t i = 0; i < s->trace->locations.n; i++)
		OTF2_Reader_SelectLocation(reader, s->trace->locations.v[i].id);
	OTF2_Reader_OpenDefFiles(reader);
	OTF2_Reader_OpenEvtFiles(reader);
	return reader;
}

static void *read_work(void *arg)
{
	struct worker *w = arg;
	struct shared *s = w->shared;
	OTF2_Reader *reader = reader_open(s);
	size_t i;

	while (reader && !s->error && (i = s->next++) < s->trace->locations.n) {
		s->progress++;
		if (!s->visitor->selects || s->visitor->selects(w->data, i))
			read_location(w, reader, i);
	}
	if (reader)
		OTF2_Reader_Close(reader);
	return NULL;
}

static double cpu_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

static void *read_watch(void *arg)
{
	struct shared *s = arg;
	unsigned long long last = s->progress;
	double since = cpu_s();

	while (!s->done) {
		usleep(100000);
		if (s->progress != last) {
			last = s->progress;
			since = cpu_s();
		} else if (cpu_s() - since > NO_PROGRESS_S) {
			fprintf(stderr, "ioprobe: %s: the OTF2 library makes no progress: the archive is damaged\n", s->trace->dir);
			_exit(1);
		}
	}
	return NULL;
}

int trace_read(struct trace *trace, const struct trace_visitor *visitor, void **data, unsigned nworkers, char *err, size_t err_len)
{
	struct shared shared = { .trace = trace, .visitor = visitor, .lock = PTHREAD_MUTEX_INITIALIZER };
	struct worker *workers = calloc(nworkers, sizeof(*workers));
	pthread_t watchdog;
	bool watched = workers && !pthread_create(&watchdog, NULL, read_watch, &shared);
	unsigned started = 0;

	if (!workers) {
		snprintf(err, err_len, "%s: out of memory", trace->dir);
		return -ENOMEM;
	}
	for (unsigned i = 0; i < nworkers; i++) {
		workers[i] = (struct worker){ .shared = &shared, .data = data[i] };
		if (i + 1 < nworkers)
			workers[i].started = !pthread_create(&workers[i].thread, NULL, read_work, &workers[i]);
		started += workers[i].started;
	}
	read_work(&workers[nworkers - 1]);
	for (unsigned i = 0; i < nworkers; i++)
		if (workers[i].started)
			pthread_join(workers[i].thread, NULL);
	shared.done = true;
	if (watched)
		pthread_join(watchdog, NULL);
	free(workers);
	if (shared.error)
		snprintf(err, err_len, "%s", shared.err);
	return shared.error;
}
