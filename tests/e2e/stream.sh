#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# All intervals of a stream add up to the summary, field by field: lines and store, followers that are killed and started again, a
# reader that does not read.
. "$(dirname "$0")/../lib/e2e.sh"

# conserved NAME STREAM
conserved() {
	local text
	text=$(limited 60 "$PYTHON" "$TESTS/lib/conservation.py" "$2" "$TMP/${1%%,*}/trace/summary.json" 2>&1) &&
		{ ok "$1, adds up"; return; }
	not_ok "$1, adds up" "$text; $(cat "$TMP/${1%%,*}"/*.err 2>/dev/null | tail -n 3)"
}

# wait_for_spool DIR: the recording has begun. Its loops end with the recording's own limit.
wait_for_spool() {
	local i
	for ((i = 0; i < 600; i++)); do
		[ -e "$1/trace/spool" ] && return 0
		sleep 0.05
	done
	return 1
}

follow() { limited 90 "$IOPROBE" stream --interval 200ms "$@"; }

parallel() {
	local dir recorder lines store top
	dir=$(fresh parallel)
	limited 90 "$IOPROBE" -o "$dir/trace" --summary "$dir/out" --keep-spool --stream --stream=ldms:"$dir/ldms" --stream-events \
		all --stream-interval 200ms -- \
		mpirun -n 4 "$P/parallel_nc" "$dir/data/f.nc" >"$dir/stdout" 2>"$dir/err" & recorder=$!
	wait_for_spool "$dir" || { not_ok parallel "no recording: $(said "$dir")"; kill $recorder; return; }
	follow "$dir/trace" >"$dir/lines" 2>"$dir/lines.err" & lines=$!
	follow --store="$dir/live.db" "$dir/trace" 2>"$dir/store.err" & store=$!
	limited 90 "$IOPROBE" top "$dir/trace" >"$dir/top" 2>"$dir/top.err" & top=$!
	wait $recorder $lines $store $top
	contract parallel
	conserved "parallel, lines" "$dir/lines"
	conserved "parallel, store" "$dir/live.db"
	conserved "parallel, follower of the recording" "$dir/trace/live.db"
	verdict "parallel, lines of the connector to LDMS" \
		"$(limited 60 "$PYTHON" "$TESTS/lib/ldms_lines.py" "$dir/ldms" "$dir/trace/live.db" "$dir/trace/summary.json" 2>&1)"
	verdict "parallel, the follower says nothing" "$(grep -e --stream "$dir/err")"
	verdict "parallel, ranks are known before the end" \
		"$(sed '/"last":true/,$d' "$dir/lines" | grep -c '"rank":3,"name":"MPI Rank 3"' | grep -qv '^0$' ||
		grep '"type":"process"' "$dir/lines" | head -n 3)"
	verdict "parallel, top" "$(for layer in netCDF HDF5 MPI-IO POSIX; do grep -q "^$layer " "$dir/top" ||
		echo "$layer is missing"; done
		grep -q '^the recording has ended: end; records lost 0' "$dir/top" || tail -n 1 "$dir/top"
		awk 'length > 80 && !/ended/ { print "wider than 80 columns: " $0; exit }' "$dir/top")"
	verdict "parallel, top in a terminal of 80 columns" "$(limited 60 "$PYTHON" "$TESTS/lib/terminal.py" 80 24 MPI-IO \
		"$IOPROBE" top --interval 200ms "$dir/trace" 2>&1)"
	verdict "parallel, top with classes in 44 lines, with sizes in 60" "$(limited 60 "$PYTHON" "$TESTS/lib/terminal.py" 80 44 \
		' metadata     sync     lock  request    other' "$IOPROBE" top --interval 200ms "$dir/trace" 2>&1
		limited 60 "$PYTHON" "$TESTS/lib/terminal.py" 80 60 '   100M     1G   more' "$IOPROBE" top "$dir/trace" 2>&1)"
	queries "$dir/trace/live.db"
}

