/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The lines of Darshan's connector to LDMS, one per event, for the standard input of ldmsd_stream_publish or ldms_msg_publish,
 * which it starts if asked. The store behind it checks the types of values: seconds need six digits behind the point, all other
 * numbers none.
 */
#include "stream/outputs.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "stream/publisher.h"

#define LINE_ROOM 4095 /* of those programs */

/* The connector's variables that select modules: set, to whatever. */
static const struct { const char *variable, *module; } selections[] = {
	{ "DARSHAN_LDMS_ENABLE_POSIX", "POSIX" }, { "DARSHAN_LDMS_ENABLE_MPIIO", "MPIIO" },
	{ "DARSHAN_LDMS_ENABLE_STDIO", "STDIO" }, { "DARSHAN_LDMS_ENABLE_HDF5", "H5F" }, { "DARSHAN_LDMS_ENABLE_HDF5", "H5D" },
};
#define NSELECTIONS (sizeof(selections) / sizeof(selections[0]))

struct ldms {
	struct live_output output; /* first: the public face */
	FILE *out;
	struct publisher publisher; /* that reads out; name NULL: none */
	bool selected[NSELECTIONS];
	char *host;
	int64_t job; /* of the recording; 0: none */
	uint64_t too_long; /* lines that were not written */
};

/* JSON's escapes. Bytes that are no UTF-8 pass as they are, as the connector has them. Returns false if there is no room. */
static bool ldms_escape(char *out, size_t room, const char *text)
{
	for (const unsigned char *c = (const unsigned char *)text; *c; c++) {
		size_t need = *c == '"' || *c == '\\' ? 2 : *c < 0x20 ? 6 : 1;

		if (need >= room)
			return false;
		snprintf(out, room, need == 6 ? "\\u%04x" : need == 2 ? "\\%c" : "%c", *c);
		out += need;
		room -= need;
	}
	*out = 0;
	return true;
}

/* The batch system's number, as the connector reads it: the digits in front. */
static int64_t job_number(const char *batch_job)
{
	return batch_job ? atoll(batch_job) : 0;
}

static int ldms_begin(struct live_output *output, const struct live_job *job)
{
	struct ldms *l = (struct ldms *)output;

	free(l->host);
	l->host = strdup(job->host ? job->host : "unknown");
	l->job = job_number(job->batch_job);
	return l->host ? 0 : -ENOMEM;
}

static int ldms_format(const struct ldms *l, const struct live_event *e, const char *exe, const char *file, char *line, size_t room)
{
	const struct live_process *p = e->process;
	const struct live_darshan *d = &e->darshan;
	bool met = e->op == LIVE_OP_OPEN;
	int64_t job = job_number(p->batch_job);
	uint64_t begin_ns = p->begin_ns && p->begin_ns < e->begin_ns ? p->begin_ns : e->begin_ns;

	return snprintf(line, room,
			"{\"schema\":\"%s\", \"uid\":%" PRId64 ", \"exe\":\"%s\",\"job_id\":%" PRId64 ",\"rank\":%" PRId64
			",\"ProducerName\":\"%s\",\"file\":\"%s\",\"record_id\":%" PRIu64
			",\"module\":\"%s\",\"type\":\"%s\",\"max_byte\":%" PRId64 ",\"switches\":%" PRId64 ",\"flushes\":%" PRId64
			",\"cnt\":%" PRIu64 ",\"op\":\"%s\",\"seg\":[{\"pt_sel\":-1,\"irreg_hslab\":-1,"
			"\"reg_hslab\":-1,\"ndims\":-1,\"npoints\":-1,\"off\":%" PRId64 ",\"len\":%" PRId64
			",\"start\":%0.6f,\"dur\":%0.6f,\"total\":%0.6f,\"timestamp\":%" PRIu64 ".%.6" PRIu64 "}]}\n",
			met ? "darshan_data" : "N/A", p->uid > 0 ? p->uid : 0, met ? exe : "N/A",
			job      ? job
			: l->job ? l->job
				 : (int64_t)p->pid,
			p->rank > 0 ? p->rank : 0, l->host, met ? file : "N/A", d->record_id, d->module, met ? "MET" : "MOD",
			d->max_byte, d->switches, d->flushes, d->cnt, e->op == LIVE_OP_FLUSH ? "write" : live_op_name(e->op),
			d->off, d->len, (e->begin_ns - begin_ns) / 1e9, (e->end_ns - e->begin_ns) / 1e9, d->total_ns / 1e9,
			e->end_ns / 1000000000, e->end_ns % 1000000000 / 1000);
}

