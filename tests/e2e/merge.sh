#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# A job of 4 ranks on two hosts, recorded on each, merged: ranks, shared and local files, handles, counts, clocks; by several
# processes; and everything that must be refused or said.

# In a mount namespace of its own: whatever happens, nothing stays mounted.
if [ -z "${IOPROBE_TEST_NAMESPACE:-}" ]; then
	IOPROBE_TEST_NAMESPACE=1 exec unshare -m --propagation private bash "$0"
fi
. "$(dirname "$0")/../lib/e2e.sh"
. "$TESTS/lib/hosts.sh"
. "$TESTS/lib/facts.sh"
for tool in mpirun ip nsenter; do have $tool || { skip all "no $tool"; exit 0; }; done

# ---- the recordings ----

mkdir -p "$TMP"/{shared,local,disk}
mount -t tmpfs shared_by_all "$TMP/shared" || { skip all "cannot mount"; exit 0; }
if ! hosts_up "mount -t tmpfs scratch '$TMP/local'"; then skip all "cannot make network namespaces"; exit 0; fi
hosts_agent "$IOPROBE" --keep-spool --cpu-time --shared-mount "$TMP/shared" -o "$TMP/\$host" --
hosts_mpirun 4 "$P/two_scopes" "$TMP/shared/f" "$TMP/local/f"
verdict "job on two hosts" "$([ $? = 0 ] || tail -n 3 "$TMP/mpirun.err" "$TMP"/n?.err)"
wait_for_line "$TMP/n1.err" 'records lost' && wait_for_line "$TMP/n2.err" 'records lost' ||
	not_ok "recordings end" "$(tail -n 2 "$TMP"/n?.err)"
contract n1 "$TMP/n1/traces.otf2" && contract n2 "$TMP/n2/traces.otf2" || exit 0

# merge NAME ARGUMENT...: into $TMP/NAME/trace, with what it said beside it. Sets STATUS.
merge() {
	mkdir -p "$TMP/$1"
	limited 60 "$IOPROBE" merge -o "$TMP/$1/trace" "${@:2}" >"$TMP/$1/out" 2>"$TMP/$1/err" </dev/null
	STATUS=$?
}

# nothing_left NAME: neither an archive nor a directory beside it.
nothing_left() { ls -d "$TMP/$1/trace" "$TMP/$1/trace.partial" 2>/dev/null; }

# refuses NAME PATTERN ARGUMENT...: status 1, one line that says why, nothing written.
refuses() {
	local lines
	merge "$1" "${@:3}"
	lines=$(wc -l <"$TMP/$1/err")
	verdict "$1" "$([ $STATUS = 1 ] || echo "status $STATUS")$(grep -Eq -- "$2" "$TMP/$1/err" ||
		echo "no '$2': $(said "$TMP/$1")")$(
		[ "$lines" = 1 ] || echo "$lines lines: $(said "$TMP/$1")")$(nothing_left "$1")"
}

# says NAME PATTERN: on stderr; status 0, and the archive is good.
says() {
	verdict "$1, reported" "$([ $STATUS = 0 ] || echo "status $STATUS: $(said "$TMP/$1")")$(grep -Eq -- "$2" "$TMP/$1/err" ||
		said "$TMP/$1")"
}

# checks NAME EXPRESSION...: the archive keeps the contract, and these are true; words of tests/contract/check_archive.py --expect.
checks() {
	local text
	text=$(limited 120 "$PYTHON" "$TESTS/contract/check_archive.py" "$TMP/$1/trace" --expect "${@:2}" 2>&1) &&
		{ ok "$1, definitions"; return; }
	not_ok "$1, definitions" "$(echo "$text" | head -n 4)"
}

events_of() { limited 60 "$PYTHON" "$TESTS/contract/check_archive.py" "$1" | sed -n 's/.*clean, \([0-9]*\) events.*/\1/p'; }

# cost_of NAME...: what a system call costs to record, the most of these archives.
cost_of() {
	for name in "$@"; do
		otf2-print -I "$TMP/$name/traces.otf2" | sed -n '/^Property name.*IOPROBE::PROBE_NS_POSIX$/{n; s/.* //p}'
	done | sort -n | tail -n 1
}

