#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# --lazy-streams: a program that ends at once has no probes on streams and a gap; one that lives on has them, after a gap. System
# calls are recorded from the first one.
. "$(dirname "$0")/../lib/e2e.sh"

REASON='probes on streams are placed when a process has lived 10 ms'

# short_and_long NAME [OPTION]: 20 programs that end at once (each prints a line by a stream), one that writes for two seconds.
short_and_long() {
	local dir name=$1
	dir=$(fresh "$name")
	record "$name" "${@:2}" -- sh -c "for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do /bin/echo x; done \
		>$dir/data/short
		$P/late_stream $dir/data/long 400; exit"
	verdict "$name, status" "$([ $STATUS = 0 ] || echo "status $STATUS: $(said "$dir")")"
	contract "$name" || return
	lost_nothing "$name"
}

# processes NAME LAYER REASON: so many the summary names for that gap, 0 if it has none.
processes() { awk -v layer="$2:" -v reason="$3" \
	'$2 == layer && index($0, reason) { print $3; found = 1 } END { if (!found) print 0 }' "$TMP/$1/out"; }

short_and_long at_once
expect at_once "calls('fwrite', path='*/data/long') == calls('write', path='*/data/long', under='fflush') == 400"
verdict "at_once, gap" "$([ "$(processes at_once ISOC "$REASON")" = 0 ] || grep "$REASON" "$TMP/at_once/out")"

short_and_long lazy --lazy-streams
expect lazy "0 < calls('write', path='*/data/long', under='fflush') <= 400" "calls('write', path='*/data/long') == 400" \
	"written('write', path='*/data/short') == 40"
# The shell, 20 programs and the last one: a busy machine may have placed the probes of some between fork and exec, with the gap of
# a fork.
verdict "lazy, gap" "$([ "$(processes lazy ISOC "$REASON")" -ge 2 ] || grep "$REASON" "$TMP/lazy/out" || echo none)"
verdict "lazy, all have a gap" "$(grep -aoE 'ISOC of process [0-9]+' "$TMP/lazy/trace/traces.otf2" | sort -u | wc -l | grep -vx 22)"

# One that lives on when the recording ends has a gap, too, and so has the shell.
fresh lazy_end >/dev/null
record lazy_end --lazy-streams -- sh -c "sleep 5 & exit 0"
verdict "lazy_end, gaps" "$(grep -aoE 'ISOC of process [0-9]+' "$TMP/lazy_end/trace/traces.otf2" | sort -u | wc -l | grep -vx 2)"
contract lazy_end

# A program with a library of its own is probed at once.
fresh lazy_nest >/dev/null
record lazy_nest --lazy-streams --probes "$TESTS/programs/nest.probes" -- "$P/exceptions"
verdict "lazy_nest, gap" "$([ "$(processes lazy_nest ISOC "$REASON")" = 0 ] || grep "$REASON" "$TMP/lazy_nest/out")"
contract lazy_nest

text=$("$IOPROBE" --lazy-streams=maybe -- true 2>&1)
verdict "bad value" "$([ $? != 0 ] && [ "$(grep -c . <<<"$text")" -ge 1 ] || echo "$text")"
