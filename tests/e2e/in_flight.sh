#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# A call that is in flight when its recording ends has the kernel's trampoline as return address: an unwinder that leaves it
# afterwards must find the original one, however the recording ended and however late the unwinder runs.
. "$(dirname "$0")/../lib/e2e.sh"

# Program files of this suite's own, so that its guards are known from those of other recordings on this machine; one is for the
# case that runs beside the others.
cp "$IOPROBE" "$TMP/idle_ioprobe"
cp "$IOPROBE" "$TMP/ioprobe" && IOPROBE=$TMP/ioprobe

guards() {
	local pid found=1
	for pid in $(pgrep -x ioprobe-guard); do
		[[ $(readlink "/proc/$pid/exe") == "$(readlink -f "$IOPROBE")"* ]] && echo "$pid" && found=0
	done
	return $found
}

# finish DIR PID NAME: lets the thread leave its call, and expects the program to end as it would without ioprobe.
finish() {
	touch "$1/data/go" "$1/data/end"
	end_of "$2" 20
	verdict "$3, same run" "$([ $STATUS = 43 ] || echo "status $STATUS: $(said "$1")")"
}

# the guard of an earlier case may not have looked since
no_guard_left() {
	local i
	for ((i = 0; i < 300; i++)); do
		guards >/dev/null || break
		sleep 0.05
	done
	verdict "$1, guard gone" "$(guards | sed 's/^/process /')"
}

# attached MODE METHOD [SIGNAL]: attached to while it is blocked, then in a call that is probed when the recording ends.
attached() {
	local name="attached $1 $2${3:+ $3}" dir pid recorder begin
	dir=$(fresh "attached_$1_$2_${3:-INT}")
	"$P/in_flight" "$1" "$dir/data" 2>"$dir/program" & pid=$!
	wait_for_file "$dir/data/ready" || { end_of $pid 1; not_ok "$name" "the program did not start"; return; }
	"$IOPROBE" --pid $pid --attach "$2" -o "$dir/trace" --summary "$dir/out" >"$dir/stdout" 2>"$dir/err" & recorder=$!
	wait_for_line "$dir/err" 'recording' || not_ok "$name" "not ready: $(said "$dir")"
	touch "$dir/data/line"
	wait_for_file "$dir/data/blocked" || not_ok "$name" "the call did not begin"
	begin=$(date +%s%N)
	kill -"${3:-INT}" $recorder
	wait $recorder 2>/dev/null
	[ "$2" = perf ] || verdict "$name, recorder returns" \
		"$([ $(($(date +%s%N) - begin)) -lt 8000000000 ] || echo "after more than 8 s")"
	sleep 1
	verdict "$name, guarded" "$(guards >/dev/null || echo "no process ioprobe-guard")"
	[ -n "${3:-}" ] || verdict "$name, reported" \
		"$(grep -q 'in flight: process [0-9]* (ioprobe-guard) stays' "$dir/err" || said "$dir")"
	finish "$dir" $pid "$name"
	no_guard_left "$name"
}

launched() {
	local name="launched $1" dir recorder pid
	dir=$(fresh "launched_$1")
	"$IOPROBE" -o "$dir/trace" --summary "$dir/out" -- "$P/in_flight" "$1" "$dir/data" >"$dir/stdout" 2>"$dir/err" & recorder=$!
	wait_for_file "$dir/data/ready" || not_ok "$name" "the program did not start: $(said "$dir")"
	read -r pid <"$dir/data/ready"
	touch "$dir/data/line"
	wait_for_file "$dir/data/blocked" || not_ok "$name" "the call did not begin"
	kill -TERM $recorder
	wait $recorder 2>/dev/null
	sleep 1
	touch "$dir/data/go"
	# its parent has ended, so its status is not known here: it must get to its end
	verdict "$name, same run" "$(wait_for_file "$dir/data/done" 5 || echo "it died: $(said "$dir")")"
	touch "$dir/data/end"
	no_guard_left "$name"
}

# A guard holds nothing of its recording, is reported, costs nothing while nothing happens, and ends on request.
idle() {
	local dir pid recorder guard before
	dir=$(fresh idle)
	"$P/in_flight" return "$dir/data" & pid=$!
	wait_for_file "$dir/data/ready" || not_ok idle "the program did not start"
	"$IOPROBE" --pid $pid -o "$dir/trace" --summary "$dir/out" >"$dir/stdout" 2>"$dir/err" & recorder=$!
	wait_for_line "$dir/err" 'recording' || not_ok idle "not ready: $(said "$dir")"
	touch "$dir/data/line"
	wait_for_file "$dir/data/blocked" || not_ok idle "the call did not begin"
	kill -INT $recorder
	wait $recorder
	guard=$(sed -n 's/.*in flight: process \([0-9]*\) .*/\1/p' "$dir/err")
	[ -n "$guard" ] || { not_ok idle "no guard: $(said "$dir")"; finish "$dir" $pid idle; return; }
	verdict "idle, reported" "$("$IOPROBE" check | grep -q "^note  process $guard: guards calls" || echo "not by check")"
	verdict "idle, directory left" "$(readlink "/proc/$guard/cwd" | grep -v '^/$')"
	verdict "idle, few descriptors" "$(find "/proc/$guard/fd" -mindepth 1 | wc -l | awk '$1 > 16 { print $1 }')"
	if [ -n "$SANITIZED" ]; then skip "idle, memory" "a sanitizer keeps memory of its own"; else
		verdict "idle, memory" "$(awk '/^RssAnon/ && $2 > 32768 { print $2 " KiB" }' "/proc/$guard/status")"
	fi
	sleep 3
	before=$(awk '/ctxt/ { n += $2 } END { print n }' "/proc/$guard/status")
	sleep 5
	verdict "idle, asleep" "$(awk -v before="$before" \
		'/ctxt/ { n += $2 } END { if (n - before > 5) print n - before " switches in 5 s" }' "/proc/$guard/status")"
	touch "$TMP/slept"
	kill -TERM "$guard"
	sleep 2
	verdict "idle, goes on after SIGTERM" "$([ -e "/proc/$guard" ] || echo "it ended at once")"
	for _ in $(seq 25); do [ -e "/proc/$guard" ] || break; sleep 1; done
	verdict "idle, ends after SIGTERM" "$([ ! -e "/proc/$guard" ] || echo "not within 27 s")"
	finish "$dir" $pid idle
}
# The guard takes long to end: the other cases run meanwhile, but not while it must be asleep.
(trap 'touch "$TMP/slept"' EXIT; IOPROBE=$TMP/idle_ioprobe; idle) >"$TMP/idle.results" &
idle=$!
wait_for_file "$TMP/slept" 90 || not_ok idle "it does not end"
for mode in cancel throw return; do
	attached $mode session
	launched $mode
done
attached cancel multi
attached throw multi
attached cancel perf
attached throw perf
attached cancel session KILL
attached throw multi KILL
wait $idle || not_ok idle "its part of the suite ended with status $?"
cat "$TMP/idle.results"
grep -q 'idle, same run' "$TMP/idle.results" || not_ok idle "it has no last result"
