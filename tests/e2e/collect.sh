#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# ioprobe collect: the streams of four nodes (directories here) over TLS into one store, with a collector that is killed; strangers
# get nothing.
. "$(dirname "$0")/../lib/e2e.sh"
. "$(dirname "$0")/../lib/units.sh"
NOBODY=65534
D=$(fresh collect)
COLLECTOR=

# certificate NAME: a self-signed one for localhost.
certificate() {
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost -addext \
		subjectAltName=DNS:localhost \
		-keyout "$D/$1.key" -out "$D/$1.pem" 2>>"$D/openssl"
}

prepare() {
	certificate site && certificate other || return 1
	head -c 64 /dev/urandom >"$D/secret"
	head -c 64 /dev/urandom >"$D/other.secret"
	chmod 600 "$D/secret" "$D/other.secret"
	mkdir "$D/stores"
	chown $NOBODY "$D/secret" "$D/stores" "$D/site.key"
	chmod 755 "$TMP" "$D"
	TOKEN=$("$IOPROBE" collect --secret "$D/secret" --token cluster/4711/1000)
}

# start PORT [OPTION...]: sets PORT and COLLECTOR.
start() {
	rm -f "$D/port"        # the one of the collector before
	${CALLS:+env "ASAN_OPTIONS=${ASAN_OPTIONS:-}:detect_leaks=0"} \
		setpriv --reuid=$NOBODY --regid=$NOBODY --clear-groups ${CALLS:+strace -D -f -o "$CALLS"} "$IOPROBE" collect \
		--secret "$D/secret" --certificate "$D/site.pem" \
		--key "$D/site.key" --address localhost --port "$1" "${@:2}" --metrics "$D/stores/collect.prom" "$D/stores" \
		>"$D/port" 2>>"$D/collector.err" & COLLECTOR=$!
	wait_for_line "$D/port" '^port' 20 || { not_ok collector "does not start: $(cat "$D/collector.err")"; return 1; }
	PORT=$(sed -n 's/^port //p' "$D/port")
}

stop() {
	kill "-$1" $COLLECTOR 2>/dev/null
	wait $COLLECTOR 2>/dev/null
}

# deliver N [OPTION...]: follows the recording of a node, with the job's token.
deliver() {
	IOPROBE_COLLECT_TOKEN=${USE_TOKEN-$TOKEN} IOPROBE_COLLECT_CA=${USE_CA-$D/site.pem} limited "${DELIVER_S:-120}" \
		"$IOPROBE" stream --interval 200ms "${@:2}" --to "collect:${HOST-localhost}:$PORT" "$D/node$1" 2>"$D/follower$1.err"
}

record_nodes() {
	local n
	for n in 1 2 3 4; do
		mkdir -p "$D/data/$n"
		limited 120 "$IOPROBE" -o "$D/node$n" --summary "$D/out$n" --keep-spool --min-bytes 3 -- \
			sh -c 'i=0
			until { [ -e "$0/end" ] && [ $i -ge 8 ]; } || [ $((i += 1)) = 300 ]; do
				head -c $((1000 * '$n')) /dev/zero >>"$0/f$((i % 8))"
				cat "$0/f$((i % 8))" "$0/none" >/dev/null 2>&1
				sleep 0.3
			done' "$D/data/$n" \
			>"$D/stdout$n" 2>"$D/record$n.err" &
		RECORDERS+=($!)
	done
	for n in 1 2 3 4; do
		wait_for_file "$D/node$n/spool"
	done
}

# end_nodes FOLLOWER...: the programs end, and with them recorders and followers.
end_nodes() {
	touch "$D"/data/{1,2,3,4}/end
	wait "${RECORDERS[@]}" "$@"
}

# rows TABLE: how many are in the job's store.
rows() {
	"$PYTHON" -c 'import sqlite3, sys; print(sqlite3.connect(f"file:{sys.argv[1]}?mode=ro",
		uri=True).execute(f"SELECT count(*) FROM {sys.argv[2]}").fetchone()[0])' \
		"$STORE" "$1" 2>/dev/null || echo 0
}

