#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Which open file a descriptor number means: descriptor tables of threads, of processes that share one, and before an attach.
. "$(dirname "$0")/../lib/e2e.sh"

# The bytes that are in each file; every write of the program is one of 10 bytes to one of them.
TABLES=("[layer_bytes('POSIX', '*/data/' + f)[1] for f in ('main', 'own', 'cloned', 'child')] == [110, 70, 50, 80]"
	"[calls('write', path='*/data/' + f) for f in ('main', 'own', 'cloned', 'child')] == [11, 7, 5, 8]"
	"not any('unknown' in f for f in trace.files)")

fresh fd_tables >/dev/null
record fd_tables -- "$P/fd_tables" "$TMP/fd_tables/data"
verdict "fd_tables, status" "$([ $STATUS = 0 ] || echo "status $STATUS: $(said "$TMP/fd_tables")")"
contract fd_tables && expect fd_tables "${TABLES[@]}"
lost_nothing fd_tables

# The same with the threads there before the recording.
attached() {
	local dir=$TMP/attached program recorder
	fresh attached >/dev/null
	"$P/fd_tables" "$dir/data" wait >"$dir/program.out" 2>"$dir/program.err" </dev/null & program=$!
	wait_for_line "$dir/program.out" '^ready'
	limited 60 "$IOPROBE" -o "$dir/trace" --pid $program >"$dir/out" 2>"$dir/err" </dev/null & recorder=$!
	wait_for_line "$dir/err" '^ioprobe: recording'
	touch "$dir/data/go"
	end_of $program 20
	verdict "attached, program" "$([ $STATUS = 0 ] || echo "status $STATUS: $(tail -n 1 "$dir/program.err")")"
	end_of $recorder 30
	contract attached && expect attached "${TABLES[@]}"
	lost_nothing attached
}
attached