# The example queries of the guide.
queries() {
	local text
	text=$("$PYTHON" - "$1" "$TESTS/../user/cmd/GUIDE.md" 2>&1 <<-'E'
		import re, sqlite3, sys
		db = sqlite3.connect(f"file:{sys.argv[1]}?mode=ro", uri=True)
		found = re.findall(r"^    (SELECT .*?;)$", open(sys.argv[2], encoding="utf-8").read(), re.M | re.S)
		for query in found:
		    if not db.execute(query).fetchall():
		        print("no rows:", query)
		if len(found) < 3:
		    print(len(found), "queries in the guide")
		# rank r of a job over time, without a look at other ranks' rows (the paper's index job_rank_time)
		for table, time in (("calls", "interval"), ("operations", "interval"), ("event", "time_ns")):
		    plan = db.execute(f"EXPLAIN QUERY PLAN SELECT * FROM {table} JOIN process USING (process) WHERE rank = 1 "
		        f"AND {time} BETWEEN 5 AND 9").fetchall()
		    wanted = re.compile(f"SEARCH {table} .*\\(process=\\? AND {time}>\\? AND {time}<\\?\\)")
		    if not any(wanted.search(row[3]) for row in plan):
		        print(f"rows of a rank in {table}: {plan}")
	E
	)
	verdict "parallel, example queries" "$text"
}

# Stand-ins for LDMS' programs: they keep their arguments and what they read. One is not there, one cannot connect.
stand_ins() {
	local name
	mkdir "$1/bin" "$1/refuses" "$1/none"
	for name in ldmsd_stream_publish ldms_msg_publish; do
		printf '#!/bin/sh\necho "$@" >%s.arguments\nexec cat >%s.lines\n' "$1/$name" "$1/$name" >"$1/bin/$name"
		printf '#!/bin/sh\necho "Error 111 connecting to peer"\nexit 111\n' >"$1/refuses/$name"
		chmod 755 "$1/bin/$name" "$1/refuses/$name"
	done
}

# publish PATH OPTION...: follows the recording of parallel; messages are in err of the case.
publish() {
	limited 90 env PATH="$1" "$IOPROBE" stream --interval 200ms "${@:2}" "$TMP/parallel/trace" 2>"$TMP/publishers/err"
}

