#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# A stream costs a recording no record, where the machine is busy and where the follower gets no CPU at all; how far it is behind is
# in all outputs. 30000 files, with followers that are killed and a reader that stalls.
# alone: it keeps all CPUs busy.
. "$(dirname "$0")/../lib/e2e.sh"
busy=()
trap 'kill "${busy[@]}" 2>/dev/null' EXIT

CALLS=200000
# Records of some 20 MB, more than the rings (8 MiB for each CPU), at up to 100000 calls per second.
PACED="import os, sys, time
while not os.path.exists(sys.argv[1] + '/go'): time.sleep(0.02)
f = os.open('/dev/null', os.O_WRONLY)
for turn in range($CALLS // 1000):
    for i in range(1000): os.write(f, b'x' * 100)
    time.sleep(0.01)
open(sys.argv[1] + '/done', 'w')"

# start NAME [OPTION...]: a recording of the program, which waits for "go". Sets RECORDER.
start() {
	local dir
	dir=$(fresh "$1")
	timeout -k 5 100 "$IOPROBE" -o "$dir/trace" --layers posix --summary "$dir/out" "${@:2}" -- "$PYTHON" -c "$PACED" \
		"$dir/data" >"$dir/stdout" 2>"$dir/err" </dev/null & RECORDER=$!
	wait_for_file "$dir/trace/spool" || { not_ok "$1" "no recording: $(said "$dir")"; kill $RECORDER; return 1; }
}

# all_there NAME: all calls of the program are in the summary, and nothing was lost.
all_there() {
	verdict "$1, all calls, none lost" "$(limited 20 "$PYTHON" - "$TMP/$1/trace/summary.json" $CALLS 2>&1 <<-'E'
		import json, sys
		summary, calls = json.load(open(sys.argv[1])), int(sys.argv[2])
		found = sum(layer["writes"] for file in summary["files"] if file["path"] == "/dev/null" for layer in file["layers"])
		if found != calls or summary["records_lost"] or not summary["complete"]:
		    print(f"{found} of {calls} calls, {summary['records_lost']} records lost, complete: {summary['complete']}")
	E
	)"
}

# lag_shown NAME SECONDS: the store has it for each interval, at least once more than that; lines and metrics have the same, top
# shows it.
lag_shown() {
	local dir=$TMP/$1
	verdict "$1, how far it is behind" "$(limited 20 "$PYTHON" - "$dir" "$2" 2>&1 <<-'E'
		import json, re, sqlite3, sys
		directory, least = sys.argv[1], float(sys.argv[2])
		db = sqlite3.connect(f"file:{directory}/trace/live.db?mode=ro", uri=True)
		rows = db.execute("SELECT lag_ns, last FROM interval ORDER BY interval, last").fetchall()
		lags = [lag for lag, _ in rows]
		over = [lag for lag, last in rows if not last]          # the last one ends in the future
		lines = [row["lag_ns"] for row in map(json.loads, open(f"{directory}/lines")) if row["type"] == "interval"]
		metric, = re.findall(r"^ioprobe_stream_lag_seconds{.*} (\S+)$", open(f"{directory}/live.prom").read(), re.M)
		if not over or min(over) <= 0 or max(over) < least * 1e9:
		    print(f"{len(over)} lags, {min(over, default=0)} to {max(over, default=0)} ns, {least} s is expected at least")
		if lines != lags or abs(float(metric) - lags[-1] / 1e9) > 1e-6 * float(metric):
		    print(f"store {lags[-3:]}, lines {lines[-3:]}, metric {metric}")
	E
	)"
}

# streamed NAME SECONDS: all that can be said of a stream that has ended.
streamed() {
	local dir=$TMP/$1 i
	for ((i = 0; i < 600; i++)); do
		tail -n 1 "$dir/lines" 2>/dev/null | grep -q '"type":"end"' && break
		sleep 0.1
	done
	all_there "$1"
	verdict "$1, messages" "$(grep -e --stream "$dir/err")"
	for i in trace/live.db lines; do
		verdict "$1, $i adds up" \
			"$(limited 60 "$PYTHON" "$TESTS/lib/conservation.py" "$dir/$i" "$dir/trace/summary.json" 2>&1)"
	done
	lag_shown "$1" "$2"
}

outputs() { echo "--stream --stream=ndjson:$1/lines --stream=prometheus:$1/live.prom --stream-interval 200ms"; }

# As many busy processes of normal priority as there are CPUs, twice: nothing is idle, and the follower has priority 10.
saturated() {
	local i name top=
	for ((i = 0; i < 2 * $(nproc); i++)); do
		timeout --foreground 200 "$PYTHON" -c 'while True: pass' & busy+=($!)
	done
	for name in saturated_alone saturated; do
		# shellcheck disable=SC2046
		start $name $([ $name = saturated_alone ] || outputs "$TMP/$name") || continue
		if [ $name = saturated ]; then
			timeout 100 "$IOPROBE" top --interval 200ms "$TMP/$name/trace" >"$TMP/$name/top" 2>&1 & top=$!
		fi
		touch "$TMP/$name/data/go"
		wait $RECORDER
	done
	kill "${busy[@]}"
	wait "${busy[@]}" $top 2>/dev/null
	busy=()
	all_there saturated_alone
	streamed saturated 0
	verdict "saturated, top" "$(grep -qE ' [0-9]+ open calls, [0-9]+\.[0-9] s behind$' "$TMP/saturated/top" ||
		tail -n 3 "$TMP/saturated/top")"
}

follower_of() {
	local i
	for ((i = 0; i < 200; i++)); do
		pgrep -o -f "^ioprobe follow-recording .* $1" && return 0
		sleep 0.05
	done
	return 1
}

# It is stopped before the first call, and goes on when the program has ended: what the busiest machine can do to it.
stopped() {
	local dir=$TMP/stopped follower
	# shellcheck disable=SC2046
	start stopped $(outputs "$dir") || return
	follower=$(follower_of "$dir/trace") || { not_ok stopped "no follower"; kill $RECORDER; return; }
	verdict "stopped, priority of the follower" "$([ "$(awk '{ print $19 }' "/proc/$follower/stat")" = 10 ] || echo "not 10")"
	kill -STOP "$follower"
	touch "$dir/data/go"
	verdict "stopped, the program ends" "$(wait_for_file "$dir/data/done" 60 || said "$dir")"
	verdict "stopped, the archive is written" "$(wait_for_file "$dir/trace/summary.json" 60 || said "$dir")"
	verdict "stopped, it was" "$([ "$(awk '{ print $3 }' "/proc/$follower/stat")" = T ] || echo "it is not stopped")"
	kill -CONT "$follower"
	wait $RECORDER
	streamed stopped 1              # the program pauses for 2 s: so old is its first interval at least, less its length
}

many_files() {
	local dir
	dir=$(fresh many_files)
	limited 300 "$PYTHON" "$TESTS/lib/follow_many.py" "$dir" >"$dir.out" 2>"$dir.err" ||
		grep -q '^not ok ' "$dir.out" || not_ok many_files "$(tail -n 2 "$dir.err")"
	sed -n "s/^\(ok\|not ok\) /\1 $SUITE\/many_files, /p" "$dir.out"
	rm -rf "$dir"
}

saturated
stopped
many_files
