#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Probes by perf events (--attach perf, and Linux before 6.10) are in recorded processes only: no breakpoint in another one's code,
# no return address replaced on its stack. What they leave in the kernel is removed, also after a kill.
# alone: the kernel removes a recording's events for seconds, under a lock that others wait for; and removers of others count here.
. "$(dirname "$0")/../lib/e2e.sh"
IN_TEXT="$PYTHON $TESTS/lib/in_text.py"
NEST="--probes $TESTS/programs/nest.probes"
LIBC=$(realpath "$(ldd /bin/true | awk '/libc\.so/ { print $3 }')")

if ! "$IOPROBE" check | grep -q '^ok    *uprobe-definitions'; then
	skip all "$("$IOPROBE" check | grep uprobe-definitions)"
	exit 0
fi

# Tracefs may not be mounted: it is the same everywhere, so that an instance of our own shows all definitions.
definitions() {
	"$PYTHON" - "$@" <<-'END'
		import ctypes, os, sys
		libc = ctypes.CDLL(None, use_errno=True)
		context = libc.syscall(430, b"tracefs", 1)
		libc.syscall(431, context, 6, None, None, 0)
		root = libc.syscall(432, context, 1, 0)
		with os.fdopen(os.open("uprobe_events", os.O_RDONLY, dir_fd=root)) as lines:
		    print(sum(f":ioprobe_" in line and (len(sys.argv) < 2 or f"_{sys.argv[1]}_" in line) for line in lines))
	END
}

# begin_at NAME OPTION...: a recording in the background, RECORDER; DIR is its folder, which exists.
begin_at() {
	"$IOPROBE" --attach perf -o "$DIR/trace" --summary "$DIR/out" "${@:2}" >"$DIR/stdout" 2>"$DIR/err" & RECORDER=$!
	wait_for_line "$DIR/err" recording || not_ok "$1" "not ready: $(said "$DIR")"
}

# begin NAME OPTION...: the same with a fresh folder.
begin() {
	DIR=$(fresh "$1")
	begin_at "$@"
}

# bystander NAME COMMAND...: the same run as without a recording, five times.
bystander() {
	local name="bystander $1" now i
	shift
	for ((i = 0; i < 5; i++)); do
		now=$(limited 60 "$@" 2>/dev/null </dev/null; echo "status $?")
		[ "$now" = "${PLAIN[$1]}" ] ||
			{ not_ok "$name" "run $i: $(diff <(echo "${PLAIN[$1]}") <(echo "$now") | head -n 5)"; return; }
	done
	ok "$name"
}

# plain COMMAND...: what it prints, and its status, without a recording.
declare -A PLAIN
plain() { PLAIN[$1]=$(limited 60 "$@" 2>/dev/null </dev/null; echo "status $?"); }

# Others that run the same functions have none of it, whether they began before or during the recording. The program without a known
# way to switch stacks would not survive a return probe before Linux 6.13.
others() {
	local before during pid
	plain "$P/exceptions"; plain "$P/cancel"; plain "$P/coroutines_bare"
	have valgrind && plain valgrind -q /bin/true
	"$PYTHON" -c 'import time; time.sleep(100)' & before=$!
	# shellcheck disable=SC2086
	begin others $NEST -- sh -c "$P/exceptions; : >$TMP/others/data/ready
		while [ ! -e $TMP/others/data/go ]; do sleep 0.1; done; $P/exceptions"
	wait_for_file "$DIR/data/ready" || not_ok others "the program did not start: $(said "$DIR")"
	pid=$(pgrep -P $RECORDER -x sh)
	"$PYTHON" -c 'import time; time.sleep(100)' & during=$!
	"$IOPROBE" probes --library "$LIBC" >"$DIR/probes" 2>/dev/null
	verdict "others, recorded" "$($IN_TEXT "$pid" "$LIBC" "$DIR/probes" some 2>&1)"
	verdict "others, defined" "$([ "$(definitions)" -gt 0 ] || echo "no definition is seen")"
	verdict "others, running before" "$($IN_TEXT $before "$LIBC" "$DIR/probes" none 2>&1)"
	verdict "others, running since" "$($IN_TEXT $during "$LIBC" "$DIR/probes" none 2>&1)"
	bystander exceptions "$P/exceptions"
	bystander cancel "$P/cancel"
	bystander coroutines "$P/coroutines_bare"
	if [ -z "${PLAIN[valgrind]:-}" ]; then skip "bystander valgrind" "it is not installed"; else bystander valgrind valgrind \
		-q /bin/true; fi
	touch "$DIR/data/go"
	wait $RECORDER
	STATUS=$?
	verdict "others, status" "$([ $STATUS = 42 ] || echo "$STATUS: $(said "$DIR")")"
	kill $before $during
	contract others || return
	# A machine that is too busy to place the probes in time makes a gap, which is reported.
	if grep -qE '(NEST|libraries): .* in all:' "$DIR/out"; then
		expect others "calls('nest_call') <= 26"
	else
		expect others "calls('nest_call') == 26"
	fi
}

