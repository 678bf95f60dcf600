#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# The node's service without a batch system: what comes of a recorder that is killed while its archive is made, of an archiver that
# takes too long, of damaged states; what the systemd unit allows; and the socket and messages of a service manager.
. "$(dirname "$0")/../lib/e2e.sh"
. "$TESTS/lib/service.sh"

id games >/dev/null 2>&1 || { skip all "no user games"; exit; }

trap 'end_helpers; services_stop' EXIT
trap 'exit 130' INT TERM

SERVICE_DIR=$TMP/s
UNIT=$TESTS/../tools/systemd/ioprobe.service
HELPERS=()
end_helpers() { [ ${#HELPERS[@]} = 0 ] || kill -KILL "${HELPERS[@]}" 2>/dev/null; HELPERS=(); }

# record_job ID COMMAND...: root starts the recording of a job of games, its program runs, root stops it.
record_job() {
	ask n1 start --job "$1" --uid "$(id -u games)" --gid "$(id -g games)" --always --timeout 10000 >"$TMP/start" 2>&1 ||
		{ not_ok "$1" "$(cat "$TMP/start")"; return 1; }
	(cd /tmp; SLURM_JOB_ID=$1 SLURMD_NODENAME=n1 exec setpriv --reuid games --regid games --clear-groups -- "${@:2}") \
		</dev/null >/dev/null 2>&1
}
ends() { ask n1 stop --job "$1" --timeout 5000 >/dev/null; }

many_writes() { echo "import os; f = os.open('/dev/null', os.O_WRONLY); [os.write(f, b'x') for i in range($1)]"; }

child_of() { local children; read -r children <"/proc/$1/task/$1/children" 2>/dev/null; echo "${children%% *}"; }

# The archiver is stopped in the midst of its work, its recorder killed: it ends too, and one other makes the archive. That it waits
# for a lock first makes the moment long enough.
killed_archiving() {
	local recorder archiver holder i
	record_job 501 "$PYTHON" -c "$(many_writes 100)" || return
	recorder=$(state_value n1 501 pid)
	flock "$(state_value n1 501 output)" sleep 60 </dev/null >/dev/null 2>&1 & holder=$!
	HELPERS+=($holder)
	sleep 0.3
	ends 501
	wait_for_phase n1 501 archiving
	for ((i = 0; i < 200; i++)); do
		archiver=$(child_of "$recorder")
		[ -z "$archiver" ] || break
		sleep 0.01
	done
	[ -n "$archiver" ] && kill -STOP "$archiver" || { not_ok killed_archiving "no archiver: $(phase n1 501)"; return; }
	kill -KILL "$recorder"
	HELPERS+=($(child_of $holder))
	end_helpers
	wait_for_phase n1 501 'done|failed' 60
	verdict "killed_archiving, no second archiver" "$(grep -sE '^(Name|State)' "/proc/$archiver/status" | grep -A1 ioprobe)"
	kill -KILL "$archiver" 2>/dev/null
	archive_is killed_archiving n1 501 games "calls('write', path='/dev/null') == 100"
	verdict "killed_archiving, said" "$(state_value n1 501 message | grep -q 'ended from outside' ||
		state_value n1 501 message)"
}

# Another process holds the directory for longer than an archiver may take.
archive_limit() {
	local dir
	record_job 502 "$PYTHON" -c "$(many_writes 10)" || return
	dir=$(state_value n1 502 output)
	flock "$dir" sleep 60 </dev/null >/dev/null 2>&1 & HELPERS+=($!)
	sleep 0.3
	ends 502
	wait_for_phase n1 502 'done|failed' 20
	verdict "archive_limit" "$(state_value n1 502 message |
		grep -q "took longer than 2 s.*max-archive-time; the records are kept: 'ioprobe recover $dir'" ||
		echo "$(phase n1 502): $(state_value n1 502 message)")"
	HELPERS+=($(child_of "${HELPERS[-1]}"))
	end_helpers
	limited 20 "$IOPROBE" recover "$dir" >"$TMP/recovered" 2>&1
	verdict "archive_limit, recovered as it said" "$([ $? = 0 ] && [ -s "$dir/traces.otf2" ] || tail -n 2 "$TMP/recovered")"
}

# No process of the job was seen: no directory of it is left, nor one that was made on the way to it.
empty_directories() {
	record_job 503 "$PYTHON" -c "$(many_writes 1)" || return
	ends 503; wait_for_phase n1 503 'done|failed'
	rm -r "$SERVICE_DIR/archives/games"
	ask n1 start --job 504 --uid "$(id -u games)" --gid "$(id -g games)" --always --timeout 10000 >/dev/null 2>&1
	ends 504; wait_for_phase n1 504 'empty|failed'
	verdict "empty_directories" "$(find "$SERVICE_DIR/archives" -mindepth 1)"
}

# A job without processes whose end is not reported: the idle limit ends its recording.
idle_limit() {
	ask n1 start --job 521 --uid "$(id -u games)" --gid "$(id -g games)" --always --timeout 10000 >/dev/null 2>&1
	wait_for_phase n1 521 'empty|failed|done'
	verdict "idle_limit" "$([ "$(phase n1 521)" = empty ] &&
		state_value n1 521 message | grep -q 'no process .* seen on this node: the job had no process for the idle limit' ||
		echo "$(phase n1 521): $(state_value n1 521 message)")"
}

