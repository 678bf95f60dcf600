#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Bounds on what a recording writes: at --max-size, --min-free and --max-rate it ends in order, says so, and its archive is whole;
# the program goes on unharmed.
. "$(dirname "$0")/../lib/e2e.sh"
. "$TESTS/lib/service.sh"

# Writes of each thread, at full speed: more than the bounds admit, and so few that all of them fit into one ring. None is lost,
# however long another process keeps the recorder from running.
FEW=15000

# disk_use DIR: bytes on disk.
disk_use() { du -s -B1 "$1" 2>/dev/null | cut -f 1; }

# bounded NAME OPTION...: the program "numbered_calls" under ioprobe, until the bound ends the recording; then the program is told
# to end. The archive goes to OUTPUT; the largest disk use that was seen of that is in $TMP/NAME/use.
bounded() {
	local name=$1 dir=$TMP/$1 pid use most=0 i
	limited 60 "$IOPROBE" -o "$OUTPUT" --summary "$dir/out" "${@:2}" -- "$P/numbered_calls" "$dir/data" 2 "${PAUSE:-1000}" \
		"${MOST:-16777216}" wait \
		>"$dir/stdout" 2>"$dir/err" </dev/null & pid=$!
	for ((i = 0; i < 2000; i++)); do
		use=$(disk_use "$OUTPUT")
		[ "${use:-0}" -gt "$most" ] && most=$use
		kill -0 $pid 2>/dev/null || break
		sleep 0.02
	done
	end_of $pid 1
	echo "$most" >"$dir/use"
	verdict "$name, status of ioprobe" "$([ $STATUS = 0 ] || echo "status $STATUS: $(said "$dir")")"
	verdict "$name, the program goes on" "$(grep -q '^numbered' "$dir/stdout" && echo 'it has ended')"
	touch "$dir/data/stop"
	wait_for_line "$dir/stdout" '^numbered 2 ' 20
	verdict "$name, the program is unharmed" "$(grep -q '^numbered 2 ' "$dir/stdout" || said "$dir")"
}

# told NAME BOUND: on stderr in one line, in the summary, in the archive.
told() {
	local name=$1 dir=$TMP/$1 lines
	lines=$(grep -c "ioprobe: --$2 .*continues without being recorded; allow more" "$dir/err")
	verdict "$name, message" "$([ "$lines" = 1 ] || echo "$lines lines: $(said "$dir")")"
	verdict "$name, summary" "$(grep -q "^stopped by $2: --$2 " "$dir/out" || echo 'the summary does not name the bound')"
	verdict "$name, summary for programs" "$(limited 20 "$PYTHON" - "$OUTPUT/summary.json" "$2" 2>&1 <<-'END'
		import json, sys
		s = json.load(open(sys.argv[1]))
		stopped = s["stopped_by"] == sys.argv[2] and sys.argv[2] in s["end_reason"]
		good = stopped and s["complete"] and s["records_lost"] == 0
		print("" if good else {k: s[k] for k in ("stopped_by", "end_reason", "complete", "records_lost")})
	END
	)"
	contract "$name" "$OUTPUT/traces.otf2"
	verdict "$name, archive" "$(otf2-print -I "$OUTPUT/traces.otf2" 2>&1 | grep -A 1 IOPROBE::STOPPED_BY | grep -q " $2\$" ||
		echo 'no property STOPPED_BY')"
	verdict "$name, no spool left" "$(ls "$OUTPUT/spool" 2>/dev/null)"
}