publishers() {
	local dir name stream='-x sock -h agg1 -p 4711 -a munge -s io -t json -l'
	dir=$(fresh publishers)
	stand_ins "$dir"
	DARSHAN_LDMS_HOST=agg1 DARSHAN_LDMS_PORT=4711 DARSHAN_LDMS_AUTH='' DARSHAN_LDMS_STREAM=io publish "$dir/bin:$PATH" \
		--to ldms:ldmsd_stream_publish --to ldms:ldms_msg_publish --to "ldms:$dir/lines"
	verdict "publishers, lines" "$(cat "$dir/err"; [ -s "$dir/lines" ] || echo none
		for name in ldmsd_stream_publish ldms_msg_publish; do cmp "$dir/lines" "$dir/$name.lines" 2>&1; done)"
	verdict "publishers, arguments" "$(diff <(echo "$stream") "$dir/ldmsd_stream_publish.arguments"
		diff <(echo "${stream/-s io -t json/-m io -t json -f /dev/stdin}") "$dir/ldms_msg_publish.arguments")"
	DARSHAN_LDMS_ENABLE_MPIIO=1 DARSHAN_LDMS_ENABLE_HDF5='' publish "$PATH" --to "ldms:$dir/some"
	verdict "publishers, selected modules" "$(cat "$dir/err"; [ -s "$dir/some" ] || echo none
		grep -E '"module":"(MPIIO|H5F|H5D)"' "$dir/lines" | cmp - "$dir/some" 2>&1)"
	publish "$dir/none" --to ldms:ldms_msg_publish
	verdict "publishers, not there" "$([ $? = 1 ] && grep -q 'ldms_msg_publish: cannot publish the stream: it is not in PATH' \
		"$dir/err" || echo "status or message: $(cat "$dir/err")")"
	publish "$dir/refuses:$PATH" --to ldms:ldmsd_stream_publish --to "sqlite:$dir/beside.db"
	verdict "publishers, cannot connect" "$([ $? = 1 ] && grep -q '^Error 111 connecting to peer$' "$dir/err" && grep -q \
		'early, with status 111: check DARSHAN_LDMS_HOST.*; [0-9]* intervals were given to it, .*, [1-9][0-9]* were not' \
		"$dir/err" || echo "status or message: $(cat "$dir/err")")"
	verdict "publishers, the store beside it" "$(limited 60 "$PYTHON" "$TESTS/lib/conservation.py" "$dir/beside.db" \
		"$TMP/parallel/trace/summary.json" 2>&1)"
	mkdir "$dir/hangs" && printf '#!/bin/sh\nexec sleep 600\n' >"$dir/hangs/ldmsd_stream_publish" &&
		chmod 755 "$dir/hangs/ldmsd_stream_publish"
	verdict "publishers, more lines than a pipe holds" "$([ "$(stat -c %s "$dir/lines")" -gt 200000 ] || ls -l "$dir/lines")"
	IOPROBE_STREAM_GRACE_S=1 publish "$dir/hangs:$PATH" --to ldms:ldmsd_stream_publish --to "sqlite:$dir/hangs.db"
	verdict "publishers, does not read" "$([ $? = 1 ] && grep -q \
		'it did not read or end within 1 s and was killed.*intervals were given to it, .* were not' "$dir/err" ||
		echo "status or message: $(cat "$dir/err")")"
	verdict "publishers, the store beside one that hangs" "$(limited 60 "$PYTHON" "$TESTS/lib/conservation.py" "$dir/hangs.db" \
		"$TMP/parallel/trace/summary.json" 2>&1)"
	DARSHAN_LDMS_XPRT=rdma limited 60 env PATH="$dir/bin:$PATH" "$IOPROBE" -q -o "$dir/trace" \
		--stream=ldms:ldmsd_stream_publish -- sh -c 'date >"$0/f"' "$dir/data" 2>"$dir/err"
	verdict "publishers, of a recording" "$(cat "$dir/err"
		diff <(echo '-x rdma -h localhost -p 412 -a munge -s darshanConnector -t json -l') \
			"$dir/ldmsd_stream_publish.arguments"
		grep -q '"module":"POSIX"' "$dir/ldmsd_stream_publish.lines" || echo "no line")"
}

# intervals DB: how many are in the store.
intervals() {
	"$PYTHON" -c 'import sqlite3, sys
db = sqlite3.connect(f"file:{sys.argv[1]}?mode=ro", uri=True)
print(db.execute("SELECT count(*) FROM interval").fetchone()[0])' \
		"$1" 2>/dev/null || echo 0
}

