/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The store: an SQLite database that can be read while it is written. One transaction per interval: no interval is there twice.
 */
#include "stream/outputs.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>

#include "stream/class_text.h"
#include "util/utf8.h"

#include "store_sql.h"

#define STORE_VERSION 5
#define BUSY_MS 10000 /* longest time to wait for a reader */

enum statement {
	INSERT_PROCESS,
	INSERT_FILE,
	INSERT_CALLS,
	INSERT_SIZES,
	INSERT_CLASS,
	INSERT_OPERATIONS,
	INSERT_EVENT,
	INSERT_SKIPPED,
	INSERT_GAP,
	INSERT_CLOCK_STEP,
	INSERT_INTERVAL,
	STATEMENTS
};

static const char *const statement_text[STATEMENTS] = {
	[INSERT_PROCESS] = "INSERT OR REPLACE INTO process VALUES(?,?,?,?,?,?,?,?)",
	[INSERT_FILE] = "INSERT OR REPLACE INTO file VALUES(?,?,?,?,?,?,?)",
	[INSERT_CALLS] = "INSERT INTO calls VALUES(?,?,?,?,?,?,?,?,?)",
	[INSERT_SIZES] = "INSERT INTO sizes VALUES(?,?,?,?,?,?)",
	[INSERT_CLASS] = "INSERT INTO class_calls VALUES(?,?,?,?,?,?,?,?)",
	[INSERT_OPERATIONS] = "INSERT INTO operations VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
	[INSERT_EVENT] = "INSERT INTO event VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
	[INSERT_SKIPPED] = "INSERT INTO skipped VALUES(?,?,?,?,?,?,?,?,?,?)",
	[INSERT_GAP] = "INSERT INTO gap VALUES(?,?,?,?,?,?,?)",
	[INSERT_CLOCK_STEP] = "INSERT INTO clock_step VALUES(?,?,?,?,?)",
	[INSERT_INTERVAL] = "INSERT INTO interval VALUES(?,?,?,?,?,?,?,?)",
};

struct store {
	struct live_output output; /* first member: the public interface */
	sqlite3 *db;
	sqlite3_stmt *statements[STATEMENTS];
	bool many; /* recordings of many nodes are in the database */
	int64_t node; /* the number of this recording in it */
	int64_t done; /* the last interval in the database, -1: none */
	bool done_last; /* … including the one at the end of the recording */
	bool ended; /* the end of the recording is in the database, too: nothing can be added */
	char file[256];
};

static int store_fail(struct store *s, const char *action)
{
	int code = sqlite3_extended_errcode(s->db);

	snprintf(s->output.err, sizeof(s->output.err), "%s: cannot %s the store: %s", s->file, action, sqlite3_errmsg(s->db));
	return (code & 0xff) == SQLITE_FULL ? -ENOSPC : (code & 0xff) == SQLITE_NOMEM ? -ENOMEM : -EIO;
}

static int store_run(struct store *s, const char *sql, const char *action)
{
	return sqlite3_exec(s->db, sql, NULL, NULL, NULL) == SQLITE_OK ? 0 : store_fail(s, action);
}

static bool store_is_plain(const char *text)
{
	while (*text >= ' ' && *text <= '~')
		text++;
	return !*text;
}

/* Names have any bytes; readers of the store expect UTF-8. The text must live until the statement was run. */
static int bind_printable(sqlite3_stmt *statement, int i, const char *text)
{
	char *printable;

	if (!text)
		return sqlite3_bind_null(statement, i);
	if (store_is_plain(text))
		return sqlite3_bind_text(statement, i, text, -1, SQLITE_STATIC);
	printable = utf8_printable(text);
	return printable ? sqlite3_bind_text(statement, i, printable, -1, free) : SQLITE_NOMEM;
}

/* Runs statements in the transaction of the current interval, which includes definitions. */
static int in_transaction(struct store *s)
{
	return sqlite3_get_autocommit(s->db) ? store_run(s, "BEGIN IMMEDIATE", "write to") : 0;
}

