-- SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
-- The store of a recording, live.db, or of all recordings of a job (ioprobe collect): node is their number, 0 in the former. Times are nanoseconds since 1970. Rows are what an interval adds: sums over intervals are those of summary.json.
-- Layers contain each other: bytes and times of different layers are never to be added up.
PRAGMA user_version = 5;
CREATE TABLE IF NOT EXISTS job(node INTEGER PRIMARY KEY, host TEXT, kernel TEXT, version TEXT, batch_job TEXT, command_line TEXT, begin_ns INTEGER, interval_ns INTEGER,
	recording INTEGER, end_ns INTEGER, complete INTEGER, records_lost INTEGER, records_after_bound INTEGER, stopped_by TEXT);
-- Numbers of processes and files are different on each node.
CREATE TABLE IF NOT EXISTS process(process INTEGER PRIMARY KEY, pid INTEGER, rank INTEGER, name TEXT, executable TEXT, uid INTEGER, begin_ns INTEGER,
	node INTEGER);
CREATE TABLE IF NOT EXISTS file(file INTEGER PRIMARY KEY, path TEXT, mount_point TEXT, mount_source TEXT, file_system TEXT, scope TEXT, special INTEGER);
CREATE TABLE IF NOT EXISTS interval(interval INTEGER, last INTEGER, begin_ns INTEGER, end_ns INTEGER, open_calls INTEGER, lag_ns INTEGER,
	records_lost INTEGER, node INTEGER, PRIMARY KEY(interval, last, node));
CREATE TABLE IF NOT EXISTS calls(interval INTEGER, process INTEGER, layer TEXT, calls INTEGER, failed INTEGER, time_ns INTEGER, system_time_ns INTEGER,
	longest_call_ns INTEGER, open_calls INTEGER);
CREATE TABLE IF NOT EXISTS operations(interval INTEGER, process INTEGER, file INTEGER, layer TEXT, reads INTEGER, writes INTEGER, bytes_read INTEGER,
	bytes_written INTEGER, reads_of_known_size INTEGER, writes_of_known_size INTEGER, reads_of_unknown_size INTEGER, writes_of_unknown_size INTEGER, reads_failed INTEGER,
	writes_failed INTEGER, opens INTEGER, time_ns INTEGER, metadata_time_ns INTEGER, longest_call_ns INTEGER, classes TEXT);
-- By class: read, write, metadata (open, close, seek, stat, names, sizes, attributes), sync, lock, request (of operations that are not blocking, and mappings), other
-- (communication). Times are those of outermost calls of the layer.
CREATE TABLE IF NOT EXISTS class_calls(interval INTEGER, process INTEGER, layer TEXT, class TEXT, calls INTEGER, failed INTEGER, time_ns INTEGER,
	longest_call_ns INTEGER);
-- operations.classes has the same by file, of calls that ended: "CLASS":[calls, failed, time_ns, longest_call_ns, numbers of operations in the sizes of the table sizes].
CREATE VIEW IF NOT EXISTS class_operations AS SELECT interval, process, file, layer, c.key AS class, json_extract(c.value, '$[0]') AS calls,
	json_extract(c.value, '$[1]') AS failed, json_extract(c.value, '$[2]') AS time_ns, json_extract(c.value, '$[3]') AS longest_call_ns
	FROM operations, json_each(operations.classes) AS c;
CREATE VIEW IF NOT EXISTS file_sizes AS SELECT interval, process, file, layer, c.key AS class, s.key - 4 AS size, s.value AS operations
	FROM operations, json_each(operations.classes) AS c, json_each(c.value) AS s WHERE s.key >= 4 AND s.value > 0;
-- Operations of known size: of at most up_to bytes and more than the size before, NULL: of more than 1 GiB.
CREATE TABLE IF NOT EXISTS sizes(interval INTEGER, process INTEGER, layer TEXT, up_to INTEGER, reads INTEGER, writes INTEGER);
-- Calls one by one, as --events asks; each stands for weight calls. From module on: what Darshan's connector to LDMS publishes, see darshan_data.
CREATE TABLE IF NOT EXISTS event(interval INTEGER, time_ns INTEGER, duration_ns INTEGER, process INTEGER, tid INTEGER, layer TEXT, call TEXT, op TEXT,
	file INTEGER, name TEXT, "offset" INTEGER, asked INTEGER, moved INTEGER, failed INTEGER, error INTEGER, weight INTEGER,
	module TEXT, record TEXT, record_id INTEGER, max_byte INTEGER, switches INTEGER, flushes INTEGER, cnt INTEGER, total_ns INTEGER);
