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

# Calls overlap the dup2 that replaces their descriptor. Of each that did, which is counted, either file may be the true one; all
# others are exact.
fresh rotation >/dev/null
record rotation -- "$P/rotation" "$TMP/rotation/data"
verdict "rotation, status" "$([ $STATUS = 0 ] || echo "status $STATUS: $(said "$TMP/rotation")")"
contract rotation
lost_nothing rotation
verdict "rotation, bytes" "$(limited 60 "$PYTHON" - "$TMP/rotation" "$TESTS" 2>&1 <<-'END'
	import re, sys
	sys.path.insert(0, sys.argv[2] + "/lib")
	import tracefile
	printed, out = (open(sys.argv[1] + name).read() for name in ("/stdout", "/out"))
	sizes = {name: int(size) for name, size in re.findall(r"^(log\.\d+) (\d+)$", printed, re.M)}
	noted = sum(int(n) for n in re.findall(r"(\d+) calls were on descriptors that another thread closed or replaced", out))
	words = tracefile.queries(tracefile.Trace(sys.argv[1] + "/trace/traces.otf2"))
	traced = {name: words["layer_bytes"]("POSIX", "*/data/" + name)[1] for name in sizes}
	wrong = {name: (sizes[name], traced[name]) for name in sizes if sizes[name] != traced[name]}
	if len(sizes) != 40 or sum(sizes.values()) != 128000 or sum(traced.values()) != 128000:
	    print("in all", len(sizes), sum(sizes.values()), sum(traced.values()))
	if sum(abs(a - b) for a, b in wrong.values()) > 2 * 8 * noted:
	    print("noted", noted, "wrong", wrong)
END
)"

# The same with the threads there before the recording, and a program whose descriptors are open before it, and are first used
# during it: by threads and processes that are old or new, and by a new program.
FIRST=(old_thread new_thread old_process new_process program)
attached() {
	local dir=$TMP/attached programs=() recorder program
	fresh attached >/dev/null
	"$P/fd_tables" "$dir/data" wait >"$dir/tables.out" 2>"$dir/program.err" </dev/null & programs+=($!)
	"$P/first_use" "$dir/data" >"$dir/first.out" 2>"$dir/program.err" </dev/null & programs+=($!)
	wait_for_line "$dir/tables.out" '^ready'
	wait_for_line "$dir/first.out" '^ready'
	limited 60 "$IOPROBE" -o "$dir/trace" --pid "${programs[0]},${programs[1]}" --summary "$dir/out" >"$dir/stdout" \
		2>"$dir/err" </dev/null & recorder=$!
	wait_for_line "$dir/err" '^ioprobe: recording'
	touch "$dir/data/go"
	for program in "${programs[@]}"; do
		end_of "$program" 20
		verdict "attached, program" "$([ $STATUS = 0 ] || echo "status $STATUS: $(tail -n 1 "$dir/program.err")")"
	done
	end_of $recorder 30
	contract attached && expect attached "${TABLES[@]}" \
		"[written('write', path='*/data/' + f) for f in '${FIRST[*]}'.split()] == [30, 40, 50, 60, 70]" \
		"all(h.file for c in select('write') for h in c.handles)"
	lost_nothing attached
}
attached