static bool is_there(const struct store *s, const struct live_interval *interval)
{
	if (s->done_last)
		return true;
	return interval->last ? (int64_t)interval->number < s->done : (int64_t)interval->number <= s->done;
}

/* Types of the values: 'i' int64_t, 't' const char * or NULL, 'p' the same with any bytes, 'n' unknown int64_t. */
static int store_put(struct store *s, enum statement which, const char *types, ...)
{
	sqlite3_stmt *statement = s->statements[which];
	int ret = in_transaction(s), i = 0;
	va_list values;

	if (ret)
		return ret;
	va_start(values, types);
	for (const char *t = types; *t; t++) {
		i++;
		if (*t == 'i')
			sqlite3_bind_int64(statement, i, va_arg(values, int64_t));
		else if (*t == 't')
			sqlite3_bind_text(statement, i, va_arg(values, const char *), -1, SQLITE_STATIC);
		else if (*t == 'p')
			ret = bind_printable(statement, i, va_arg(values, const char *)) == SQLITE_OK ? ret : -ENOMEM;
		else
			(void)va_arg(values, int64_t), sqlite3_bind_null(statement, i);
	}
	va_end(values);
	if (!ret && sqlite3_step(statement) != SQLITE_DONE)
		ret = store_fail(s, "write to");
	sqlite3_reset(statement);
	sqlite3_clear_bindings(statement);
	return ret;
}

/* ---- what is reported ---- */

static int read_number(struct store *s, const char *sql, int64_t *number);

/* Of processes and files, unique over all nodes. */
static int64_t store_id(const struct store *s, uint32_t id)
{
	return s->node << 32 | id;
}

static int check_interval(struct store *s, const struct live_job *job, int64_t interval_ns)
{
	if (interval_ns == (int64_t)job->interval_ns)
		return 0;
	snprintf(s->output.err, sizeof(s->output.err),
		 "%s: the store has intervals of another length: give the same --interval, or another file", s->file);
	return -EINVAL;
}

/* Finds the recording in the store; one that is not there gets the next number. *found: it is there. */
static int find_node(struct store *s, const struct live_job *job, bool *found)
{
	sqlite3_stmt *statement;
	int64_t count = 0, interval_ns = job->interval_ns;
	int ret = read_number(s, "SELECT count(*) FROM job", &count);

	if (!ret)
		ret = read_number(s, "SELECT interval_ns FROM job", &interval_ns);
	if (!ret &&
	    sqlite3_prepare_v2(s->db, "SELECT node FROM job WHERE host IS ? AND recording = ?", -1, &statement, NULL) != SQLITE_OK)
		ret = store_fail(s, "read");
	if (ret)
		return ret;
	bind_printable(statement, 1, job->host);
	sqlite3_bind_int64(statement, 2, job->recording);
	*found = sqlite3_step(statement) == SQLITE_ROW;
	s->node = *found ? sqlite3_column_int64(statement, 0) : count;
	sqlite3_finalize(statement);
	if (*found || !count || s->many)
		return check_interval(s, job, interval_ns);
	snprintf(s->output.err, sizeof(s->output.err), "%s: it is the store of another recording: give another file", s->file);
	return -EINVAL;
}

static int read_node_number(struct store *s, const char *sql, int64_t *number)
{
	char *text = sqlite3_mprintf("%s WHERE node = %lld", sql, (long long)s->node);
	int ret = text ? read_number(s, text, number) : -ENOMEM;

	sqlite3_free(text);
	return ret;
}

static int read_done(struct store *s)
{
	int64_t last = 0, ended = 0;
	int ret = read_node_number(s, "SELECT max(interval) FROM interval", &s->done);

	if (!ret)
		ret = read_node_number(s, "SELECT max(last) FROM interval", &last);
	if (!ret)
		ret = read_node_number(s, "SELECT count(end_ns) FROM job", &ended);
	s->done_last = last;
	s->ended = ended;
	return ret;
}