# The collector is killed three times while the followers deliver; each time it goes on where its store ends. The programs end after
# that, so that all streams end in the last collector.
four_nodes() {
	local n i had followers=() RECORDERS=()
	STORE=$D/stores/cluster,4711,1000.db
	record_nodes
	for n in 1 2 3 4; do
		deliver $n --events all & followers+=($!)
	done
	for n in 1 2 3; do
		had=$(rows interval)
		for ((i = 0; i < 200 && $(rows interval) <= had; i++)); do sleep 0.05; done
		verdict "four nodes, the collector has more before it is killed ($n)" \
			"$([ "$(rows interval)" -gt "$had" ] || cat "$D/collector.err")"
		stop KILL
		start "$PORT" || { kill "${followers[@]}"; end_nodes "${followers[@]}"; return 1; }
	done
	end_nodes "${followers[@]}"
	verdict "four nodes, followers" "$(cat "$D"/follower?.err)"
	verdict "four nodes, collector" "$(cat "$D/collector.err")"
	for n in 1 2 3 4; do
		verdict "four nodes, node $n adds up" \
			"$(limited 60 "$PYTHON" "$TESTS/lib/conservation.py" "$STORE" "$D/node$n/summary.json" 2>&1)"
	done
	verdict "four nodes, one recording each" "$([ "$(rows job)" = 4 ] || echo "$(rows job) of them")"
	verdict "four nodes, no store but the job's" "$(ls "$D/stores" | grep -v -e '^cluster,4711,1000.db' -e '^collect.prom$')"
	verdict "four nodes, mode of the store" "$(stat -c %a "$STORE" | grep -v '^600$')"
	same_as_own_store
	again
}

# What was collected of a node is what a store of its own has: rows, events and Darshan's columns, too.
same_as_own_store() {
	limited 60 "$IOPROBE" stream --interval 200ms --events all --to "sqlite:$D/own.db" "$D/node1" 2>"$D/own.err"
	verdict "four nodes, as a store of its own" "$(cat "$D/own.err"; "$PYTHON" - "$D/own.db" "$STORE" 2>&1 <<-'E'
		import sqlite3, sys
		own, job = (sqlite3.connect(f"file:{name}?mode=ro", uri=True) for name in sys.argv[1:])
		recording, = own.execute("SELECT recording FROM job").fetchone()
		(node,), = job.execute("SELECT node FROM job WHERE recording = ?", (recording,)).fetchall()
		at, found = node << 32, 0
		for table in ("process", "file", "calls", "sizes", "operations", "event", "skipped", "gap", "interval"):
		    names = [row[1] for row in own.execute(f"PRAGMA table_info({table})") if row[1] not in ("node", "lag_ns")]
		    columns = ", ".join(f'"{name}"' for name in names)
		    moved = ", ".join(f'"{name}" - {at}' if name in ("process", "file") else f'"{name}"' for name in names)
		    where = f"node = {node}" if "node" in [row[1] for row in job.execute(f"PRAGMA table_info({table})")] else \
		        f'"{"process" if "process" in names else "file"}" >> 32 = {node}'
		    mine = sorted(own.execute(f"SELECT {columns} FROM {table}").fetchall(), key=repr)
		    theirs = sorted(job.execute(f"SELECT {moved} FROM {table} WHERE {where}").fetchall(), key=repr)
		    found += len(mine)
		    if mine != theirs:
		        different = [(a, b) for a, b in zip(mine, theirs) if a != b][:1]
		        print(f"{table}: {len(mine)} rows, {len(theirs)} collected: {different}")
		darshan = tuple(db.execute("SELECT count(*) FROM darshan_data").fetchone()[0] for db in (own, job))
		if not 0 < darshan[0] < darshan[1]:
		    print("rows of darshan_data:", darshan)
		if not found:
		    print("nothing was compared")
	E
	)"
}

# All of it once more: nothing is there twice.
again() {
	local had watcher
	had="$(rows interval) $(rows calls) $(rows event)"
	deliver 2 --events all
	verdict "again, follower" "$(cat "$D/follower2.err")"
	verdict "again, nothing twice" "$([ "$had" = "$(rows interval) $(rows calls) $(rows event)" ] ||
		echo "$had, now $(rows interval) $(rows calls) $(rows event)")"
	"$IOPROBE" watch "$STORE" >"$D/address" 2>"$D/watch.err" & watcher=$!
	verdict "again, shown" "$(wait_for_line "$D/watch.err" 'the page stays' || cat "$D/watch.err")"
	kill $watcher
	wait $watcher 2>/dev/null
	return 0
}