# parts_of ARCHIVE LAYER: what one of its calls costs to record, and the parts of that; - stands for one that was not measured.
parts_of() {
	local part value
	for part in '' RECORD_ SITE_ ENTRY_RETURN_; do
		value=$(otf2-print -I "$TMP/$1/traces.otf2" | sed -n "/^Property name.*IOPROBE::PROBE_${part}NS_$2\$/{n; s/.* //p}")
		echo "${value:--}"
	done
}

# costs_of_a_node MERGED LAYER: the cost and its parts are those of one of the nodes, and add up.
costs_of_a_node() {
	local parts
	mapfile -t parts < <(parts_of "$1/trace" "$2")
	verdict "$1, parts of the cost of $2" "$([ "${parts[*]}" = "$(parts_of n1 "$2" | xargs)" ] ||
		[ "${parts[*]}" = "$(parts_of n2 "$2" | xargs)" ] || echo "of no node: ${parts[*]}")$([[ ${parts[*]} == *-* ]] ||
		[ $((parts[1] + parts[2] + parts[3])) = "${parts[0]}" ] || echo "they do not add up: ${parts[*]}")"
}

# ---- two nodes, one job ----

merge both "$TMP/n1" "$TMP/n2"
verdict "both, status" "$([ $STATUS = 0 ] || echo "status $STATUS: $(said "$TMP/both")")"
verdict "both, events are the sum" "$([ "$(events_of "$TMP/both/trace")" = $(($(events_of "$TMP/n1") + $(events_of "$TMP/n2"))) ] ||
	echo "$(events_of "$TMP/both/trace") events")"
verdict "both, events are linked" "$(grep -q 'files: linked, as they are' "$TMP/both/out" || said "$TMP/both")$(
	find "$TMP/both/trace/traces" -name '*.evt' -links 1 | head -n 1)"
checks both "ranks == 4" \
	"[n for n in stats['groups'] if n.startswith('MPI Rank')] == ['MPI Rank %d' % r for r in (0, 1, 2, 3)]" \
	"stats['communicators']['MPI_COMM_WORLD'] == ['MPI Rank %d' % r for r in (0, 1, 2, 3)]" \
	"sorted(f['scope_name'] for f in files('*/local/f')) == ['n1', 'n2']" \
	"[f['scope'] for f in files('*/shared/f')] == ['machine']" "len(files('*/shared/f.[0-3]')) == 4" \
	"chain('POSIX>MPI-IO', '*/shared/f', 'MPI Rank 0') and chain('POSIX>MPI-IO', '*/shared/f', 'MPI Rank 3')" \
	"property('MERGED_NODES') == '2' and property('COLLECTIVES_CHECKED') == '2' and property('COLLECTIVES_VIOLATED') == '0'" \
	"property('MISSING_RANKS') is None and lost == 0" "property('PROBE_NS_POSIX') == '$(cost_of n1 n2)'" \
	"int(property('PROBE_INSIDE_NS_MPI_IO')) > 0" "int(property('PROBE_RECORD_NS_POSIX')) > 0"
costs_of_a_node both POSIX
costs_of_a_node both MPI_IO
expect both "[name for l, m in trace.moments.items() if l in trace.span and l.group.name.startswith('MPI Rank')
	and l.name == 'Master thread'
	for name, good in (('Begin', m['Begin'] <= trace.span[l][0]), ('End', trace.span[l][1] <= m['End'])) if not good] == []" \
	"(sum(l.group.name.startswith('MPI Rank') and 'End' in m for l, m in trace.moments.items() if l.name == 'Master thread')
		== 4)" \
	"programs('MPI Rank *') == ['two_scopes'] * 4" \
	"len([h for h in trace.handles if h.io_paradigm.identification == 'MPI-IO' and h.file.name.endswith('/shared/f')]) == 1" \
	"len([h for h in trace.handles if h.io_paradigm.identification == 'MPI-IO']) == 5" \
	"[calls('MPI_File_write_at_all', 'MPI Rank %d' % r) for r in range(4)] == [3] * 4" \
	"[calls('MPI_File_open', 'MPI Rank %d' % r) for r in range(4)] == [2] * 4" \
	"[written('write', 'MPI Rank %d' % r, path='*/local/f') for r in range(4)] == [100, 200, 300, 400]" \
	"layer_bytes('POSIX', '*/shared/f')[1] == 4 * 3 * 4096" "trace.open_operations == 0"