# The follower of a store is killed at any moment; the next goes on, and nothing is there twice. What is left to do after the end is
# done then. Calls that wait longer than an interval, with and without calls inside, share their time among the intervals.
killed() {
	local dir recorder follower i k had
	dir=$(fresh killed)
	limited 90 "$IOPROBE" -o "$dir/trace" --summary "$dir/out" --keep-spool --min-bytes 3 -- \
		sh -c '(sleep 1; echo x) | cat >"$0/late"; (sleep 1; echo x) | sort >"$0/sorted"
			for i in 1 2 3 4 5 6 7 8; do
				head -c 5000 /dev/zero >>"$0/f"; cat "$0/f" "$0/none" >/dev/null 2>&1; sleep 0.2
			done' \
		"$dir/data" >"$dir/stdout" 2>"$dir/err" & recorder=$!
	wait_for_spool "$dir" || { not_ok killed "no recording: $(said "$dir")"; kill $recorder; return; }
	for i in 1 2 3; do
		had=$(intervals "$dir/live.db")
		"$IOPROBE" stream --interval 200ms --store="$dir/live.db" "$dir/trace" 2>>"$dir/store.err" & follower=$!
		for ((k = 0; k < 100 && $(intervals "$dir/live.db") <= had; k++)); do
			kill -0 $follower 2>/dev/null || break
			sleep 0.05
		done
		kill -KILL $follower 2>/dev/null
		wait $follower 2>/dev/null
	done
	verdict "killed, there is something to go on with" "$([ "$(intervals "$dir/live.db")" -ge 1 ] || cat "$dir/store.err")"
	wait $recorder
	follow --store="$dir/live.db" "$dir/trace" 2>>"$dir/store.err"
	follow --store="$dir/live.db" "$dir/trace" 2>>"$dir/store.err"
	verdict "killed, messages" "$(cat "$dir/store.err")"
	conserved "killed, store" "$dir/live.db"
	verdict "killed, skipped calls of each process" "$("$PYTHON" -c 'import sqlite3, sys
of = sqlite3.connect(f"file:{sys.argv[1]}?mode=ro", uri=True).execute("SELECT count(DISTINCT process) FROM skipped").fetchone()[0]
print(end="" if of >= 10 else f"of {of} processes")' "$dir/live.db" 2>&1)"
	limited 40 strace -f -qq -o /dev/null -E "ASAN_OPTIONS=${ASAN_OPTIONS:-}:detect_leaks=0" -e trace=flock \
		-e inject=flock:error=ENOLCK "$IOPROBE" stream --to "ndjson:$dir/unlocked" "$dir/trace" 2>"$dir/unlocked.err"
	verdict "killed, ends where files have no locks" "$(cat "$dir/unlocked.err"
		tail -n 1 "$dir/unlocked" | grep -q '"type":"end".*"complete":true' || tail -n 1 "$dir/unlocked")"
	follow --names hash --to "ndjson:$dir/hashed" --to "sqlite:$dir/hashed.db" "$dir/trace" 2>"$dir/hashed.err"
	verdict "killed, names are hidden" \
		"$(cat "$dir/hashed.err"; grep -la sorted "$dir/hashed" "$dir/hashed.db"; grep -q '"path":".*/[0-9a-f]\{16\}"' \
			"$dir/hashed" ||
		head -n 3 "$dir/hashed")"
	one_fails "$dir"
	full_disk "$dir"
	limited 60 "$IOPROBE" stream --interval 1s --store="$dir/live.db" "$dir/trace" 2>"$dir/other"
	verdict "killed, another interval" \
		"$(grep -q 'the store has intervals of another length: give the same --interval' "$dir/other" || cat "$dir/other")"
}

# An output fails, the others are whole: a full disk, a reader on a socket that reads everything.
one_fails() {
	local dir=$1 reader status
	limited 60 "$PYTHON" -c '
import socket, sys
listener = socket.socket(socket.AF_UNIX); listener.bind(sys.argv[1]); listener.listen()
connection = listener.accept()[0]
with open(sys.argv[2], "wb") as out:
    while data := connection.recv(65536):
        out.write(data)' "$dir/socket" "$dir/socket.lines" & reader=$!
	wait_for_file "$dir/socket"
	chmod 777 "$dir/socket"
	follow --to ndjson:/dev/full --to "ndjson:unix:$dir/socket" --to "sqlite:$dir/beside.db" "$dir/trace" 2>"$dir/fails.err"
	status=$?
	wait $reader
	verdict "killed, an output that fails is reported" "$([ $status = 1 ] &&
		grep -q 'No space left.*; 0 intervals were written, [1-9][0-9]* were not' "$dir/fails.err" ||
		echo "status $status: $(cat "$dir/fails.err")")"
	cp "$dir/socket.lines" "$dir/socket.ndjson"
	conserved "killed, socket" "$dir/socket.ndjson"
	conserved "killed, the store beside it" "$dir/beside.db"
}

# The disk of a store is full for a time: what was not written is said, and written by the next follower, once.
full_disk() {
	local dir=$1
	mkdir "$dir/small"
	mount -t tmpfs -o size=256k,mode=777 none "$dir/small" || { skip "killed, full disk" "no tmpfs can be mounted"; return; }
	follow --to "sqlite:$dir/small/live.db" --to "ndjson:$dir/beside" --events all "$dir/trace" 2>"$dir/small.err"
	verdict "killed, a full disk is reported" "$([ $? = 1 ] &&
		grep -q 'the store: database or disk is full; [0-9]* intervals were written, [1-9][0-9]* were not' \
			"$dir/small.err" ||
		cat "$dir/small.err")"
	mount -o remount,size=10m "$dir/small"
	follow --to "sqlite:$dir/small/live.db" --events all "$dir/trace" 2>>"$dir/small.err"
	conserved "killed, a store whose disk was full" "$dir/small/live.db"
	umount "$dir/small"
}