# changed PID: where its code still differs from its files after some seconds, also inside of functions.
changed() {
	"$PYTHON" -B - "$TESTS/faults" "$1" <<-'END'
		import sys
		sys.path.insert(0, sys.argv[1])
		import kernel
		places = kernel.breakpoints_left(int(sys.argv[2]))
		print(f"{len(places)} breakpoints: {places[:2]}" if places else "")
	END
}

# removed SERVER OUTPUT: no definition of the server is left, or the remover of the recording with this output is at work. The
# kernel takes 0.2 s for each definition, and removers take turns: after several recordings that is minutes, too long to wait for in
# a test.
removed() {
	local i pid
	for ((i = 0; i < 100; i++)); do
		[ "$(definitions "$1")" != 0 ] || return 0
		for pid in $(pgrep -x ioprobe-remover); do
			! grep -qs "$2" "/proc/$pid/cmdline" || return 0
		done
		sleep 0.1
	done
	echo "$(definitions "$1") are left"
}

# Nothing is left behind: no probe in a program that goes on, and in the end no definition.
attached() {
	local pid server began left i
	DIR=$(fresh attached)
	"$P/already_running" "$DIR/data" >/dev/null & pid=$!
	wait_for_file "$DIR/data/ready" || { end_of $pid 1; not_ok attached "the program did not start"; return; }
	begin_at attached --layers isoc,aio,posix --pid $pid
	server=$(pgrep -P $RECORDER -x ioprobe-hold)
	"$IOPROBE" probes --library "$LIBC" >"$DIR/probes" 2>/dev/null
	verdict "attached, recorded" "$($IN_TEXT $pid "$LIBC" "$DIR/probes" some 2>&1)"
	verdict "attached, defined" "$([ "$(definitions "$server")" -gt 0 ] || echo "no definition of $server")"
	began=$(date +%s%N)
	kill -"$1" $RECORDER
	wait $RECORDER 2>/dev/null
	for ((i = 0; i < 100; i++)); do
		left=$($IN_TEXT $pid "$LIBC" "$DIR/probes" none 2>&1)
		[ -n "$left" ] || break
		sleep 0.05
	done
	verdict "attached, $1, detached" "$left$([ $(($(date +%s%N) - began)) -lt 8000000000 ] || echo "after more than 8 s")"
	verdict "attached, $1, code" "$(changed $pid)"
	# system calls were recorded before perf events were in place
	[ "$1" = KILL ] || verdict "attached, gap" \
		"$(grep -q '^note: ISOC: 1 process, .* attached to before its probes' "$DIR/out" || grep '^note' "$DIR/out")"
	touch "$DIR/data/go"
	end_of $pid 30
	verdict "attached, $1, program goes on" "$([ $STATUS = 0 ] || echo "status $STATUS")"
	verdict "attached, $1, definitions are removed" "$(removed "$server" "$DIR/trace")"
}

# Whoever is killed with its hold server leaves definitions: the next recording removes them.
left_behind() {
	local server i
	begin left_behind --layers aio,posix -- sleep 100
	server=$(pgrep -P $RECORDER -x ioprobe-hold)
	pid=$(pgrep -P $RECORDER -x sleep)
	for ((i = 0; i < 100 && $(definitions "$server") == 0; i++)); do sleep 0.1; done
	kill -STOP $RECORDER
	kill -KILL "$server" $RECORDER
	wait $RECORDER 2>/dev/null
	kill "$pid"
	verdict "left_behind, some" "$([ "$(definitions "$server")" -gt 0 ] || echo "none is left: nothing is tested")"
	limited 60 "$IOPROBE" --attach perf --layers aio -o "$DIR/next" --summary none -- /bin/true >/dev/null 2>&1
	verdict "left_behind, removed" "$(removed "$server" "$DIR/next")"
}