# sums NAME NODE...: the merged summary is the sum of the nodes'.
sums() { verdict "$1, summary" "$(limited 60 "$PYTHON" "$TESTS/lib/check_job_summary.py" "$TMP/$1/trace" "${@:2}" 2>&1)"; }
sums both "$TMP/n1" "$TMP/n2"
verdict "both, file table" "$(grep -Eq ' 2  shared +tmpfs +.*/shared/f$' "$TMP/both/out" &&
	grep -Eq ' 2  node +tmpfs +.*/local/f$' "$TMP/both/out" || said "$TMP/both")$(
	head -n 1 "$TMP/both/out" | grep -q '^two_scopes: 2 nodes, 4 ranks' || head -n 1 "$TMP/both/out")"
# the program's own files are the witness
verdict "both, bytes on disk" "$([ "$(stat -c %s "$TMP/shared/f")" = 49152 ] || stat -c %s "$TMP/shared/f")"

# The order of the arguments is that of the system tree, not of the ranks.
merge reversed "$TMP/n2" "$TMP/n1"
checks reversed "[n for n in stats['groups'] if n.startswith('MPI Rank')] == ['MPI Rank %d' % r for r in (0, 1, 2, 3)]"

# A parallel netCDF file on the shared file system, through four layers.
if [ -x "$P/parallel_nc" ]; then
	hosts_agent "$IOPROBE" --shared-mount "$TMP/shared" -o "$TMP/nc-\$host" --
	hosts_mpirun 2 "$P/parallel_nc" "$TMP/shared/a.nc" 1 1000
	verdict "netCDF, job" "$([ $? = 0 ] || tail -n 3 "$TMP/mpirun.err")"
	wait_for_line "$TMP/n1.err" 'records lost'
	wait_for_line "$TMP/n2.err" 'records lost'
	merge netcdf "$TMP/nc-n1" "$TMP/nc-n2"
	contract netcdf "$TMP/netcdf/trace/traces.otf2"
	expect netcdf "('POSIX', 'MPI-IO', 'HDF5', 'netCDF') in chains('*/shared/a.nc')" \
		"[calls('nc_put_vara_double', 'MPI Rank %d' % r) for r in range(2)] == [1, 1]" \
		"layer_bytes('MPI-IO', '*/a.nc')[1] >= 2 * 1000 * 8" \
		"[c.attributes.get('variable') for c in select('nc_put_vara_double')] == ['field'] * 2" \
		"len([h for h in trace.handles if h.io_paradigm.identification == 'netCDF' and h.file.name.endswith('/a.nc')]) == 2"
	grep -q 'all [0-9]* collective opens and closes agree' "$TMP/netcdf/out"
	verdict "netCDF, collective operations agree with the clocks" "$([ $? = 0 ] || grep clocks "$TMP/netcdf/out")"
fi

# Static facts of files that two nodes share: one made a dataset, the other opened it and asked; both use the netCDF file.
if [ -x "$P/facts" ]; then
	mkdir "$TMP/shared/data"
	hosts_agent "$IOPROBE" --shared-mount "$TMP/shared" -o "$TMP/facts-\$host" --
	hosts_mpirun 2 "$P/facts" "$TMP/shared/data"
	verdict "facts, job" "$([ $? = 0 ] || tail -n 3 "$TMP/mpirun.err")"
	wait_for_line "$TMP/n1.err" 'records lost'
	wait_for_line "$TMP/n2.err" 'records lost'
	merge facts "$TMP/facts-n1" "$TMP/facts-n2"
	contract facts
	all_of facts
	expect facts "len(prop('*/data/d.h5', 'HDF5 g/packed: Layout')) == len(prop('*/data/n.nc', 'MPI-IO: Implementation')) == 1"
	verdict "facts, each node has some" "$(for n in n1 n2; do
		otf2-print -G "$TMP/facts-$n/traces.otf2" | grep -q 'IO_FILE_PROPERTY.*HDF5 g/packed: Layout' || echo "none in $n"
	done)"
	verdict "facts, JSON" "$(limited 20 "$PYTHON" -c 'import json, sys
