#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# ioprobe report: each planted mistake of POSIX and ISO C is the first finding, with its file and line; programs without their
# mistakes have no high one.
. "$(dirname "$0")/../lib/e2e.sh"
. "$(dirname "$0")/../lib/report.sh"

posix=$P/planted_posix
planted P06 small_writes small.dat - -- "$posix"
planted P05 small_reads small.dat - -- "$posix"
planted P11 random_reads random.dat - -- "$posix"
planted P12 random_writes random.dat - -- "$posix"
planted P09 read_again again.dat - -- "$posix"
planted P10 written_again again.dat - -- "$posix"
if [ "$(stat -f -c %T "$TMP")" = tmpfs ]; then skip sync_storm "tmpfs: a sync costs nothing"; else
	planted X08 sync_storm sync.dat - -- "$posix"
fi
planted X07 reopen '*often.dat' - -- "$posix"
planted P17 look_ups - - -- "$posix"            # a look-up has no handle: its path is evidence
verdict "look_ups, path" "$(check_report look_ups is \
	"'20000 times, it looks up $TMP/look_ups/data/d/d/' in finding('P17')['evidence']" \
	"finding('P17')['saving']['low_seconds'] > 0")"
planted X29 search - - -- "$posix"
verdict "search, directory" "$(check_report search is \
	"'most often (20000 times) in $TMP/search/data/d/d/' in finding('X29')['evidence']")"
planted S01 streams_small stream.dat - -- "$posix"
planted X15 locks locked.dat - -- "$posix"
planted X32 chatter run.log - -- "$posix"
planted X31 resize - - -- "$posix"
planted X12 failing readonly.dat - -- "$posix"
planted X35 mapped mapped.dat - note -- "$posix"        # always a note
planted P07 unaligned_memory memory.dat - note -- "$posix"        # always a note
contract unaligned_memory
n=$(otf2-print "$TMP/unaligned_memory/trace/traces.otf2" | grep -c '"Unaligned buffer"')
verdict "unaligned_memory, operations" "$([ "$n" = 128 ] || echo "$n have the attribute")"
planted X27 creations - - -- "$posix"
twins posix -- "$posix"
verdict "posix, no buffer is unaligned" "$(otf2-print "$TMP/posix/trace/traces.otf2" | grep -m 1 '"Unaligned buffer"')"

# At the end of a recording: in the format of the file's name, or as text on stderr, also with --quiet.
at_the_end() {
	local dir
	dir=$(fresh at_the_end)
	limited 60 "$IOPROBE" record -q --report="$dir/report.json" -o "$dir/trace" -- dd if=/dev/zero "of=$dir/data/f" bs=47 \
		count=20000 status=none >"$dir/out" 2>"$dir/err"
	limited 60 "$IOPROBE" report --format json "$dir/trace" >"$dir/again.json"
	verdict "at_the_end, file" "$(cmp "$dir/report.json" "$dir/again.json" 2>&1; [ -s "$dir/report.json" ] || said "$dir")"
	limited 60 "$IOPROBE" record -q --report -o "$dir/second" -- dd if=/dev/zero "of=$dir/data/f" bs=47 count=20000 \
		status=none >"$dir/out" 2>"$dir/err"
	# Not by a finding: whether the writes cost enough to be one depends on the machine.
	verdict "at_the_end, stderr" "$(grep -q "^ioprobe report .*/second" "$dir/err" && grep -q "/data/f .* 918 KiB" "$dir/err" ||
		cat "$dir/err"
		[ -s "$dir/out" ] && echo 'something on stdout')"
	# The old file stays until the new one is complete; what cannot be written is refused before anything is recorded.
	mkdir "$dir/readonly" && echo old >"$dir/readonly/report.txt" && echo old >"$dir/kept.txt" &&
		mount -t tmpfs -o ro none "$dir/readonly" 2>/dev/null ||
		{ skip "at_the_end, refused" "no tmpfs can be mounted"; return; }
	limited 60 "$IOPROBE" record -q --report="$dir/readonly/report.txt" -o "$dir/third" -- touch "$dir/ran" 2>"$dir/err"
	umount "$dir/readonly"
	verdict "at_the_end, refused" "$(grep -q 'cannot write the report to .*: Read-only' "$dir/err" ||
		said "$dir"; [ ! -e "$dir/ran" ] || echo 'the program ran')"
	limited 60 "$IOPROBE" record -q --report="$dir/kept.txt" -o "$dir/fourth" -- cp "$dir/kept.txt" "$dir/during" 2>"$dir/err"
	verdict "at_the_end, replaced" "$(cmp "$dir/during" "$dir/readonly/report.txt" 2>&1; grep -q '^ioprobe report' \
		"$dir/kept.txt" || said "$dir"
		ls "$dir" | grep tmp)"
}
at_the_end
