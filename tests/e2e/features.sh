#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Kernels that lack a feature: IOPROBE_WITHOUT makes it unavailable, and what takes its place must record as exactly, or say what it
# does not.
. "$(dirname "$0")/../lib/e2e.sh"

SYSTEM_CALLS=("written('write', path='*/data/stream') == 20160" "calls('openat', path='*/data/stream') == 2")
STREAMS=("calls('fopen') == 2 and calls('fclose') == 2" "calls('fwrite') == 200 and written('fwrite') == 20000" \
	"calls('fputc') == 20"
	"calls('fread') == 101 and read('fread') == 10000" "calls('write', under='fwrite') >= 1")

# checked FEATURES PATTERN...: the lines that 'ioprobe check' prints without these features.
checked() {
	local text missing="" pattern
	text=$(IOPROBE_WITHOUT=$1 limited 60 "$IOPROBE" check)
	for pattern in "${@:2}"; do
		grep -q "$pattern" <<<"$text" || missing="no line '$pattern'"
	done
	verdict "check without ${1:-nothing}" "$missing"
}

# without FEATURES PROGRAM EXPRESSION...: the record of a program, held as far as this way to record can hold it.
without() {
	local name="without_$1" program=$2
	fresh "$name" >/dev/null
	IOPROBE_WITHOUT=$1 record "$name" --layers isoc,posix --probes "$TESTS/programs/nest.probes" -- "$P/$program" \
		"$TMP/$name/data"
	verdict "$name, $program, status" "$([ $STATUS = 0 ] || echo "status $STATUS: $(said "$TMP/$name")")"
	contract "$name" || return
	lost_nothing "$name"
	expect "$name" "${SYSTEM_CALLS[@]}"
	[ $# = 2 ] && return
	# A machine that is too busy to place the probes in time makes a gap, which is reported: the calls are then fewer.
	if grep -q 'ISOC: .* in all:' "$TMP/$name/out"; then
		expect "$name, with a gap" "calls('fwrite') <= 200"
	else
		expect "$name" "${@:3}"
	fi
}

# The programs' own output and status are the same where C++ exceptions pass through probed calls.
exceptions() {
	local name="exceptions_without_$1" status
	fresh "$name" >/dev/null
	limited 60 "$P/exceptions" >"$TMP/$name/plain" 2>/dev/null </dev/null
	status=$?
	IOPROBE_WITHOUT=$1 record "$name" --layers isoc,posix --probes "$TESTS/programs/nest.probes" -- "$P/exceptions"
	verdict "$name" "$([ $STATUS = $status ] || echo "status $STATUS instead of $status: $(said "$TMP/$name")"
		diff "$TMP/$name/plain" "$TMP/$name/stdout" | head -n 5)"
}

# Nothing can be recorded: one line says why, and the program is not started.
refused() {
	local name="refused_without_$1"
	fresh "$name" >/dev/null
	IOPROBE_WITHOUT=$1 record "$name" -- touch "$TMP/$name/started"
	verdict "$name" "$([ $STATUS = 1 ] || echo "status $STATUS"
		[ ! -e "$TMP/$name/started" ] || echo 'the program was started'
		[ "$(grep -c . "$TMP/$name/err")" = 1 ] || echo 'not one line:'
		grep -q "$1 (Linux [0-9.]*) is not available: excluded" "$TMP/$name/err" || said "$TMP/$name")"
}

text=$(limited 60 "$IOPROBE" check)
for feature in btf ring-buffer task-iterator task-storage task-registers loops attach-cookie sleepable-uprobes uprobe-events \
	uprobe-multi \
	uprobe-process uprobe-session typed-loads task-work io-uring; do
	grep -Eq "^(ok   |note |FAIL ) $feature: " <<<"$text" || missing="${missing:-} $feature"
done
verdict "check names every feature" "${missing:-}"
checked uprobe-session "note  uprobe-session: excluded" "library probes: uprobe_multi entry and return"
checked uprobe-session,uprobe-process "library probes: perf events only"
checked uprobe-multi "note  uprobe-session: needs uprobe-multi" "library probes: perf events only"
checked sleepable-uprobes "library probes: none"
checked task-storage "FAIL  task-storage: excluded" "FAIL  BPF programs: cannot record"

for feature in btf ring-buffer task-iterator task-storage task-registers loops; do
	refused $feature
done

without uprobe-session streams "${STREAMS[@]}"
without task-work streams "${STREAMS[@]}"
without uprobe-session,task-work,typed-loads,io-uring streams "${STREAMS[@]}"
without sleepable-uprobes streams
expect without_sleepable-uprobes "calls('fwrite') == 0"

# One object loads all programs, or several threads share them; no feature is called so.
for threads in 1 4; do
	export IOPROBE_LOAD_THREADS=$threads
	without loaded-by-$threads streams "${STREAMS[@]}"
	unset IOPROBE_LOAD_THREADS
done

exceptions uprobe-session
exceptions uprobe-session,task-work,typed-loads

name=without_io-uring
fresh $name >/dev/null
IOPROBE_WITHOUT=io-uring record $name -- "$P/uring" "$TMP/$name/data"
if [ $STATUS = 77 ]; then
	skip "$name" "io_uring cannot be used here"
else
	contract $name && expect $name "calls('io_uring_setup') == 1" "calls('io_uring_enter') >= 1" \
		"written('io_uring_enter') == 0"
fi