# refused NAME TEXT: the follower fails with this text; nothing of it is in a store.
refused() {
	deliver 3 && not_ok "$1" "it was delivered"
	verdict "$1" "$(grep -q -- "$2" "$D/follower3.err" || cat "$D/follower3.err")"
}

strangers() {
	local before
	before=$(ls "$D/stores" | tr '\n' ' ')
	USE_TOKEN=$("$IOPROBE" collect --secret "$D/other.secret" --token cluster/4711/1000) refused "token of another secret" \
		'were not delivered: its token is not valid here'
	USE_TOKEN=${TOKEN/4711/4712} refused "token of another job" 'its token is not valid here'
	USE_TOKEN= refused "no token" 'there is no token in IOPROBE_COLLECT_TOKEN'
	USE_CA=/dev/null refused "no certificate" "cannot read the site's certificate"
	verdict "strangers leave nothing" "$([ "$before" = "$(ls "$D/stores" | tr '\n' ' ')" ] || ls "$D/stores")"
	verdict "a client without TLS" "$("$PYTHON" - "$PORT" 2>&1 <<-'E'
		import socket, sys
		with socket.create_connection(("localhost", int(sys.argv[1])), 10) as s:
		    s.sendall(b'{"type":"hello"}\n' * 100)
		    s.settimeout(20)
		    try:
		        while answer := s.recv(1000):
		            if b"{" in answer:
		                print(answer)
		    except ConnectionResetError:
		        pass
	E
	)"
	garbage
}

# With a valid token: lines that are none of a stream, an interval without end.
garbage() {
	verdict "garbage with a valid token" "$("$PYTHON" - "$PORT" "$D/site.pem" "$TOKEN" 2>&1 <<-'E'
		import json, socket, ssl, sys
		port, certificate, token = sys.argv[1:]
		context = ssl.create_default_context(cafile=certificate)
		begin = {"type": "begin", "host": "x", "kernel": None, "version": None, "batch_job": None, "command_line": None,
		    "time": "1.000000000", "interval_ns": 200000000,
		         "recording": 1}
		def ask(*lines):
		    plain = socket.create_connection(("localhost", int(port)), 10)
		    with context.wrap_socket(plain, server_hostname="localhost") as s:
		        for line in lines:
		            s.sendall((line if isinstance(line, str) else json.dumps(line, separators=(",", ":"))).encode() + b"\n")
		        s.settimeout(20)
		        text = b""
		        while part := s.recv(4096):
		            text += part
		        return [json.loads(line) for line in text.decode().splitlines()]
		hello = {"type": "hello", "format": "ioprobe collect 1", "token": token}
		interval = {"type": "interval", "interval": 5, "begin": "1.000000000", "end": "1.200000000", "open_calls": 0,
		    "records_lost": 0, "lag_ns": 0, "last": False}
		for name, wanted, lines in (("no JSON", "not valid JSON", ["{"]),
		    ("another format", "its protocol is not", [{**hello, "format": "x"}]),
		                            ("no begin", "begin is not valid", [hello, {"type": "begin"}]),
		                            ("another length", "another length", [hello, {**begin, "interval_ns": 1}]),
		                            ("no row", "not valid", [hello, begin, {"type": "calls"}, interval]),
		                            ("no line", "not valid", [hello, begin, "]", interval])):
		    answers = ask(*lines)
		    if not answers or answers[-1]["type"] != "refused" or wanted not in answers[-1]["reason"]:
		        print(name, answers)
	E
	)"
}

# The collector is gone and stays so: the recording's follower counts what it could not deliver.
down() {
	stop TERM
	verdict "collector, end" "$(grep -v 'connection closed: ' "$D/collector.err")"
	HOST=localhost IOPROBE_STREAM_GRACE_S=1 refused "collector is down" \
		'[1-9][0-9]* of [1-9][0-9]* intervals were not delivered: Connection refused'
}