static int add_node(struct store *s, const struct live_job *job)
{
	sqlite3_stmt *statement;
	int ret = in_transaction(s);

	if (ret)
		return ret;
	if (sqlite3_prepare_v2(
		    s->db,
		    "INSERT INTO job(host, kernel, version, batch_job, command_line, begin_ns, interval_ns, node, recording) "
		    "VALUES(?,?,?,?,?,?,?,?,?)",
		    -1, &statement, NULL) != SQLITE_OK)
		return store_fail(s, "write to");
	bind_printable(statement, 1, job->host);
	bind_printable(statement, 2, job->kernel);
	bind_printable(statement, 3, job->version);
	bind_printable(statement, 4, job->batch_job);
	bind_printable(statement, 5, job->command_line);
	sqlite3_bind_int64(statement, 6, job->begin_ns);
	sqlite3_bind_int64(statement, 7, job->interval_ns);
	sqlite3_bind_int64(statement, 8, s->node);
	sqlite3_bind_int64(statement, 9, job->recording);
	ret = sqlite3_step(statement) == SQLITE_DONE ? 0 : store_fail(s, "write to");
	sqlite3_finalize(statement);
	/* others must not give the number away to another recording */
	return !ret && s->many ? store_run(s, "COMMIT", "write to") : ret;
}

static int store_begin(struct live_output *output, const struct live_job *job)
{
	struct store *s = (struct store *)output;
	bool found = false;
	int ret = s->many ? in_transaction(s) : 0;

	if (!ret)
		ret = find_node(s, job, &found);
	if (!ret)
		ret = read_done(s);
	if (!ret && found)
		return s->many ? store_run(s, "COMMIT", "write to") : 0;
	return ret ? ret : add_node(s, job);
}

/* A complete store has the final definitions, but a replay begins with the early ones: these are not stored again. */
static int store_process(struct live_output *output, const struct live_process *p)
{
	struct store *s = (struct store *)output;

	if (s->ended)
		return 0;
	return store_put(s, INSERT_PROCESS, p->rank < 0 ? "iinppiii" : "iiippiii", store_id(s, p->id), (int64_t)p->pid, p->rank,
			    p->name, p->executable, p->uid, (int64_t)p->begin_ns, s->node);
}

static int store_file(struct live_output *output, const struct live_file *f)
{
	struct store *s = (struct store *)output;

	if (s->ended)
		return 0;
	return store_put(s, INSERT_FILE, "ippppti", store_id(s, f->id), f->path, f->mount_point, f->mount_source, f->fs_type,
			    f->scope, (int64_t)f->special);
}

/* One row per size class with operations. */
static int store_sizes(struct store *s, const struct live_calls *c)
{
	const struct summary_sizes *sizes = &c->added->sizes;
	int ret = 0;

	for (int i = 0; i < SUMMARY_SIZES && !ret; i++)
		if (sizes->read[i] || sizes->written[i])
			ret = store_put(s, INSERT_SIZES, i < SUMMARY_SIZES - 1 ? "iitiii" : "iitnii", (int64_t)c->interval,
					   store_id(s, c->process->id), c->layer, (int64_t)summary_size_limit(i),
					   (int64_t)sizes->read[i], (int64_t)sizes->written[i]);
	return ret;
}

static int store_classes(struct store *s, const struct live_calls *c)
{
	int ret = 0;

	for (int i = 0; i < MODEL_CLASSES && !ret; i++) {
		const struct summary_class *class = &c->added->classes[i];

		if (class->calls || class->time_ns)
			ret = store_put(s, INSERT_CLASS, "iittiiii", (int64_t)c->interval, store_id(s, c->process->id), c->layer,
					   summary_class_name(i), (int64_t) class->calls, (int64_t) class->failed,
					   (int64_t) class->time_ns, (int64_t) class->longest_ns);
	}
	return ret;
}