files = json.load(open(sys.argv[1]))["files"]
found = [(fact["object"], fact["values"]) for file in files if (file["path"] or "").endswith("/d.h5") for fact in file["facts"]
         if fact["name"] == "Layout" and fact["object"] in ("g/packed", "plain")]
print("" if sorted(found) == [("g/packed", ["chunked"]), ("plain", ["contiguous"])] else found)' \
		"$TMP/facts/trace/summary.json" 2>&1)"
fi

# Communicators of many makes, most of them over both hosts: one each, of all its members, and so are the handles on them.
if [ -x "$P/comms" ]; then
	mkdir "$TMP/shared/comms"
	hosts_agent "$IOPROBE" --shared-mount "$TMP/shared" -o "$TMP/comms-\$host" --
	hosts_mpirun 4 "$P/comms" "$TMP/shared/comms"
	verdict "communicators, job" "$([ $? = 0 ] || tail -n 3 "$TMP/mpirun.err")"
	wait_for_line "$TMP/n1.err" 'records lost'
	wait_for_line "$TMP/n2.err" 'records lost'
	merge comms "$TMP/comms-n1" "$TMP/comms-n2"
	checks comms "stats['communicators']['MPI_COMM_WORLD/MPI_Comm_split 1 color 0'] == ['MPI Rank 0', 'MPI Rank 2']" \
		"stats['communicators']['MPI_COMM_WORLD/MPI_Comm_split 1 color 1'] == ['MPI Rank 1', 'MPI Rank 3']" \
		"stats['communicators']['MPI_COMM_WORLD/MPI_Comm_create 1'] == ['MPI Rank 1', 'MPI Rank 3']" \
		"property('COLLECTIVES_VIOLATED') == '0'"
	expect comms "[len([h for h in trace.handles if h.io_paradigm.identification == 'MPI-IO'
		and h.file.name.endswith('/comms/' + f)]) for f in
		('half0', 'half1', 'dup0', 'dup1', 'pair', 'group', 'grid', 'graph', 'world', 'copy', 'again0', 'again1', 'either0',
		    'either1')] == [1] * 14"
fi

# ---- what is missing is said ----

merge one "$TMP/n1"
sums one "$TMP/n1"
cp -r "$TMP/n2" "$TMP/bare" && rm "$TMP/bare/summary.json"
merge without "$TMP/n1" "$TMP/bare"
sums without "$TMP/n1" && verdict "without a summary, counted" \
	"$(grep -q '1 node without summary.json' "$TMP/without/out" || said "$TMP/without")$(
	grep -q '"nodes_without_summary": 1' "$TMP/without/trace/summary.json" || echo 'not in summary.json')"
says one 'ranks are missing: 2-3 of 4'
checks one "property('MISSING_RANKS') == '2-3 of 4'"

mkdir -p "$TMP/cut"
head -c $(($(stat -c %s "$TMP/n2/spool") - 300)) "$TMP/n2/spool" >"$TMP/cut/spool"
"$IOPROBE" recover "$TMP/cut" >/dev/null 2>&1
merge interrupted "$TMP/n1" "$TMP/cut"
says interrupted 'node n2 was interrupted'
checks interrupted "ranks == 4 and property('RECORDING_COMPLETE') == 'no'"

# ---- clocks ----

# edited NAME FILE PATTERN EXPRESSION: a copy of n2 that differs in one thing.
edited() { cp -r "$TMP/n2" "$TMP/$1" && "$PYTHON" "$TESTS/lib/anchor_edit.py" "$TMP/$1/$2" "$3" "$4"; }

edited drift traces.otf2 'realtime_ns=([0-9]+)' '"realtime_ns=%d" % (int(m[1]) + 500 * n)'
merge drifting "$TMP/n1" "$TMP/drift"
checks drifting "0 < int(property('CLOCK_OFFSET_CHANGE_NS')) < 2000"

edited wrong traces.otf2 'realtime_ns=([0-9]+)' '"realtime_ns=%d" % (int(m[1]) + 5000000000)'
merge disagree "$TMP/n1" "$TMP/wrong"
says disagree 'clocks of nodes n1 and n2 disagree by at least [45]\.[0-9]* s'
verdict "disagreeing clocks break the order" "$(limited 60 "$PYTHON" "$TESTS/contract/check_archive.py" "$TMP/disagree/trace" |
	grep -q '^collective-time:' || echo 'the checker does not see it')"

