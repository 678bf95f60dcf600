#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Kernels from 7.2 on preempt the programs of raw tracepoints: there system calls are recorded by perf events on their tracepoints,
# and starts and ends of processes by two programs each. Both ways must record the same on any kernel.
. "$(dirname "$0")/../lib/e2e.sh"

WAYS="atomic-tracepoints atomic-tracepoints,syscall-events"

# both PROGRAM EXPRESSION...
both() {
	local way name
	for way in $WAYS; do
		name="$1 without $way"
		fresh "$name" >/dev/null
		IOPROBE_WITHOUT=$way record "$name" -- "$P/$1" "$TMP/$name/data"
		verdict "$name, status" "$([ $STATUS = 0 ] || echo "status $STATUS: $(said "$TMP/$name")")"
		contract "$name" || continue
		# A map that another process updates at that moment can keep the kernel from running the program: reported as lost.
		if grep -q 'runs of probe programs were missed' "$TMP/$name/out"; then
			expect "$name, with missed runs" "calls('write') <= 4000"
			continue
		fi
		lost_nothing "$name"
		expect "$name" "${@:2}"
	done
}

text=$(IOPROBE_WITHOUT=atomic-tracepoints limited 60 "$IOPROBE" check)
if grep -q '^note  syscall-events' <<<"$text"; then
	skip "perf events on system calls" "$(grep syscall-events <<<"$text")"
	exit 0
fi

both writes4000 "calls('write', path='*/data/*') == 4000 and written('write', path='*/data/*') == 256000" \
	"locations_with('write') == 4" \
	"len(groups_with('write')) == 2"
both churn "calls('write', path='*/data/*') == 360 and written('write') == 2520" "calls('openat', path='*/data/*') == 120" \
	"locations_with('write') == 120" "len(groups_with('write')) == 21"
both killed "calls('write') == 10 and written('write') == 90" "abandoned('read') + failed('read') == 1" \
	"len(groups_with('write')) == 2"