# A reader that does not read holds up its follower only.
stalled() {
	local dir
	dir=$(fresh stalled)
	mkfifo "$dir/fifo"
	(sleep 30 >/dev/null & echo $! >"$dir/sleeper"; exec cat >"$dir/lines") <"$dir/fifo" & local reader=$!
	kill -STOP $reader
	limited 60 "$IOPROBE" -o "$dir/trace" --summary "$dir/out" --keep-spool -- sh -c 'for i in 1 2 3 4 5; do date; done' \
		>"$dir/stdout" 2>"$dir/err" & local recorder=$!
	wait_for_spool "$dir"
	follow "$dir/trace" >"$dir/fifo" 2>"$dir/stream.err" & local follower=$!
	wait $recorder
	verdict "stalled, the recording ends" "$([ -s "$dir/trace/summary.json" ] || said "$dir")"
	kill -CONT $reader
	wait $follower $reader
	kill "$(cat "$dir/sleeper")" 2>/dev/null
	conserved "stalled, lines" "$dir/lines"
}

# refused NAME TEXT ARGUMENT...: status not 0, this text in one line on stderr.
refused() {
	local out status
	out=$(limited 20 "$IOPROBE" "${@:3}" 2>&1 >/dev/null)
	status=$?
	verdict "refused, $1" "$([ $status != 0 ] && echo "$out" | grep -q -- "$2" || echo "status $status: $out")"
}

bad_input() {
	local -x IOPROBE_SOCKET=/nowhere
	fresh refused >/dev/null
	mkdir "$TMP/refused/empty"
	echo garbage >"$TMP/refused/data/spool"
	echo garbage >"$TMP/refused/text.db"
	refused "no recording" 'cannot follow it: it has no records' stream "$TMP/refused/empty"
	refused "no spool" 'it is not a spool of this version' top "$TMP/refused/data"
	refused "no job" 'there is no such directory, and no service at /nowhere that may know a job of this name' stream 4711
	refused "no directory" 'No such file' stream "$TMP/refused/nowhere"
	refused "no time" 'a time from 100ms to 3600s is expected' stream --interval 1 "$TMP/refused/empty"
	refused "no store" 'not a database' stream --store="$TMP/refused/text.db" "$TMP/parallel/trace"
	refused "store of another recording" 'it is the store of another recording' stream --interval 200ms \
		--store="$TMP/killed/live.db" "$TMP/parallel/trace"
	refused "no such output" 'there is no such output: one of ndjson, sqlite' stream --to nowhere "$TMP/parallel/trace"
	refused "stream to stdout" 'a file is needed' --stream=ndjson -- true
	refused "no names" 'one of full, mount, hash is expected' stream --names none "$TMP/parallel/trace"
	refused "watch, no store" 'it is not a store of this version' watch "$TMP/refused/text.db"
	refused "relative store" 'an absolute path is expected' stream --store=x.db "$TMP/parallel/trace"
}

# The recorder is killed: its followers detect that the spool has no writer, and report that the end is missing.
recorder_killed() {
	local dir recorder follower
	dir=$(fresh recorder_killed)
	"$IOPROBE" -o "$dir/trace" --summary "$dir/out" -- sh -c \
		'for i in 1 2 3 4 5 6 7 8 9 10; do head -c 5000 /dev/zero >>"$0/f"; sleep 0.3; done; echo >"$0/done"' \
		"$dir/data" >"$dir/stdout" 2>"$dir/err" & recorder=$!
	wait_for_spool "$dir" || { not_ok recorder_killed "no recording: $(said "$dir")"; kill $recorder; return; }
	follow "$dir/trace" >"$dir/lines" 2>"$dir/stream.err" & follower=$!
	sleep 1.5
	kill -KILL $recorder
	wait $recorder 2>/dev/null
	wait $follower
	verdict recorder_killed "$(tail -n 1 "$dir/lines" | grep -q '"type":"end".*"complete":false' ||
		{ tail -n 1 "$dir/lines"; cat "$dir/stream.err"; })"
	wait_for_file "$dir/data/done"
}

