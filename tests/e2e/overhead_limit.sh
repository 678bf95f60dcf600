#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# The overhead limit: storms of stream calls are turned off, and the trace says which, of which process, from when to when.
. "$(dirname "$0")/../lib/e2e.sh"

NOTE='ISOC of process [0-9]* was not observed between [0-9]* and [0-9]* ns: '
NOTE+='stream calls that move one byte were turned off to keep the overhead limit of 2 %'

# start NAME DIR [THREADS]: a storm that waits. Sets PID.
start() {
	mkdir -p "$2"
	"$P/storm" "$2" ${3:+"$3"} >"$2.out" 2>"$2.err" & PID=$!
	wait_for_file "$2/ready" && return 0
	end_of $PID 1
	not_ok "$1" "the program did not start"
	return 1
}

# blow DIR…: the storms, for two seconds.
blow() {
	local dir
	for dir; do touch "$dir/go"; done
	sleep 2
	for dir; do touch "$dir/stop"; done
}

# recorded NAME MADE: a small part of what was made, and all other calls. From the summary: reading the trace of a storm takes long,
# and attach.sh has one checked.
recorded() {
	verdict "$1, calls" "$(limited 20 "$PYTHON" - "$TMP/$1/trace/summary.json" "$2" 2>&1 <<-'END'
import json, sys
told, made = json.load(open(sys.argv[1])), int(sys.argv[2])
calls = {l["name"]: l["calls"] for l in told["layers"]}
ends = [f["writes"] for f in told["files"] if (f["path"] or "").endswith("/end")]
good = 0 < calls["ISOC"] < made / 4 and ends and all(n == 10 for n in ends) and told["complete"]
print("" if good else f"{calls}, made {made}, writes to the end {ends}")
	END
	)"
}

# told NAME PID: the archive names the group and the times of this process.
told() {
	local name=$1 pid=$2 notes
	notes=$(grep -ao "$NOTE" "$TMP/$name/trace/traces.otf2" | grep " process $pid ")
	verdict "$name, process $pid, gaps" \
		"$([ -n "$notes" ] || echo \
			"no note of process $pid: $(grep -c 'turned off' "$TMP/$name/out") lines in the summary")"
	verdict "$name, process $pid, times" \
		"$(echo "$notes" | awk '{ from = $9; to = $11; if (!(from > 0 && to > from) || from < last) print; last = to }')"
}

# streamed NAME: the store of the stream has the same spans of that layer and process, in number and length.
streamed() {
	local notes
	notes=$(grep -ao "$NOTE" "$TMP/$1/trace/traces.otf2" | awk '{ n[$4]++; sum[$4] += $11 - $9 }
		END { for (pid in n) printf "%d %d %d\n", pid, n[pid], sum[pid] }' | sort)
	verdict "$1, gaps of the stream" "$(limited 20 "$PYTHON" -c 'import sqlite3, sys
db = sqlite3.connect(f"file:{sys.argv[1]}?mode=ro", uri=True)
rows = db.execute("""SELECT pid, count(*), sum(end_ns - begin_ns)
    FROM gap WHERE layer = "ISOC" AND reason LIKE "stream calls that move one byte were turned off%"
    GROUP BY pid ORDER BY pid""")
found = "\n".join(" ".join(map(str, row)) for row in rows)
print(end="" if found and found == sys.argv[2] else f"store: {found}; archive: {sys.argv[2]}")' \
		"$TMP/$1/trace/live.db" "$notes" 2>&1)"
}

attached() {
	local name=$1 threads=$2 dir recorder
	dir=$(fresh "$name")
	start "$name" "$dir/data/a" "$threads" || return
	"$IOPROBE" --pid $PID --max-overhead 2 -o "$dir/trace" --summary "$dir/out" >"$dir/stdout" 2>"$dir/err" & recorder=$!
	wait_for_line "$dir/err" recording ||
		{ touch "$dir/data/a/go" "$dir/data/a/stop"; end_of $PID; not_ok "$name" "$(said "$dir")"; return; }
	blow "$dir/data/a"
	end_of $PID 60
	verdict "$name, program" "$([ $STATUS = 0 ] || echo "status $STATUS")"
	end_of $recorder 120
	told "$name" $PID
	recorded "$name" "$(cat "$dir/data/a.out")"
}

processes() {
	local name=processes dir recorder pids=() pid
	dir=$(fresh $name)
	for data in a b c; do start $name "$dir/data/$data" || return; pids+=($PID); done
	"$IOPROBE" --pid "$(IFS=,; echo "${pids[*]}")" -o "$dir/trace" --summary "$dir/out" >"$dir/stdout" 2>"$dir/err" & \
		recorder=$!
	wait_for_line "$dir/err" recording
	blow "$dir"/data/[abc]
	for pid in "${pids[@]}"; do end_of $pid 60; verdict "$name, program" "$([ $STATUS = 0 ] || echo "status $STATUS")"; done
	end_of $recorder 120
	for pid in "${pids[@]}"; do told $name $pid; done
	recorded $name $(($(cat "$dir"/data/[abc].out | paste -sd+)))
}

# Launched programs have no overhead limit unless it is asked for.
launched() {
	local name=$1 dir
	dir=$(fresh "$name")
	touch "$dir/data/go"
	(wait_for_file "$dir/data/ready" 60; sleep 2; touch "$dir/data/stop") &
	limited 90 "$IOPROBE" --max-overhead 2 --stream -o "$dir/trace" --summary "$dir/out" -- "$P/storm" "$dir/data" \
		>"$dir/stdout" 2>"$dir/err" </dev/null
	verdict "$name, status" "$([ $? = 0 ] || said "$dir")"
	wait
	told "$name" "$(grep -ao "$NOTE" "$dir/trace/traces.otf2" | awk '{ print $4; exit }')"
	recorded "$name" "$(head -n 1 "$dir/stdout")"
	streamed "$name"
}

# Each program that ends leaves what its probes cost: of many short ones in a row only the first have probes on streams.
short_programs() {
	local name=short_programs dir bytes=150000
	dir=$(fresh $name)
	record $name --max-overhead 2 -- sh -c "for i in \$(seq 101 112); do $P/byte_writes $dir/data/\$i $bytes || exit; done"
	verdict "$name, status" "$([ $STATUS = 0 ] || echo "status $STATUS: $(said "$dir")")"
	verdict "$name, files" "$(for i in $(seq 101 112); do tr -d x <"$dir/data/$i"; stat -c %s "$dir/data/$i"; done |
		grep -vx $bytes)"
	contract $name || return
	lost_nothing $name
	expect $name "calls('fputc', path='*/101') > 0" "calls('fputc', path='*/112') == 0" "calls('fputc') <= 6 * $bytes" \
		"written('write', path='*/data/*') == 12 * $bytes"
	verdict "$name, gaps" "$(grep -ao "$NOTE" "$dir/trace/traces.otf2" |
		awk '{ of[$4] = 1; if ($11 > $9) timed[$4] = 1 } END { for (pid in of) n++; for (pid in timed) m++
			if (n < 6 || n != m) print n + 0 " processes, " m + 0 " with times" }')"
}

attached thread 1
attached threads 8
processes
launched launched
short_programs