# A new service takes over what is whole, and sets aside what is not.
damaged_state() {
	service_kill n1
	echo '{"id": "505", "pha' >"$SERVICE_DIR/state-n1/jobs/505.json"
	service_start n1
	verdict "damaged_state" "$([ -e "$SERVICE_DIR/state-n1/jobs/505.json.damaged" ] &&
		grep -q '505.json: cannot read the state' "$SERVICE_DIR/n1.log" || tail -n 1 "$SERVICE_DIR/n1.log")"
}

# One row for each job, with times and sizes, and the reason below it: 502 failed (archive_limit).
job_table() {
	local row='^502 +games +failed +20[0-9]{2}-[0-9]{2}-[0-9]{2} [0-9:]{8} +[0-9]+:[0-9]{2}:[0-9]{2} '
	row+='+[1-9][0-9]* +[0-9.]+ ([KM]i)?B  /'
	ask n1 status >"$TMP/table" 2>&1
	verdict "job_table, header" "$(head -n 1 "$TMP/table" |
		grep -Eq '^JOB +USER +PHASE +STARTED +TIME +RECORDS +SIZE +OUTPUT$' || head -n 1 "$TMP/table")"
	verdict "job_table, row" "$(grep -Eq "$row" "$TMP/table" ||
		grep -A1 '^502' "$TMP/table")"
	verdict "job_table, reason" "$(grep -A1 '^502 ' "$TMP/table" | tail -n 1 | grep -q '^ .*took longer than 2 s' ||
		grep -A1 '^502' "$TMP/table")"
}

# wait_for_stream STORE: until it has the recording's end.
wait_for_stream() {
	local i
	for ((i = 0; i < 200; i++)); do
		"$PYTHON" -c 'import sqlite3, sys; sys.exit(not sqlite3.connect(f"file:{sys.argv[1]}?mode=ro",
			uri=True).execute("SELECT complete FROM job").fetchone()[0])' \
			"$1" 2>/dev/null && break
		sleep 0.05
	done
}

# The policy's stream: a store of the job's user that adds up to the summary. Its follower ends by itself.
streamed() {
	wait_for_stream "$1/live.db"
	verdict "stream, adds up" "$("$PYTHON" "$TESTS/lib/conservation.py" "$1/live.db" "$1/summary.json" 2>&1)"
	verdict "stream, owner" "$(stat -c '%U' "$1/live.db" | grep -v '^games$')"
}

# A job's id is enough to see its past, in the store that the service's stream made.
shown() {
	local watcher
	IOPROBE_SOCKET=$SERVICE_DIR/n1.socket "$IOPROBE" watch "$1" >"$TMP/address" 2>"$TMP/watch.err" & watcher=$!
	verdict "stream, shown by the job's id" "$(wait_for_line "$TMP/watch.err" 'the page stays' 20 || cat "$TMP/watch.err")"
	kill $watcher
	wait $watcher 2>/dev/null
}