# from_first NAME: of each file the writes from number 0 on, without a hole, and a hundred or more.
from_first() {
	verdict "$1, writes" "$(limited 60 "$PYTHON" - "$OUTPUT/traces.otf2" "$TESTS" 2>&1 <<-'END'
		import sys
		sys.path.insert(0, sys.argv[2] + "/lib")
		import numbered
		found = {name: sorted(o // 8 for o in offsets) for name, offsets in numbered.offsets(sys.argv[1]).items()}
		for name, numbers in found.items():
		    if numbers != list(range(len(numbers))):
		        print(name, len(numbers), numbers[:3], numbers[-3:])
		if sum(map(len, found.values())) < 100:
		    print({name: len(numbers) for name, numbers in found.items()})
	END
	)"
}

# In a mount namespace of its own: whatever happens, nothing stays mounted.
on_small_disk() {
	local free
	mkdir -p "$TMP/disk" && mount -t tmpfs -o size=8m small "$TMP/disk" || { skip free "cannot mount"; return; }
	fresh free >/dev/null
	OUTPUT=$TMP/disk/trace
	PAUSE=0 MOST=$FEW bounded free --min-free 6.5MiB
	told free min-free
	from_first free
	free=$(df -B1 --output=avail "$TMP/disk" | tail -n 1)
	verdict "free, space" "$([ "$free" -ge $((13 << 19)) ] && [ "$free" -le $((15 << 19)) ] || echo "$free bytes are free")"
	verdict "free, space meanwhile" "$([ "$(cat "$TMP/free/use")" -le $((3 << 19)) ] || echo "$(cat "$TMP/free/use") bytes")"
	umount "$TMP/disk"
}
[ "${1:-}" != in_namespace ] || { on_small_disk; exit; }

# streamed NAME STORE: what a follower counted is what the archive has.
streamed() {
	verdict "$1, the stream adds up" "$(limited 60 "$PYTHON" "$TESTS/lib/conservation.py" "$2" "$OUTPUT/summary.json" 2>&1)"
}

# within_size NAME MIB CALLS OPTION...: at most so many MiB, of which an archive has a good part; each thread makes so many calls.
# Call sites have room reserved that a small archive does not have.
within_size() {
	local name=$1 most=$(($2 << 20))
	fresh "$name" >/dev/null
	OUTPUT=$TMP/$name/trace
	PAUSE=0 MOST=$3 bounded "$name" --max-size "$2MiB" --stream="sqlite:$TMP/$name/live.db" --stream-interval 200ms "${@:4}"
	told "$name" max-size
	streamed "$name" "$TMP/$name/live.db"
	from_first "$name"
	verdict "$name, on disk" "$([ "$(cat "$TMP/$name/use")" -le $most ] && [ "$(disk_use "$OUTPUT")" -le $most ] ||
		echo "$(cat "$TMP/$name/use") bytes while it was made, $(disk_use "$OUTPUT") bytes at the end")"
	verdict "$name, not for nothing" \
		"$([ "$(disk_use "$OUTPUT")" -ge $((most * 2 / 5)) ] || echo "only $(disk_use "$OUTPUT") bytes")"
}
within_size size 1 "$FEW" --no-call-sites
within_size size_cpu_time 1 "$FEW" --no-call-sites --cpu-time
within_size size_call_sites 4 60000

# Files are many: their definitions are more than the events.
fresh files >/dev/null
OUTPUT=$TMP/files/trace
limited 60 "$IOPROBE" -o "$OUTPUT" --summary "$TMP/files/out" --layers posix --no-call-sites --max-size 3MiB \
	--stream="sqlite:$TMP/files/live.db" --stream-interval 200ms -- "$PYTHON" -c 'import sys
for i in range(5000):
    with open(f"{sys.argv[1]}/{i}", "wb", 0) as file: file.write(b"x")' "$TMP/files/data" >"$TMP/files/stdout" 2>"$TMP/files/err"
told files max-size
streamed files "$TMP/files/live.db"
verdict "files, on disk" "$([ "$(disk_use "$OUTPUT")" -le $((3 << 20)) ] || echo "$(disk_use "$OUTPUT") bytes")"
verdict "files, not for nothing" "$("$PYTHON" -c 'import json, sys
n = sum(f["opens"] > 0 for f in json.load(open(sys.argv[1]))["files"])
print(end="" if n >= 500 else f"only {n} files")' "$OUTPUT/summary.json" 2>&1)"

# The recorder is stopped while the program goes from CPU to CPU: one of two rings has what is older than what the other has.
to_and_fro() {
	local recorder program i
	wait_for_file "$TMP/stopped/data/ticks.1" || return
	recorder=$(pgrep -o -f "^$IOPROBE -o $OUTPUT ") program=$(cat "$TMP/stopped/data/ready")
	kill -STOP "$recorder"
	for ((i = 0; i < 20; i++)); do
		taskset -a -c -p $((i % $(nproc))) "$program" >/dev/null 2>&1
		sleep 0.02
	done
	kill -CONT "$recorder"
}
fresh stopped >/dev/null
OUTPUT=$TMP/stopped/trace
to_and_fro & mover=$!
PAUSE=1000 MOST=$FEW bounded stopped --max-size 1MiB
wait $mover
told stopped max-size
from_first stopped