edited set traces.otf2 'realtime_ns=([0-9]+)' '"realtime_ns=%d" % (int(m[1]) + 20000000 * n)'
merge was_set "$TMP/n1" "$TMP/set"
says was_set 'clock of node n2 was set while it recorded: its times are uncertain by (19\.999|20\.000|20\.001) ms'

# ---- what must not be merged ----

refuses "no such folder" 'nowhere: No such file' "$TMP/n1" "$TMP/nowhere"
refuses "no archive" 'there is no archive' "$TMP/n1" "$TMP/local"
refuses "same node twice" 'both are of node n1' "$TMP/n1" "$TMP/n2" "$TMP/n1"
edited other_version traces.otf2 'VERSION\0(0\.1)' '"VERSION" + chr(0) + "0.2"' || edited other_version traces.otf2 '0\.1' '"0.2"'
refuses "other version" 'different versions of ioprobe' "$TMP/n1" "$TMP/other_version"
cp -r "$TMP/n1" "$TMP/renamed" && "$PYTHON" "$TESTS/lib/anchor_edit.py" "$TMP/renamed/traces.def" '(?<![/.a-z0-9])n1\x00' \
	'"n7" + chr(0)' ||
	not_ok "renamed node" "cannot edit"
refuses "overlapping locations" 'both have the location id' "$TMP/n1" "$TMP/renamed"
merge merged_again "$TMP/both/trace" "$TMP/n1"
verdict "merged already" "$([ $STATUS = 1 ] && grep -q 'several nodes already' "$TMP/merged_again/err" || said "$TMP/merged_again")"


fresh alone >/dev/null && record alone -- mpirun -n 1 "$P/two_scopes" "$TMP/shared/g" "$TMP/local/g"
refuses "different jobs" 'they are of different jobs' "$TMP/n1" "$TMP/alone/trace"
merge told --same-job "$TMP/n1" "$TMP/alone/trace"
says told 'ranks are missing: 2-3 of 4 \(job 1\)'
checks told "'MPI Rank 0 (job 1)' in stats['groups'] and 'MPI Rank 0 (job 2)' in stats['groups']" \
	"stats['communicators']['MPI_COMM_WORLD (job 2)'] == ['MPI Rank 0 (job 2)']"
fresh nojob >/dev/null && record nojob -- sh -c "echo 1 >'$TMP/nojob/data/x'"
refuses "of no job" 'it names no job' "$TMP/n1" "$TMP/nojob/trace"

mkdir -p "$TMP/output/trace" && touch "$TMP/output/trace/mine"
merge output "$TMP/n1" "$TMP/n2"
verdict "output exists" "$([ $STATUS = 1 ] && grep -q 'not an empty directory' "$TMP/output/err" || said "$TMP/output")$(
	[ "$(ls "$TMP/output/trace")" = mine ] || echo 'the folder was changed')"
mkdir -p "$TMP/empty/trace" && merge empty "$TMP/n1"
verdict "output, an empty folder" "$([ -e "$TMP/empty/trace/traces.otf2" ] || said "$TMP/empty")"
limited 20 "$IOPROBE" merge -o "$TMP/absent/folder/trace" "$TMP/n1" 2>"$TMP/err" >/dev/null
verdict "output, no such folder" "$(grep -q 'absent/folder.*No such file' "$TMP/err" || cat "$TMP/err")"
limited 20 "$IOPROBE" merge "$TMP/n1" >/dev/null 2>"$TMP/err"
verdict "usage, no output" "$([ $? = 2 ] || echo 'status is not 2')"
limited 20 "$IOPROBE" merge -o "$TMP/x" >/dev/null 2>"$TMP/err"
verdict "usage, no nodes" "$([ $? = 2 ] || echo 'status is not 2')"

# ---- space, devices, interruption ----

mount -t tmpfs -o size=128k,nr_inodes=200 small "$TMP/disk"
limited 60 "$IOPROBE" merge -o "$TMP/disk/trace" "$TMP/n1" "$TMP/n2" >"$TMP/disk.out" 2>"$TMP/disk.err" </dev/null
verdict "no space" "$([ $? = 1 ] || echo 'status is not 1')$(grep -Eq 'No space' "$TMP/disk.err" ||
	cat "$TMP/disk.err")$(ls "$TMP/disk")$(
	[ "$(wc -l <"$TMP/disk.err")" = 1 ] || cat "$TMP/disk.err")"