# The policy's collector: it runs as another user, and gets the job with a token that the service made.
collector() {
	mkdir "$TMP/stores"
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost -addext \
		subjectAltName=DNS:localhost \
		-keyout "$TMP/site.key" -out "$TMP/site.pem" 2>"$TMP/openssl" ||
		{ not_ok collector "$(tail -n 1 "$TMP/openssl")"; return 1; }
	head -c 64 /dev/urandom >"$TMP/secret"
	cp "$TMP/secret" "$TMP/collector.secret"
	chmod 600 "$TMP/secret" "$TMP/collector.secret"
	chmod 755 "$TMP"
	chown nobody "$TMP/collector.secret" "$TMP/site.key" "$TMP/stores"
	setpriv --reuid=nobody --clear-groups "$IOPROBE" collect --secret "$TMP/collector.secret" --certificate "$TMP/site.pem" \
		--key "$TMP/site.key" --address localhost \
		--port 0 "$TMP/stores" >"$TMP/port" 2>"$TMP/collector.err" </dev/null & HELPERS+=($!)
	wait_for_line "$TMP/port" '^port' || { not_ok collector "$(cat "$TMP/collector.err")"; return 1; }
}

# collected SUMMARY: the job's store adds up, too.
collected() {
	local i store
	for ((i = 0; i < 200; i++)); do
		store=$(echo "$TMP/stores/"*,506,"$(id -u games).db")
		[ ! -e "$store" ] || break
		sleep 0.05
	done
	wait_for_stream "$store"
	verdict "collect, adds up" "$("$PYTHON" "$TESTS/lib/conservation.py" "$store" "$1" 2>&1; cat "$TMP/collector.err")"
	end_helpers
}

# metric NAME[{LABEL}]: of the service's file; its node is n1.
metric() { sed -n "s/^ioprobe_service_$1{node=\"n1\"${2:+,$2}} //p" "$TMP/metrics/ioprobe.prom" 2>/dev/null; }

# The service's own metrics: requests and recordings by what became of them, records as in the state. In a directory that others can
# change nothing is written.
own_metrics() {
	local i
	mkdir "$TMP/metrics"
	chmod 777 "$TMP/metrics"
	service_kill n1
	service_start n1 'record comment ioprobe' 'spare 1' "metrics $TMP/metrics/ioprobe.prom" 'stream sqlite' \
		'stream-interval 200ms' 'call-sites 4'
	verdict "metrics, unsafe directory" \
		"$(ls "$TMP/metrics"; grep -q 'metrics/ioprobe.prom: cannot write the service.s metrics: its directory' \
			"$SERVICE_DIR/n1.log" ||
		tail -n 2 "$SERVICE_DIR/n1.log")"
	chmod 755 "$TMP/metrics"
	# Two complete intervals of the stream.
	record_job 507 "$PYTHON" -c "$(many_writes 10); import time; time.sleep(0.5)" || return
	ask n1 start --job 507 --uid "$(id -u games)" --gid "$(id -g games)" --always >/dev/null 2>&1
	ask n1 start --job 508 --uid "$(id -u games)" --gid "$(id -g games)" >/dev/null 2>&1
	ends 507; wait_for_phase n1 507 'done|failed'
	streamed "$(state_value n1 507 output)"
	shown 507
	for ((i = 0; i < 200; i++)); do
		[ "$(metric recordings_total 'result="done"') $(metric standby_recorders)" = "1 1" ] && break
		sleep 0.05
	done
	verdict "metrics" "$([ "$(metric requests_total 'result="accepted"') $(metric requests_total 'result="refused"') $(metric \
		requests_total 'result="declined"') \
$(metric recordings) $(metric recordings_total 'result="done"') $(metric recordings_total 'result="empty"') $(metric \
	recordings_total 'result="failed"')" = "1 1 1 0 1 0 0" ] ||
		grep -v '^#' "$TMP/metrics/ioprobe.prom")"
	verdict "metrics, records" "$([ "$(metric records_total) $(metric lost_records_total) $(metric record_bytes_total)" = \
		"$(state_value n1 507 records) $(state_value n1 507 lost) $(state_value n1 507 record_bytes)" ] &&
		[ "$(metric records_total)" -ge 10 ] ||
		echo "differs: $(grep record "$TMP/metrics/ioprobe.prom")")"
	verdict "metrics, streams" "$([ "$(metric stream_lag_seconds_count)" = "$(state_value n1 507 stream_intervals)" ] &&
		[ "$(metric stream_lag_seconds_count)" -ge 1 ] && [ "$(metric stream_missed_intervals_total)" = 0 ] &&
		awk -v sum="$(metric stream_lag_seconds_sum)" -v ns="$(state_value n1 507 stream_lag_ns)" \
			'BEGIN { exit !(ns > 0 && sum - ns / 1e9 < 1e-6 && ns / 1e9 - sum < 1e-6) }' ||
		echo "differs: $(grep stream "$TMP/metrics/ioprobe.prom")")"
	verdict "call_sites, of the policy" "$("$PYTHON" - "$(state_value n1 507 output)/summary.json" <<'END'