static int store_calls(struct live_output *output, const struct live_interval *interval, const struct live_calls *c)
{
	struct store *s = (struct store *)output;
	const struct summary_calls *a = c->added;

	if (is_there(s, interval))
		return 0;
	return store_put(s, INSERT_CALLS, "iitiiiiii", (int64_t)c->interval, store_id(s, c->process->id), c->layer,
			    (int64_t)a->calls, (int64_t)a->failed, (int64_t)a->time_ns, (int64_t)a->system_ns,
			    (int64_t)a->longest_ns, (int64_t)a->open_calls)
		       ?: store_sizes(s, c) ?: store_classes(s, c);
}

static int store_operations(struct live_output *output, const struct live_interval *interval, const struct live_operations *o)
{
	struct store *s = (struct store *)output;
	const struct summary_counts *a = &o->added->counts;
	struct class_text classes;

	if (is_there(s, interval))
		return 0;
	return store_put(s, INSERT_OPERATIONS, "iiitiiiiiiiiiiiiiit", (int64_t)o->interval, store_id(s, o->process->id),
			    store_id(s, o->file->id), o->layer, (int64_t)a->reads, (int64_t)a->writes, (int64_t)a->bytes_read,
			    (int64_t)a->bytes_written, (int64_t)a->known_reads, (int64_t)a->known_writes, (int64_t)a->unknown_reads,
			    (int64_t)a->unknown_writes, (int64_t)a->failed_reads, (int64_t)a->failed_writes, (int64_t)a->opens,
			    (int64_t)a->time_ns, (int64_t)a->metadata_ns, (int64_t)o->added->longest_ns,
			    class_text_format(o->added, &classes));
}

/* Numbers that are not known, or of no call that Darshan's connector would publish, are NULL. */
static int store_event(struct live_output *output, const struct live_interval *interval, const struct live_event *e)
{
	struct store *s = (struct store *)output;
	const struct live_darshan *d = &e->darshan;
	char types[] = "iiiiitttipiiiiiitpiiiiii";

	if (is_there(s, interval))
		return 0;
	types[8] = e->file ? 'i' : 'n';
	types[10] = e->offset == OFFSET_UNKNOWN ? 'n' : 'i';
	types[11] = e->asked == BYTES_UNKNOWN ? 'n' : 'i';
	types[12] = e->moved == BYTES_UNKNOWN ? 'n' : 'i';
	return store_put(s, INSERT_EVENT, types, (int64_t)interval->number, (int64_t)e->end_ns, (int64_t)(e->end_ns - e->begin_ns),
			 store_id(s, e->process->id), (int64_t)e->tid, e->layer, e->call, live_op_name(e->op),
			 e->file ? store_id(s, e->file->id) : 0, e->name, (int64_t)e->offset, (int64_t)e->asked, (int64_t)e->moved,
			 (int64_t)e->failed, (int64_t)e->error, (int64_t)e->weight, d->module, d->module ? d->record : NULL,
			 (int64_t)d->record_id, d->max_byte, d->switches, d->flushes, (int64_t)d->cnt, (int64_t)d->total_ns);
}

static int store_skipped(struct live_output *output, const struct live_interval *interval, const struct live_skipped *k)
{
	struct store *s = (struct store *)output;

	if (is_there(s, interval))
		return 0;
	return store_put(s, INSERT_SKIPPED, k->process ? "iptiiiiiii" : "iptiiiiiin", (int64_t)interval->number, k->filter,
			 k->layer, (int64_t)k->calls, (int64_t)k->bytes_read, (int64_t)k->bytes_written,
			 (int64_t)k->calls_of_unknown_size, (int64_t)k->time_ns, s->node,
			 k->process ? store_id(s, k->process->id) : 0);
}

static int store_gap(struct live_output *output, const struct live_interval *interval, const struct live_gap *g)
{
	struct store *s = (struct store *)output;

	if (is_there(s, interval))
		return 0;
	return store_put(s, INSERT_GAP, "iitiipi", (int64_t)interval->number, (int64_t)g->pid, g->layer, (int64_t)g->begin_ns,
			    (int64_t)g->end_ns, g->reason, s->node);
}