# A recording that follows another one adopts the definitions that the kernel has not given up yet: it neither makes them again nor
# waits until they are removed. What it records is the same.
adopted() {
	local server all own
	begin first --layers isoc,posix -- sh -c "$P/streams $TMP/first/data; : >$TMP/first/data/ready; sleep 1"
	wait_for_file "$DIR/data/ready" || not_ok adopted "the first program did not start: $(said "$DIR")"
	wait $RECORDER
	begin adopted --layers isoc,posix -- sh -c "$P/streams $TMP/adopted/data; : >$TMP/adopted/data/ready
		while [ ! -e $TMP/adopted/data/go ]; do sleep 0.1; done"
	server=$(pgrep -P $RECORDER -x ioprobe-hold)
	wait_for_file "$DIR/data/ready" || not_ok adopted "the program did not start: $(said "$DIR")"
	own=$(definitions "$server")
	all=$(definitions)
	# without any left it makes some 218 of its own
	verdict "adopted, few of its own" "$([ "$all" -gt 160 ] && [ "$own" -lt 150 ] || echo "$own of $all")"
	touch "$DIR/data/go"
	wait $RECORDER
	contract adopted || return
	if grep -q 'ISOC: .* in all:' "$DIR/out"; then
		expect adopted "0 < calls('fwrite') <= 200"
	else
		expect adopted "calls('fwrite') == 200"
	fi
}

# Many at once: each call is recorded once, or its process has a gap, which is what it does between its fork and its probes (on a
# busy machine nearly all of it); a call that began with its entry probe only has no end.
many() {
	begin many --layers isoc,posix -- "$P/forked_streams" 64 300
	wait $RECORDER
	contract many || return
	expect many "calls('fwrite') >= 1"
	streams_are_whole many 64 300
}

# Events are in the name of a thread: when that ends, another one takes its place.
main_ends() {
	local pid
	begin main_ends --layers isoc,posix -- "$P/main_ends" "$TMP/main_ends/data"
	wait_for_file "$DIR/data/ready" || not_ok main_ends "the program did not start: $(said "$DIR")"
	pid=$(pgrep -P $RECORDER -x main_ends)
	"$IOPROBE" probes --library "$LIBC" >"$DIR/probes" 2>/dev/null
	verdict "main_ends, recorded" "$($IN_TEXT "$pid" "$LIBC" "$DIR/probes" some 2>&1)"
	touch "$DIR/data/end"
	sleep 3
	pid=$pid/task/$(find "/proc/$pid/task" -mindepth 1 -maxdepth 1 -printf '%f\n' | sort -n | tail -n 1)
	verdict "main_ends, again" "$($IN_TEXT "$pid" "$LIBC" "$DIR/probes" some 2>&1)"
	touch "$DIR/data/go"
	wait $RECORDER
	contract main_ends && expect main_ends "calls('fwrite') == 20"
	verdict "main_ends, gap" "$(grep -q 'the thread ended in whose name' "$DIR/out" || said "$DIR")"
}

# Where definitions cannot be used the probes are in all processes, unless the site forbids that.
without() {
	local other
	"$PYTHON" -c 'import time; time.sleep(60)' & other=$!
	IOPROBE_WITHOUT=uprobe-definitions begin forbidden --layers isoc,posix --shared-links no -- sh -c \
		"$P/streams $TMP/forbidden/data; sleep 2"
	"$IOPROBE" probes --library "$LIBC" >"$DIR/probes" 2>/dev/null
	verdict "forbidden, others" "$($IN_TEXT $other "$LIBC" "$DIR/probes" none 2>&1)"
	wait $RECORDER
	kill $other
	contract forbidden && expect forbidden "calls('fwrite') == 0" "calls('write', path='*/stream') > 0"
	verdict "forbidden, said" "$(grep -q 'shared-links' "$DIR/out" || said "$DIR")"
	IOPROBE_WITHOUT=uprobe-definitions begin without --layers isoc,posix -- "$P/streams" "$TMP/without/data"
	wait $RECORDER
	contract without && expect without "calls('fwrite') == 200"
}

# What other suites left is removed meanwhile: placing probes waits for the kernel's lock.
for ((i = 0; i < 90 && $(pgrep -cx ioprobe-remover) > 0; i++)); do sleep 1; done
others
before=$(definitions)
sleep 5
verdict "others, definitions become fewer" "$([ "$before" = 0 ] || [ "$(definitions)" -lt "$before" ] ||
	echo "$(definitions) of $before after 5 s")"
attached INT
attached KILL
left_behind
many
main_ends
adopted
without                 # the last one: the kernel takes long to remove its events, and nothing can be placed meanwhile