import json, sys
sites = json.load(open(sys.argv[1]))["call_sites"]
known = [s for s in sites["sites"] if s["frames"] and s["bytes_written"]] if sites else []
if not known or sites["application_frames"] != 4:
    print(sites)
END
)"
	if have promtool; then
		verdict "metrics, promtool" "$(promtool check metrics <"$TMP/metrics/ioprobe.prom" 2>&1)"
	else
		skip "metrics, promtool" "prometheus is not installed"
	fi
	have prometheus && have prometheus-node-exporter ||
		{ skip "metrics, dashboard" "prometheus and prometheus-node-exporter are not installed"; return; }
	mkdir "$TMP/prometheus"
	verdict "metrics, dashboard" "$(limited 90 "$PYTHON" "$TESTS/lib/prometheus.py" --dashboard ioprobe-service.json \
		"$TMP/metrics/ioprobe.prom" "$TMP/prometheus" 2>&1)"
}

# The policy says what of a job is in its stream: hashes of names, no command line, single calls, intervals of its length.
stream_policy() {
	local dir
	service_kill n1
	service_start n1 'record comment ioprobe' 'spare 1' 'stream sqlite' 'stream-interval 500ms' 'stream-names hash' \
		'stream-events 1/2'
	record_job 511 sh -c 'for i in 1 2 3 4; do date >>"$0/named"; done' "$TMP/data" || return
	ends 511; wait_for_phase n1 511 'done|failed'
	dir=$(state_value n1 511 output)
	wait_for_stream "$dir/live.db"
	verdict "stream, names, events and interval of the policy" "$("$PYTHON" - "$dir/live.db" 2>&1 <<'END'
import re, sqlite3, sys
db = sqlite3.connect(f"file:{sys.argv[1]}?mode=ro", uri=True)
print(end="".join(f"{query}: {found}; " for query, wanted in (
    ("SELECT interval_ns, command_line FROM job", [(500000000, None)]),
    ("SELECT count(*) FROM file WHERE path LIKE '%named%' OR path LIKE '%date%'", [(0,)]),
    ("SELECT DISTINCT weight FROM event", [(2,)]),
    ("SELECT count(*) FROM process WHERE executable LIKE '%/%'", [(0,)]),
) if (found := db.execute(query).fetchall()) != wanted))
paths = [path for path, in db.execute("SELECT path FROM file WHERE NOT special AND path IS NOT NULL")]
if not paths or not all(re.fullmatch(".*/[0-9a-f]{16}", path) for path in paths):
    print(paths[:5])
END
)"
}

# What a whole recording calls must be in the unit's filter.
unit() {
	units_can || { skip unit "no systemd-analyze"; return; }
	unit_exposure "$UNIT" 3.5
	have strace || { skip "unit, system calls" "strace is not installed"; return; }
	service_kill n1
	collector || return
	IOPROBE_CALLS=$TMP/calls service_start n1 'record comment ioprobe' 'spare 1' 'stream sqlite' 'stream-interval 200ms' \
		"stream collect:localhost:$(sed -n 's/^port //p' "$TMP/port")" "collect-secret $TMP/secret" \
		"collect-ca $TMP/site.pem"
	record_job 506 "$P/writes4000" "$TMP/data" || return
	ends 506; wait_for_phase n1 506 'done|failed'
	verdict "unit, recorded" "$([ "$(phase n1 506)" = 'done' ] || state_value n1 506 message)"
	streamed "$(state_value n1 506 output)"
	collected "$(state_value n1 506 output)/summary.json"
	services_stop
	verdict "unit, the service ended" \
		"$(grep -lsF "$SERVICE_DIR/n1.socket" /proc/[0-9]*/cmdline | while read -r p; do grep -qz serve "$p" &&
			echo "$p"; done)"
	unit_calls "$UNIT" "$TMP/calls"
}