# Markup, a quote, an escape sequence, a newline and a byte that is not UTF-8.
HOSTILE=$'<img src=x onerror=alert(1)>"\033[31m\n\377'

UNTIL_STOP='i=0
until [ -e "$0/stop" ] || [ $((i += 1)) = 600 ]; do
	head -c 5000 /dev/zero >>"$0/f"; cat "$0/none" 2>/dev/null; echo >>"$0/$1"; sleep 0.1
done'

# Without the token, and under another host's name, every request is refused; the page's figures are the summary's.
watch() {
	local dir recorder watcher text
	dir=$(fresh watch)
	mkdir "$dir/prom"
	chmod 777 "$dir/prom"
	limited 90 "$IOPROBE" -o "$dir/trace" --summary "$dir/out" --keep-spool --stream \
		--stream="prometheus:$dir/prom/ioprobe.prom" --stream-interval 200ms -- \
		sh -c "$UNTIL_STOP" "$dir/data" "$HOSTILE" >"$dir/stdout" 2>"$dir/err" & recorder=$!
	wait_for_spool "$dir" || { not_ok watch "no recording: $(said "$dir")"; kill $recorder; return; }
	"$IOPROBE" watch --interval 200ms "$dir/trace" >"$dir/address" 2>"$dir/watch.err" & watcher=$!
	if have chromium; then
		wait_for_line "$dir/address" token
		verdict "watch, in a browser" \
			"$(limited 80 "$PYTHON" "$TESTS/lib/browser.py" "$(head -n 1 "$dir/address")" "$dir/trace/live.db" \
				"$dir/browser" "$dir/data/stop" 2>&1)"
	else
		skip "watch, in a browser" "chromium is not installed"
	fi
	touch "$dir/data/stop"
	wait $recorder
	wait_for_line "$dir/watch.err" 'the page stays' 30 || not_ok "watch, end" "$(cat "$dir/watch.err")"
	text=$(limited 30 "$PYTHON" "$TESTS/lib/watch_page.py" "$(head -n 1 "$dir/address")" "$dir/trace/summary.json" 2>&1)
	verdict watch "$text"
	if have prometheus && have prometheus-node-exporter; then
		verdict "watch, Prometheus" \
			"$(limited 60 "$PYTHON" "$TESTS/lib/prometheus.py" "$(head -n 1 "$dir/address")" "$dir/prom/ioprobe.prom" \
			"$dir/trace/summary.json" "$dir/prom" 2>&1)"
	else
		skip "watch, Prometheus" "prometheus and prometheus-node-exporter are not installed"
	fi
	verdict "watch, queries of the dashboard" "$(limited 30 "$PYTHON" "$TESTS/lib/dashboards.py" "$dir/trace/live.db" 2>&1)"
	kill $watcher
	wait $watcher 2>/dev/null
	past "$dir"
	conserved "watch, hostile names" "$dir/trace/live.db"
	limited 60 "$IOPROBE" top --interval 200ms "$dir/trace" >"$dir/top" 2>&1
	verdict "watch, hostile names in top" "$(LC_ALL=C grep -n $'[^ -~\t]' "$dir/top" | head -n 2 | cat -v
		grep -q 'onerror' "$dir/top" || tail -n 5 "$dir/top")"
}

# Of the past the page shows the store, also where only that is left.
past() {
	local dir=$1 watcher
	mkdir "$dir/past"
	cp "$dir/trace/live.db" "$dir/past/live.db"
	"$IOPROBE" watch "$dir/past" >"$dir/address" 2>"$dir/past.err" & watcher=$!
	wait_for_line "$dir/past.err" 'the page stays' 30 || not_ok "watch, the past" "$(cat "$dir/past.err")"
	verdict "watch, the past" "$(limited 30 "$PYTHON" "$TESTS/lib/watch_page.py" "$(head -n 1 "$dir/address")" \
		"$dir/trace/summary.json" 2>&1)"
	kill $watcher
	wait $watcher 2>/dev/null
}

parallel
publishers
killed
stalled
recorder_killed
watch
bad_input