/* Those whose variable is set; all if none is. The connector publishes nothing then, but here the output itself is the choice. */
static void ldms_select_modules(bool *selected)
{
	bool all = getenv("DARSHAN_LDMS_ENABLE_ALL"), any = false;

	for (size_t i = 0; i < NSELECTIONS; i++)
		any |= selected[i] = all || getenv(selections[i].variable);
	for (size_t i = 0; i < NSELECTIONS && !any; i++)
		selected[i] = true;
}

static bool ldms_is_selected(const struct ldms *l, const char *module)
{
	for (size_t i = 0; i < NSELECTIONS; i++)
		if (!strcmp(module, selections[i].module))
			return l->selected[i];
	return true;
}

static int ldms_fail(struct ldms *l, int error)
{
	snprintf(l->output.err, sizeof(l->output.err), "cannot write the stream: %s", strerror(error ? error : EIO));
	if (l->publisher.name)
		publisher_explain(&l->publisher, l->output.err, sizeof(l->output.err));
	return error ? -error : -EIO;
}

static int ldms_event(struct live_output *output, const struct live_interval *interval, const struct live_event *e)
{
	struct ldms *l = (struct ldms *)output;
	char exe[LINE_ROOM], file[LINE_ROOM], line[LINE_ROOM];
	int len;

	(void)interval;
	if (!e->darshan.module || !ldms_is_selected(l, e->darshan.module))
		return 0;
	len = ldms_escape(exe, sizeof(exe), e->process->executable ? e->process->executable : "N/A") &&
			      ldms_escape(file, sizeof(file), e->darshan.record)
		      ? ldms_format(l, e, exe, file, line, sizeof(line))
		      : LINE_ROOM;
	if (len >= LINE_ROOM) {
		l->too_long++;
		return 0;
	}
	return fwrite(line, 1, len, l->out) == (size_t)len ? 0 : ldms_fail(l, errno);
}

static int ldms_interval(struct live_output *output, const struct live_interval *interval)
{
	struct ldms *l = (struct ldms *)output;

	(void)interval;
	return fflush(l->out) ? ldms_fail(l, errno) : 0;
}

/* The program reads to the end of its input and then ends. */
static int ldms_finish_publisher(struct ldms *l)
{
	FILE *out = l->out;

	l->out = NULL;
	return publisher_finish(&l->publisher, out, l->output.err, sizeof(l->output.err));
}

static int ldms_end(struct live_output *output, const struct live_end *end)
{
	struct ldms *l = (struct ldms *)output;

	(void)end;
	if (l->too_long)
		fprintf(stderr,
			"ioprobe: ldms: %" PRIu64 " events were not written: their names make lines of more than %d bytes\n",
			l->too_long, LINE_ROOM);
	return l->publisher.name ? ldms_finish_publisher(l) : 0;
}

static void ldms_destroy(struct live_output *output)
{
	struct ldms *l = (struct ldms *)output;

	if (l->publisher.pid)
		ldms_finish_publisher(l);
	live_output_close(l->out);
	free(l->host);
	free(l);
}

static int ldms_open(struct ldms *l, const char *where, char *err, size_t err_len)
{
	for (size_t i = 0; publisher_names[i]; i++)
		if (!strcmp(where, publisher_names[i]))
			return publisher_start(&l->publisher, publisher_names[i], &l->output, &l->out, err, err_len);
	return live_output_open(&l->out, where, err, err_len);
}

static int ldms_create(struct live_output **output, const char *where, char *err, size_t err_len)
{
	struct ldms *l = calloc(1, sizeof(*l));
	int ret = l ? ldms_open(l, where, err, err_len) : -ENOMEM;

	if (ret) {
		free(l);
		return ret;
	}
	l->output = (struct live_output){
		.begin = ldms_begin, .event = ldms_event, .interval = ldms_interval, .end = ldms_end, .destroy = ldms_destroy,
		.unconfirmed = l->publisher.name != NULL,
	};
	ldms_select_modules(l->selected);
	*output = &l->output;
	return 0;
}

const struct live_output_kind live_ldms_kind = {
	.name = "ldms", .where = "an absolute path, unix:/PATH, ldmsd_stream_publish or ldms_msg_publish", .default_where = "-",
	.where_kind = WHERE_TEXT, .words = publisher_names, .events = true, .create = ldms_create,
};