# What a service manager would get: one line per message.
MANAGER='import os, socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM); s.bind(sys.argv[1])
while True:
    for line in s.recv(4096).decode().splitlines(): print(line, flush=True)
    if line == "STOPPING=1": break'

wait_for_socket() {
	local i
	for ((i = 0; i < 200; i++)); do [ ! -S "$1" ] || return 0; sleep 0.05; done
}

# told LINE TIMES
told() {
	local i
	for ((i = 0; i < 200; i++)); do
		grep -c "^$1\$" "$TMP/told" | grep -qx "$2" && return 0
		sleep 0.05
	done
	return 1
}

# The socket is the manager's: a request waits until the service is there, and the service tells when it is ready, reads its policy,
# ends.
manager() {
	local manager=$TMP/manager activator
	have systemd-socket-activate || { skip manager "no systemd-socket-activate"; return; }
	"$PYTHON" -c "$MANAGER" "$manager" >"$TMP/told" 2>&1 & HELPERS+=($!)
	wait_for_socket "$manager"
	systemd-socket-activate --seqpacket -l "$SERVICE_DIR/n3.socket" -E NOTIFY_SOCKET="$manager" "$IOPROBE" serve --node n3 \
		--policy "$SERVICE_DIR/n1.policy" --state "$SERVICE_DIR/state-n3" >"$TMP/manager.log" 2>&1 </dev/null & activator=$!
	SERVICE_PID[n3]=$activator
	wait_for_socket "$SERVICE_DIR/n3.socket"
	verdict "manager, nothing runs before the first request" \
		"$(tr '\0' ' ' </proc/$activator/cmdline | grep 'ioprobe serve --node n3 .*socket$')"
	ask n3 version --timeout 10000 >"$TMP/version" 2>&1
	verdict "manager, answered" "$(grep -q 'jobs are being recorded' "$TMP/version" || cat "$TMP/version" "$TMP/manager.log")"
	verdict "manager, ready" "$(told READY=1 1 || cat "$TMP/told")"
	kill -HUP $activator
	verdict "manager, policy read again" \
		"$(told READY=1 2 && grep -q '^MONOTONIC_USEC=[1-9]' "$TMP/told" && grep -qx RELOADING=1 "$TMP/told" ||
			cat "$TMP/told")"
	kill $activator; end_of $activator 10; unset 'SERVICE_PID[n3]'
	verdict "manager, ends" "$(told STOPPING=1 1 || cat "$TMP/told")"
	verdict "manager, its socket stays" "$([ -S "$SERVICE_DIR/n3.socket" ] || echo "removed")"
	end_helpers
}

# What is no socket for packets is refused, and nothing is served.
manager_wrong_socket() {
	have systemd-socket-activate || return
	systemd-socket-activate -l "$SERVICE_DIR/n4.socket" "$IOPROBE" serve --state "$SERVICE_DIR/state-n4" >"$TMP/wrong.log" \
		2>&1 </dev/null & HELPERS+=($!)
	wait_for_socket "$SERVICE_DIR/n4.socket"
	"$PYTHON" -c 'import socket, sys; s = socket.socket(socket.AF_UNIX); s.settimeout(10); s.connect(sys.argv[1]); s.recv(1)' \
		"$SERVICE_DIR/n4.socket" >/dev/null 2>&1
	end_of "${HELPERS[-1]}" 10
	verdict "manager, wrong socket" "$(grep -q "cannot take the service manager's socket: .*ListenSequentialPacket" \
		"$TMP/wrong.log" || cat "$TMP/wrong.log")"
	HELPERS=()
}

mkdir -m 777 "$TMP/data"
service_start n1 'record comment ioprobe' 'max-archive-time 2' 'spare 1' ||
	{ not_ok service "$(tail -n 2 "$SERVICE_DIR/n1.log")"; exit; }
archive_limit
service_kill n1
service_start n1 'record comment ioprobe' 'idle-limit 1' 'spare 1'
idle_limit
service_kill n1
service_start n1 'record comment ioprobe' 'spare 1'
killed_archiving
empty_directories
damaged_state
job_table
own_metrics
stream_policy
unit
manager
manager_wrong_socket