fresh rate >/dev/null
OUTPUT=$TMP/rate/trace
PAUSE=20000 bounded rate --max-rate 500 --quiet
told rate max-rate
from_first rate

# A program that ends before a bound is reached is not affected; its status is returned.
fresh enough >/dev/null
record enough --max-size 100MiB --max-rate 1e9 --min-free 1 -- sh -c 'exit 7'
verdict "enough, status" "$([ $STATUS = 7 ] || echo "status $STATUS: $(said "$TMP/enough")")"
verdict "enough, not stopped" "$(grep 'stopped' "$TMP/enough/out" "$TMP/enough/err")"

# refuses NAME STATUS PATTERN OPTION...: one line, nothing made, the program not run.
refuses() {
	local dir=$TMP/refuses
	fresh refuses >/dev/null
	limited 20 "$IOPROBE" -o "$dir/trace" "${@:4}" -- touch "$dir/ran" >"$dir/out" 2>"$dir/err" </dev/null
	STATUS=$?
	verdict "$1" "$([ $STATUS = "$2" ] && grep -q -e "$3" "$dir/err" && [ ! -e "$dir/ran" ] && [ ! -e "$dir/trace" ] ||
		said "$dir")"
}
refuses "size that is none" 2 "--max-size: 'much' is not a number of bytes" --max-size much
refuses "size that is too small" 2 "--max-size: 1KiB leaves no room" --max-size 1KiB
refuses "free space that is none" 2 "--min-free: '10%' is not a number of bytes" --min-free 10%
refuses "rate that is none" 2 "--max-rate: 'fast' is not a number of calls per second" --max-rate fast
refuses "less free space already" 1 "MiB are free, --min-free 9000TiB leaves no room" --min-free 9000TiB

# The same by the policy's words: a recording of a user's process by the service.
by_policy() {
	local dir=$TMP/policy program
	id games >/dev/null 2>&1 || { skip policy "no user games"; return; }
	trap 'services_stop' EXIT
	trap 'exit 130' INT TERM
	SERVICE_DIR=$TMP/s
	fresh policy >/dev/null && chmod 777 "$dir/data"
	service_start n1 "record all" "max-size 1MiB" "layers posix" "exclude-path $dir/data/ticks.0,/proc" "keep yes" ||
		{ not_ok policy "no service: $(tail -n 2 "$SERVICE_DIR/n1.log")"; return; }
	(exec setpriv --reuid games --regid games --clear-groups "$P/numbered_calls" "$dir/data" >"$dir/out" 2>"$dir/err") & \
		program=$!
	wait_for_file "$dir/data/ticks.0"
	ask n1 start --job 77 --pid $program --uid "$(id -u games)" --gid "$(id -g games)" --timeout 5000 >"$dir/start" 2>&1
	wait_for_phase n1 77 "done|failed|empty" 20
	verdict "policy, status" "$([ "$(phase n1 77)" = 'done' ] &&
		state_value n1 77 message | grep -q 'ended before the job: --max-size 1MiB was reached' ||
		echo "$(phase n1 77): $(state_value n1 77 message), $(cat "$dir/start")")"
	verdict "policy, the program goes on" "$(kill -0 $program 2>&1)"
	touch "$dir/data/stop"
	end_of $program 20
	verdict "policy, the program is unharmed" "$([ $STATUS = 0 ] && grep -q '^numbered 1 ' "$dir/out" || said "$dir")"
	OUTPUT=$(state_value n1 77 output)
	verdict "policy, summary" "$(grep -q '^stopped by max-size: --max-size 1MiB' "$OUTPUT/summary.txt" ||
		echo 'the summary does not name the bound')"
	verdict "policy, on disk" "$([ "$(disk_use "$OUTPUT")" -le 1048576 ] || echo "$(disk_use "$OUTPUT") bytes")"
	verdict "policy, the spool is kept" "$([ -s "$OUTPUT/spool" ] || echo 'it is not there')"
	verdict "policy, layers and paths" \
		"$(otf2-print -G "$OUTPUT/traces.otf2" 2>&1 | grep -E 'REGION .*"(fputs|fflush)"|ticks.0')"
	contract policy "$OUTPUT/traces.otf2"
	services_stop
}
by_policy

unshare -m --propagation private bash "$0" in_namespace