bad_input() {
	local out
	for case in "root|--secret $D/secret --certificate $D/site.pem --key $D/site.key $D/stores|not as root" \
		"open secret|--secret $D/site.pem --token a/b/1|others than its owner" \
		"no name|--secret $D/secret --token a/b|CLUSTER/JOB/UID is expected" \
		"no connection|--max-connections 0|--max-connections 0: a positive number is expected" \
		"no secret|$D/stores|--secret FILE is needed"; do
		IFS='|' read -r name words text <<<"$case"
		# shellcheck disable=SC2086
		out=$(limited 20 "$IOPROBE" collect $words 2>&1)
		verdict "refused, $name" "$(echo "$out" | grep -q -e "$text" || echo "$out")"
	done
	for case in "no key|$D/secret|$D/secret: cannot use them as certificate and key: .*must be readable" \
		"port in use|$D/site.key|port $PORT of localhost: cannot listen for followers: .*give another --port"; do
		IFS='|' read -r name words text <<<"$case"
		out=$(setpriv --reuid=$NOBODY --regid=$NOBODY --clear-groups timeout 20 "$IOPROBE" collect --secret "$D/secret" \
			--certificate "$D/site.pem" --key "$words" --address localhost --port "$PORT" "$D/stores" 2>&1)
		verdict "refused, $name" "$([ "$(grep -c . <<<"$out")" = 1 ] && grep -q -e "$text" <<<"$out" || echo "$out")"
	done
}

# The collector's store is lost after it had confirmed intervals: that is said, and the next follower delivers them all.
forgetful() {
	local recorder follower i
	STORE=$D/stores/cluster,4712,1000.db
	TOKEN=$("$IOPROBE" collect --secret "$D/secret" --token cluster/4712/1000)
	mkdir "$D/data/5"
	limited 90 "$IOPROBE" -o "$D/node5" --summary "$D/out5" --keep-spool -- \
		sh -c 'i=0; until [ -e "$0/end" ] || [ $((i += 1)) = 200 ]; do head -c 1000 /dev/zero >>"$0/f"; sleep 0.3; done' \
		"$D/data/5" \
		>"$D/stdout5" 2>"$D/record5.err" & recorder=$!
	wait_for_file "$D/node5/spool"
	deliver 5 & follower=$!
	for ((i = 0; i < 400 && $(rows interval) < 3; i++)); do sleep 0.05; done
	stop KILL
	rm -f "$STORE" "$STORE-wal" "$STORE-shm"
	touch "$D/data/5/end"           # the follower goes on to the recording's end
	start "$PORT" || { kill $follower; wait; return; }
	wait $follower
	wait $recorder
	verdict "forgetful, reported" "$(grep -q '[1-9][0-9]* of [1-9][0-9]* intervals were not delivered: it has lost intervals' \
		"$D/follower5.err" || echo "not said: $(cat "$D/follower5.err")")"
	deliver 5
	verdict "forgetful, delivered again" "$(cat "$D/follower5.err"
		limited 60 "$PYTHON" "$TESTS/lib/conservation.py" "$STORE" "$D/node5/summary.json" 2>&1)"
}

# value NAME: of the metrics.
value() { sed -n "s/^ioprobe_collect_$1 //p" "$D/stores/collect.prom"; }

# What the collector says of itself at its end: of the time after its last start.
metrics() {
	verdict "metrics" "$([ "$(value intervals_total)" -gt 0 ] && [ "$(value streams_ended_total)" -ge 4 ] &&
		[ "$(value followers_total)" -ge "$(value streams_ended_total)" ] && [ "$(value bytes_total)" -gt 10000 ] &&
		[ "$(value refused_total)" -ge 8 ] && [ "$(value connections)" = 0 ] || cat "$D/stores/collect.prom")"
	verdict "metrics, no other file" "$(ls "$D/stores" | grep next)"
}

# Strangers who hold more connections than there are places delay a follower, but do not keep it out. They stay until they are
# closed: after 30 s, or earlier when other connections need their places.
crowd() {
	local strangers
	start 0 --max-connections 40 || return
	"$PYTHON" -c 'import socket, sys, time
all = [socket.create_connection(("localhost", int(sys.argv[1]))) for _ in range(60)]
print("here", flush=True)
time.sleep(100)' "$PORT" >"$D/crowd" & strangers=$!
	wait_for_line "$D/crowd" here || not_ok crowd "cannot connect"
	TOKEN=$("$IOPROBE" collect --secret "$D/secret" --token crowd/1/1000)
	DELIVER_S=20 deliver 1
	verdict "crowd, delivered" "$(cat "$D/follower1.err"; [ -s "$D/stores/crowd,1,1000.db" ] || ls "$D/stores")"
	verdict "crowd, reason" "$(grep -q 'others wait, and it did not' "$D/collector.err" ||
		echo "not said: $(tail -n 3 "$D/collector.err")")"
	kill $strangers
	wait $strangers 2>/dev/null
	stop TERM
}