static int store_clock_step(struct live_output *output, const struct live_interval *interval, const struct live_clock_step *step)
{
	struct store *s = (struct store *)output;

	if (is_there(s, interval))
		return 0;
	return store_put(s, INSERT_CLOCK_STEP, "iiiii", (int64_t)interval->number, (int64_t)step->time_ns, step->step_ns,
			    (int64_t)step->uncertain_ns, s->node);
}

/* What is written to a file that was removed is lost with it, and SQLite reports no error. */
static int store_check_file(struct store *s)
{
	int moved = 0;

	if (sqlite3_file_control(s->db, "main", SQLITE_FCNTL_HAS_MOVED, &moved) != SQLITE_OK || !moved)
		return 0;
	snprintf(s->output.err, sizeof(s->output.err),
		 "%s: the store was removed or replaced while it was written: follow the recording again to make another one",
		 s->file);
	return -ESTALE;
}

static int store_interval(struct live_output *output, const struct live_interval *i)
{
	struct store *s = (struct store *)output;
	int ret = store_check_file(s);

	if (!ret && !is_there(s, i))
		ret = store_put(s, INSERT_INTERVAL, "iiiiiiii", (int64_t)i->number, (int64_t)i->last, (int64_t)i->begin_ns,
				(int64_t)i->end_ns, (int64_t)i->open_calls, (int64_t)i->lag_ns, (int64_t)i->records_lost, s->node);
	if (!ret && !sqlite3_get_autocommit(s->db))
		ret = store_run(s, "COMMIT", "write to");
	if (!ret && !is_there(s, i)) {
		s->done = i->number;
		s->done_last = i->last;
	}
	return ret;
}

