-- SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
-- The store of a recording, live.db. Times are nanoseconds since 1970. Rows are what an interval adds: sums over intervals are those of summary.json.
-- Layers contain each other: bytes and times of different layers are never to be added up.
PRAGMA user_version = 1;
CREATE TABLE IF NOT EXISTS job(host TEXT, kernel TEXT, version TEXT, batch_job TEXT, command_line TEXT, begin_ns INTEGER, interval_ns INTEGER,
	end_ns INTEGER, complete INTEGER, records_lost INTEGER, records_after_bound INTEGER, stopped_by TEXT);
CREATE TABLE IF NOT EXISTS process(process INTEGER PRIMARY KEY, pid INTEGER, rank INTEGER, name TEXT, executable TEXT);
CREATE TABLE IF NOT EXISTS file(file INTEGER PRIMARY KEY, path TEXT, mount_point TEXT, mount_source TEXT, file_system TEXT, scope TEXT, special INTEGER);
CREATE TABLE IF NOT EXISTS interval(interval INTEGER, last INTEGER, begin_ns INTEGER, end_ns INTEGER, open_calls INTEGER, lag_ns INTEGER,
	PRIMARY KEY(interval, last));
CREATE TABLE IF NOT EXISTS calls(interval INTEGER, process INTEGER, layer TEXT, calls INTEGER, failed INTEGER, time_ns INTEGER, system_time_ns INTEGER);
CREATE TABLE IF NOT EXISTS operations(interval INTEGER, process INTEGER, file INTEGER, layer TEXT, reads INTEGER, writes INTEGER, bytes_read INTEGER,
	bytes_written INTEGER, reads_of_known_size INTEGER, writes_of_known_size INTEGER, reads_of_unknown_size INTEGER, writes_of_unknown_size INTEGER, reads_failed INTEGER,
	writes_failed INTEGER, opens INTEGER, time_ns INTEGER, metadata_time_ns INTEGER);
CREATE INDEX IF NOT EXISTS calls_by_process ON calls(process, interval);
CREATE INDEX IF NOT EXISTS operations_by_process ON operations(process, interval);
CREATE VIEW IF NOT EXISTS bandwidth AS SELECT interval, layer, sum(bytes_read) AS bytes_read, sum(bytes_written) AS bytes_written,
	sum(reads) AS reads, sum(writes) AS writes FROM operations GROUP BY interval, layer;
CREATE VIEW IF NOT EXISTS rank_time AS SELECT rank, interval, layer, sum(time_ns) AS time_ns, sum(calls) AS calls
	FROM calls JOIN process USING (process) WHERE rank IS NOT NULL GROUP BY rank, interval, layer;
CREATE VIEW IF NOT EXISTS top_files AS SELECT path, layer, sum(bytes_read) AS bytes_read, sum(bytes_written) AS bytes_written, sum(reads) AS reads,
	sum(writes) AS writes, sum(time_ns) AS time_ns FROM operations JOIN file USING (file) GROUP BY path, layer;