CREATE INDEX IF NOT EXISTS event_by_process ON event(process, time_ns);
-- Calls that a filter of the recording skipped; process is NULL where it is not known.
CREATE TABLE IF NOT EXISTS skipped(interval INTEGER, filter TEXT, layer TEXT, calls INTEGER, bytes_read INTEGER, bytes_written INTEGER,
	calls_of_unknown_size INTEGER, time_ns INTEGER, node INTEGER, process INTEGER);
-- Spans in which a layer of a process was not observed.
CREATE TABLE IF NOT EXISTS gap(interval INTEGER, pid INTEGER, layer TEXT, begin_ns INTEGER, end_ns INTEGER, reason TEXT,
	node INTEGER);
-- The wall clock was set, forward by step_ns, in the last uncertain_ns before time_ns (by the new clock). Intervals have one length and consecutive
-- numbers nevertheless: interval * job.interval_ns is their begin by the clock as the recording began with it, interval.begin_ns by the clock then.
CREATE TABLE IF NOT EXISTS clock_step(interval INTEGER, time_ns INTEGER, step_ns INTEGER, uncertain_ns INTEGER, node INTEGER);
CREATE INDEX IF NOT EXISTS calls_by_process ON calls(process, interval);
CREATE INDEX IF NOT EXISTS operations_by_process ON operations(process, interval);
CREATE VIEW IF NOT EXISTS bandwidth AS SELECT interval, layer, sum(bytes_read) AS bytes_read, sum(bytes_written) AS bytes_written,
	sum(reads) AS reads, sum(writes) AS writes FROM operations GROUP BY interval, layer;
CREATE VIEW IF NOT EXISTS rank_time AS SELECT rank, interval, layer, sum(time_ns) AS time_ns, sum(calls) AS calls
	FROM calls JOIN process USING (process) WHERE rank IS NOT NULL GROUP BY rank, interval, layer;
CREATE VIEW IF NOT EXISTS top_files AS SELECT path, layer, sum(bytes_read) AS bytes_read, sum(bytes_written) AS bytes_written, sum(reads) AS reads,
	sum(writes) AS writes, sum(time_ns) AS time_ns FROM operations JOIN file USING (file) GROUP BY path, layer;
-- The columns of the Darshan connector's table in DSOS, for its scripts; with --events all its rows, too. record_id is text: it has 64 bits and no sign.
CREATE VIEW IF NOT EXISTS darshan_data AS SELECT max(uid, 0) AS uid, CASE op WHEN 'open' THEN coalesce(executable, 'N/A') ELSE 'N/A' END AS exe,
	coalesce(nullif(CAST(batch_job AS INTEGER), 0), pid) AS job_id, coalesce(rank, 0) AS rank, host AS ProducerName,
	CASE op WHEN 'open' THEN record ELSE 'N/A' END AS file, printf('%u', record_id) AS record_id, module, CASE op WHEN 'open' THEN 'MET' ELSE 'MOD' END AS type,
	max_byte, switches, flushes, cnt, CASE op WHEN 'flush' THEN 'write' ELSE op END AS op, -1 AS pt_sel, -1 AS irreg_hslab, -1 AS reg_hslab, -1 AS ndims, -1 AS npoints,
	CASE WHEN op IN ('read', 'write') AND module IN ('POSIX', 'STDIO', 'MPIIO') THEN coalesce("offset", -1) ELSE -1 END AS off,
	CASE WHEN op IN ('read', 'write') THEN coalesce(CASE module WHEN 'MPIIO' THEN asked ELSE moved END, -1) WHEN op = 'flush' THEN 0 ELSE -1 END AS len,
	max(time_ns - duration_ns - process.begin_ns, 0) / 1e9 AS start, duration_ns / 1e9 AS dur, total_ns / 1e9 AS total, time_ns / 1000 / 1e6 AS timestamp
	FROM event JOIN process USING (process) JOIN job USING (node) WHERE module IS NOT NULL;