umount "$TMP/disk"
mount -t tmpfs other "$TMP/disk"
limited 60 "$IOPROBE" merge -o "$TMP/disk/trace" "$TMP/n1" "$TMP/n2" >"$TMP/disk.out" 2>"$TMP/disk.err" </dev/null
verdict "other device, reported" "$(grep -Eq '0 linked, 0 cloned, [0-9]+ copied' "$TMP/disk.out" ||
	cat "$TMP/disk.err" "$TMP/disk.out")"
contract "other device" "$TMP/disk/trace/traces.otf2"
umount "$TMP/disk"

# A pipe in place of a side file: merge waits in the middle, and is ended there.
stopped() {
	local name=$1 signal=$2 pid
	mkdir -p "$TMP/$name"
	"$IOPROBE" merge -o "$TMP/$name/trace" "$TMP/n1" "$TMP/waits" >"$TMP/$name/out" 2>"$TMP/$name/err" </dev/null & pid=$!
	wait_for_file "$TMP/$name/trace.partial/ioprobe-merge.lock" 10 || not_ok "$name" "did not begin: $(said "$TMP/$name")"
	sleep 0.3
	[ $# = 2 ] || "${@:3}"
	kill -s "$signal" $pid
	end_of $pid 10
}
cp -r "$TMP/n2" "$TMP/waits" && rm -f "$TMP/waits/collectives.json" && mkfifo "$TMP/waits/collectives.json"
second_merge() {
	merge terminated "$TMP/n1" "$TMP/n2"
	verdict "two at once" "$([ $STATUS = 1 ] && grep -q 'another merge writes there' "$TMP/terminated/err" ||
		said "$TMP/terminated")$(
		[ -d "$TMP/terminated/trace.partial" ] || echo 'the directory of the first is gone')"
}
stopped terminated TERM second_merge
verdict "terminated" "$([ $STATUS = 1 ] || echo "status $STATUS")$(nothing_left terminated)"
stopped killed KILL
verdict "killed, no archive" "$([ ! -e "$TMP/killed/trace" ] || echo 'there is one')"
merge killed "$TMP/n1" "$TMP/n2"
says "killed" "removed $TMP/killed/trace.partial,"
verdict "killed, merged again" "$(cmp "$TMP/killed/trace/traces.def" "$TMP/both/trace/traces.def" 2>&1)$(ls -d \
	"$TMP/killed/trace.partial" 2>/dev/null)"
mkdir -p "$TMP/own/trace.partial" && touch "$TMP/own/trace.partial/chapter"       # somebody's own
merge own "$TMP/n1" "$TMP/n2"
verdict "not a merge's" "$([ $STATUS = 1 ] && grep -q "not a merge's: remove it" "$TMP/own/err" || said "$TMP/own")$(
	[ -e "$TMP/own/trace.partial/chapter" ] || echo 'it was removed')"
limited 20 "$IOPROBE" --shared-mount relative -o "$TMP/x" -- true >/dev/null 2>"$TMP/err"
verdict "usage, shared mount" "$([ $? = 2 ] && grep -q 'not an absolute path' "$TMP/err" || cat "$TMP/err")"

# ---- many nodes ----

simulated() {
	local dirs=() i
	limited 60 "$PYTHON" "$TESTS/lib/merge_nodes.py" make "$TMP/n1" "$TMP/nodes" 16 8 >"$TMP/make.out" 2>&1 ||
		{ not_ok "16 nodes" "cannot make them: $(tail -n 1 "$TMP/make.out")"; return; }
	for ((i = 0; i < 16; i++)); do dirs+=("$TMP/nodes/node-$i"); done
	merge many "${dirs[@]}"
	verdict "16 nodes, status" "$([ $STATUS = 0 ] || said "$TMP/many")"
	verdict "16 nodes, structure" "$(limited 60 "$PYTHON" "$TESTS/lib/merge_nodes.py" check "$TMP/many/trace" "$TMP/n1" 16 8 \
		2>&1)"
}
simulated