# What all stores hold, in a word.
contents_of_stores() {
	"$PYTHON" - "$D/stores" <<-'END'
		import glob, hashlib, sqlite3, sys
		sum = hashlib.sha256()
		names = sorted(glob.glob(sys.argv[1] + "/*.db"))
		assert names, "no store"
		for name in names:
		    sum.update(name.encode())
		    for line in sqlite3.connect(f"file:{name}?mode=ro", uri=True).iterdump():
		        sum.update(line.encode("utf-8", "surrogateescape"))
		print(sum.hexdigest())
	END
}

# A collector whose stores may not grow: the follower says how many intervals are missing and why, the collector says it, too, and
# what was stored stays.
full() {
	local before
	rm -f "$D"/stores/full,*
	TOKEN=$("$IOPROBE" collect --secret "$D/secret" --token full/1/1000)
	start 0 --max-job-size 4KiB || return
	DELIVER_S=30 deliver 1 && not_ok "full, job" "the follower did not fail"
	verdict "full, job" "$(grep -q "[1-9][0-9]* of [1-9][0-9]* intervals were not delivered: the job's store has reached \
--max-job-size 4.00 KiB" "$D/follower1.err" || cat "$D/follower1.err")"
	verdict "full, job, said by the collector" "$(grep -q "connection closed: the job's store has reached" "$D/collector.err" ||
		tail -n 3 "$D/collector.err")"
	stop TERM
	verdict "full, metrics" "$([ "$(value full_total)" -ge 1 ] || cat "$D/stores/collect.prom")"
	before=$(contents_of_stores)
	start 0 --max-size 4KiB || return
	IOPROBE_STREAM_GRACE_S=1 DELIVER_S=30 deliver 1 && not_ok "full, all" "the follower did not fail"
	verdict "full, all" "$(grep -q 'intervals were not delivered: the stores have reached --max-size 4.00 KiB' \
		"$D/follower1.err" || cat "$D/follower1.err")"
	stop TERM
	verdict "full, stores are as they were" \
		"$([ -n "$before" ] && [ "$before" = "$(contents_of_stores)" ] || ls -l "$D/stores")"
	verdict "full, size in metrics" "$([ "$(value stores_limit_bytes)" = 4096 ] && [ "$(value stores_bytes)" -gt 4096 ] ||
		cat "$D/stores/collect.prom")"
	start 0 || return
	verdict "full, then without a limit" "$(deliver 1 || echo "status $?"
		cat "$D/follower1.err"
		limited 60 "$PYTHON" "$TESTS/lib/conservation.py" "$D/stores/full,1,1000.db" "$D/node1/summary.json" 2>&1)"
	stop TERM
}

# The unit allows what the collector calls.
unit() {
	local file=$TESTS/../tools/systemd/ioprobe-collect.service
	units_can && have strace || { skip unit "no systemd-analyze, or no strace"; return; }
	unit_exposure "$file" 2
	touch "$D/calls" && chown $NOBODY "$D/calls"
	CALLS=$D/calls start 0 || return
	TOKEN=$("$IOPROBE" collect --secret "$D/secret" --token 'c-l/4-7/1000')
	deliver 1
	stop INT
	verdict "unit, delivered" "$(cat "$D/follower1.err"; [ -s "$D/stores/c-l,4-7,1000.db" ] || ls "$D/stores")"
	unit_calls "$file" "$D/calls"
}

have openssl || { skip collect "openssl is not installed"; exit 0; }
prepare || { not_ok prepare "$(tail -n 2 "$D/openssl")"; exit 0; }
start 0 && four_nodes && strangers && down && metrics
start 0 && bad_input
stop TERM
start 0 && forgetful
stop TERM
crowd
full
unit
[ -z "$COLLECTOR" ] || stop KILL
exit 0