static int store_end(struct live_output *output, const struct live_end *end)
{
	struct store *s = (struct store *)output;
	sqlite3_stmt *statement;
	int ret = in_transaction(s);

	if (ret)
		return ret;
	if (sqlite3_prepare_v2(
		    s->db, "UPDATE job SET end_ns=?, complete=?, records_lost=?, records_after_bound=?, stopped_by=? WHERE node=?",
		    -1, &statement, NULL) != SQLITE_OK)
		return store_fail(s, "write to");
	sqlite3_bind_int64(statement, 1, end->end_ns);
	sqlite3_bind_int64(statement, 2, end->complete);
	sqlite3_bind_int64(statement, 3, end->records_lost);
	sqlite3_bind_int64(statement, 4, end->records_after_bound);
	sqlite3_bind_text(statement, 5, end->stopped_by, -1, SQLITE_TRANSIENT);
	sqlite3_bind_int64(statement, 6, s->node);
	ret = sqlite3_step(statement) == SQLITE_DONE ? 0 : store_fail(s, "write to");
	sqlite3_finalize(statement);
	if (!ret)
		ret = store_run(s, "COMMIT", "write to");
	/* With a reader, closing would leave everything in the log: the file alone shall be whole when the recording has ended. */
	if (!ret && !s->many)
		sqlite3_wal_checkpoint_v2(s->db, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
	return ret;
}

/* ---- open and close ---- */

/* The write-ahead log needs memory shared by all users of the database, which hosts of a network file system do not have. */
static const char *journal_for(const char *file)
{
	static const long shared[] = { 0x6969 /* NFS */,      0x0bd00bd0 /* Lustre */,
				       0x47504653 /* GPFS */, 0x19830326 /* BeeGFS */,
				       0xff534d42 /* CIFS */, 0xfe534d42 /* SMB2 */,
				       0x00c36400 /* Ceph */, 0x65735546 /* FUSE */ };
	struct statfs fs;

	if (statfs(file, &fs))
		return "PRAGMA journal_mode=TRUNCATE";
	for (size_t i = 0; i < sizeof(shared) / sizeof(shared[0]); i++)
		if ((fs.f_type & 0xffffffff) == shared[i])
			return "PRAGMA journal_mode=TRUNCATE";
	return "PRAGMA journal_mode=WAL";
}

static int read_number(struct store *s, const char *sql, int64_t *number)
{
	sqlite3_stmt *statement;
	int ret = 0;

	if (sqlite3_prepare_v2(s->db, sql, -1, &statement, NULL) != SQLITE_OK)
		return store_fail(s, "read");
	switch (sqlite3_step(statement)) {
	case SQLITE_ROW:
		if (sqlite3_column_type(statement, 0) != SQLITE_NULL)
			*number = sqlite3_column_int64(statement, 0);
		break;
	case SQLITE_DONE: break;
	default: ret = store_fail(s, "read");
	}
	sqlite3_finalize(statement);
	return ret;
}

static int check_version(struct store *s)
{
	int64_t version = 0, tables = 0;
	int ret = read_number(s, "PRAGMA user_version", &version);

	if (!ret)
		ret = read_number(s, "SELECT count(*) FROM sqlite_master", &tables);
	if (ret || version == STORE_VERSION || (!version && !tables))
		return ret;
	snprintf(s->output.err, sizeof(s->output.err),
		 "%s: it is not a store of this version of ioprobe: remove it, or give another file", s->file);
	return -EINVAL;
}

static int open_store(struct store *s, const char *file)
{
	int ret = 0;

	/* Its statistics of memory take a lock at each allocation. Without effect once another connection is open. */
	sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
	/* a connection is used by one thread at a time */
	if (sqlite3_open_v2(file, &s->db,
			    SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOFOLLOW | SQLITE_OPEN_NOMUTEX, NULL) !=
	    SQLITE_OK)
		return store_fail(s, "open");
	sqlite3_busy_timeout(s->db, BUSY_MS);
	ret = check_version(s);
	if (!ret)
		ret = store_run(s, journal_for(file), "open");
	if (!ret)
		ret = store_run(s, s->many ? "PRAGMA synchronous=FULL" : "PRAGMA synchronous=NORMAL", "open");
	if (!ret)
		ret = store_run(s, store_sql, "open");
	for (int i = 0; i < STATEMENTS && !ret; i++)
		if (sqlite3_prepare_v2(s->db, statement_text[i], -1, &s->statements[i], NULL) != SQLITE_OK)
			ret = store_fail(s, "open");
	return ret;
}

/* An open transaction is rolled back. */
static void store_destroy(struct live_output *output)
{
	struct store *s = (struct store *)output;

	for (int i = 0; i < STATEMENTS; i++)
		sqlite3_finalize(s->statements[i]);
	sqlite3_close(s->db);
	free(s);
}

static int store_create_file(struct live_output **output, const char *file, bool many, char *err, size_t err_len)
{
	struct store *s = calloc(1, sizeof(*s));
	int ret;

	if (!s)
		return -ENOMEM;
	s->output = (struct live_output){ .begin = store_begin,
					  .process = store_process,
					  .file = store_file,
					  .calls = store_calls,
					  .operations = store_operations,
					  .event = store_event,
					  .skipped = store_skipped,
					  .gap = store_gap,
					  .clock_step = store_clock_step,
					  .interval = store_interval,
					  .end = store_end,
					  .destroy = store_destroy };
	s->done = -1;
	s->many = many;
	snprintf(s->file, sizeof(s->file), "%s", file);
	ret = open_store(s, file);
	if (!ret) {
		*output = &s->output;
		return 0;
	}
	snprintf(err, err_len, "%s", s->output.err);
	store_destroy(&s->output);
	return ret;
}

static int store_create(struct live_output **output, const char *file, char *err, size_t err_len)
{
	return store_create_file(output, file, false, err, err_len);
}

const struct live_output_kind live_sqlite_kind = {
	.name = "sqlite", .where = "an absolute path", .default_where = "live.db", .where_kind = WHERE_FILE, .create = store_create,
};

int live_store_create_many(struct live_output **output, const char *file, char *err, size_t err_len)
{
	return store_create_file(output, file, true, err, err_len);
}

void live_store_done(const struct live_output *output, struct live_done *done)
{
	const struct store *s = (const struct store *)output;

	*done = (struct live_done){ s->done, s->done_last, s->ended };
}
