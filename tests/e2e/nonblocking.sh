#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Operations that one call begins and another one ends: every one is followed to its end or said to be open, calls that wait for
# messages are not recorded, and the bytes are those of the system calls below.
. "$(dirname "$0")/../lib/e2e.sh"

tells() {
	if grep -q "$2" "$TMP/$1/out"; then ok "$1, says '$2'"; else not_ok "$1, says '$2'" \
		"$(grep note "$TMP/$1/out" | head -n 5)"; fi
}

# What each of the two ranks of mpi_requests does, whether it was launched or attached to. The write whose request is freed reaches
# the kernel or not: Open MPI 5 closes the file first in every second run, also without ioprobe.
MPI_REQUESTS=("calls('MPI_Wait') == 8 and calls('MPI_Waitall') == 4 and calls('MPI_Waitany') == 4" "calls('MPI_Test') >= 2"
	"calls('MPI_Testsome') >= 2 and calls('MPI_Request_get_status') >= 2"
	"calls('MPI_Cancel') == 2 and calls('MPI_Request_free') == 2" \
		"calls('MPI_File_iwrite_at') == 26 and calls('MPI_File_iread_at') == 12"
	"written('MPI_File_iwrite_at') == 18000 and read('MPI_File_iread_at') == 12000" "unknown('MPI_File_i*') == 4"
	"layer_bytes('POSIX', '*/data/file') in ([12000, 24000], [12000, 25000], [12000, 26000])" "left_open('MPI_File_*') == 4"
	"trace.counts['IoOperationCancelled'] == 0"
	"[ended('MPI_File_i*', by) for by in ('MPI_Wait', 'MPI_Waitall', 'MPI_Waitany', 'MPI_Testsome')] == [8, 8, 4, 8]"
	"[ended('MPI_File_i*', by) for by in ('MPI_Test', 'MPI_Testall', 'MPI_Request_get_status')] == [2, 2, 2]"
	"2 + 2 <= calls('MPI_Testall') < 200"
	"ended('MPI_File_i*', 'MPI_Wait', elsewhere=True) == 2" "ended('MPI_File_i*', '*', elsewhere=True) == 2")

mpi_requests() {
	fresh mpi_requests >/dev/null
	record mpi_requests -- mpirun -n 2 "$P/mpi_requests" "$TMP/mpi_requests/data/file"
	verdict "mpi_requests, status" "$([ $STATUS = 0 ] || echo "status $STATUS: $(said "$TMP/mpi_requests")")"
	contract mpi_requests && expect mpi_requests "${MPI_REQUESTS[@]}"
	lost_nothing mpi_requests
	tells mpi_requests 'non-blocking operations are open: no wait or test on them was observed'
	tells mpi_requests '2 non-blocking operations are open: their requests were freed'
	tells mpi_requests 'excluded by repetition.*: MPI-IO'
	tells mpi_requests '176 requests beyond the first 512 of an array were not inspected'
}

# The waits of a process are probed from its first call of MPI-IO on, and not while it waits for messages only. What begins before
# they are probed (again) is open, and said to be: how much that is, is decided by the machine's load and by how long MPI_File_open
# takes (Open MPI 5: less than placing the probes). Most of the seven, on a machine that is not overloaded, are seen to end.
mpi_storm() {
	fresh mpi_storm >/dev/null
	record mpi_storm -- "$P/mpi_storm" "$TMP/mpi_storm/data/file"
	verdict "mpi_storm, status" "$([ $STATUS = 0 ] || echo "status $STATUS: $(said "$TMP/mpi_storm")")"
	contract mpi_storm && expect mpi_storm "0 < ended('MPI_File_iwrite_at', 'MPI_Wait') == calls('MPI_Wait') <= 7" \
		"ended('MPI_File_iwrite_at', 'MPI_Wait') + left_open('MPI_File_iwrite_at') == 7" \
		"layer_bytes('POSIX', '*/data/file')[1] == 700" \
		"layer_bytes('MPI-IO', '*/data/file')[1] == 100 * ended('MPI_File_iwrite_at', 'MPI_Wait')"
	grep -q 'no wait or test on them was observed' "$TMP/mpi_storm/out" &&
		tells mpi_storm 'before the probes on waits were in place'
}

# A crash inside of the call that begins an operation: it was neither issued nor cancelled.
mpi_crash() {
	fresh mpi_crash >/dev/null
	record mpi_crash -- mpirun -n 1 "$P/crash_inside" "$TMP/mpi_crash/data/file"
	contract mpi_crash && expect mpi_crash "calls('MPI_File_iwrite_at_all') == 2 and abandoned('MPI_File_iwrite_at_all') == 1" \
		"ended('MPI_File_iwrite_at_all', 'MPI_Wait') == left_open('MPI_File_iwrite_at_all') == 1" \
		"trace.counts['IoOperationIssued'] == 1 + good('aio_write') and trace.counts['IoOperationCancelled'] == 0" \
		"[11] == [p['Wait Status'] & 127 for p in trace.group_properties.values()
			if p['Executable'].endswith('/crash_inside')]"
	lost_nothing mpi_crash
	tells mpi_crash '1 non-blocking operations are open: the call that began them did not return'
}

# The files are open before anybody looks, and one operation is under way: nothing is known of its begin, so nothing is said of its
# end.
mpi_attached() {
	local dir pid recorder
	dir=$(fresh mpi_attached)
	mpirun -n 2 "$P/mpi_requests" "$dir/data/file" "$dir/data/go" >"$dir/program.out" 2>&1 & pid=$!
	if ! wait_for_file "$dir/data/go.ready"; then
		end_of $pid 1
		not_ok mpi_attached "the program did not start: $(tail -n 3 "$dir/program.out")"
		return
	fi
	"$IOPROBE" --pid $pid -o "$dir/trace" --summary "$dir/out" >"$dir/stdout" 2>"$dir/err" & recorder=$!
	wait_for_line "$dir/err" 'recording' 30
	touch "$dir/data/go"
	end_of $pid 30
	verdict "mpi_attached, program" "$([ $STATUS = 0 ] || echo "status $STATUS: $(tail -n 3 "$dir/program.out")")"
	end_of $recorder 30
	verdict "mpi_attached, status" "$([ $STATUS = 0 ] || echo "status $STATUS: $(said "$dir")")"
	contract mpi_attached && expect mpi_attached "${MPI_REQUESTS[@]}"
	lost_nothing mpi_attached
}

# Open MPI's component vulcan, the default for interleaved data, hands the data of collective writes to aio: every system call has a
# request, and through it the collective call above it.
mpi_collective_by_aio() {
	fresh mpi_collective_by_aio >/dev/null
	record mpi_collective_by_aio -- mpirun --mca io ompio --mca fcoll vulcan -n 2 "$P/ior" MPIIO-C \
		"$TMP/mpi_collective_by_aio/data/file" 1 33554432 33554432
	verdict "mpi_collective_by_aio, status" "$([ $STATUS = 0 ] || echo "status $STATUS: $(said "$TMP/mpi_collective_by_aio")")"
	contract mpi_collective_by_aio &&
		expect mpi_collective_by_aio "layer_bytes('POSIX', '*/data/file') == [67108864, 67108864]" \
		"carried_out('pwrite64', 'aio_write') == calls('aio_write') == calls('pwrite64', path='*/data/file') > 0" \
		"sum(c.written for c, _ in trace.carried_out) == 67108864" \
		"all(r.above() == ['MPI_File_write_at_all'] and r.group == c.group
			and r.location != c.location for c, r in trace.carried_out)"
	lost_nothing mpi_collective_by_aio
	verdict "mpi_collective_by_aio, every request joined" \
		"$(grep -E 'requests of asynchronous|belong to no recorded' "$TMP/mpi_collective_by_aio/out")"
}

# mpi_collective NAME IMPLEMENTATION LAUNCHER... PROGRAM: a collective write of 64 MiB by two ranks, and the read of it: exact bytes
# in both layers, every system call that moves them below the collective call, and who carried it out. How many system calls those
# are is the library's affair.
mpi_collective() {
	local name=$1 file="'*/data/file'" all=MPI_File_write_at_all both='(33554432, 33554432, True)] * 2'
	[ -x "${*: -1}" ] && have "$3" || { skip "$name" "no $3, or no program for it"; return; }
	fresh "$name" >/dev/null
	record "$name" -- "${@:3}" "$TMP/$name/data/file" 33554432
	verdict "$name, status" "$([ $STATUS = 0 ] || echo "status $STATUS: $(said "$TMP/$name")")"
	contract "$name" && expect "$name" "prop($file, 'MPI-IO: Implementation') == ['$2']" \
		"layer_bytes('POSIX', $file) == [67108864, 67108864] == layer_bytes('MPI-IO', $file)" \
		"[(c.asked, c.written, c.collective) for c in select('$all')] == [$both" \
		"[(c.asked, c.read, c.collective) for c in select('${all/write/read}')] == [$both" \
		"{tuple(c.above()) for c in select('*write*', path=$file) if c.layer == 'POSIX'} == {('$all',)}" \
		"({tuple(c.above()) for c in select('*read*', path=$file) if c.layer == 'POSIX' and c.read}
			== {('${all/write/read}',)})"
	lost_nothing "$name"
}

if have mpirun; then
	mpi_requests
	mpi_collective mpi_collective_by_romio ROMIO mpirun --mca io ^ompio -n 2 "$P/collective_write"
	mpi_collective mpi_collective_by_ompio OMPIO mpirun --mca io ompio --mca fcoll dynamic -n 2 "$P/collective_write"
	mpi_collective_by_aio
	mpi_attached
	mpi_storm
	mpi_crash
else
	skip mpi_requests "no mpirun"
fi

mpi_collective mpi_collective_by_mpich ROMIO mpirun.mpich -n 2 "$P/mpich/collective_write"

aio() {
	fresh aio >/dev/null
	record aio -- "$P/aio" "$TMP/aio/data"
	verdict "aio, status" "$([ $STATUS = 0 ] || echo "status $STATUS: $(said "$TMP/aio")")"
	contract aio && expect aio "[calls(f) for f in ('aio_read', 'aio_write', 'aio_fsync', 'lio_listio')] == [5, 5, 1, 4]" \
		"[calls(f) for f in ('aio_return', 'aio_cancel', 'aio_suspend')] == [218, 2, 3]" "failed('lio_listio') == 1" \
		"layer_bytes('AIO', '*/data/file') == [2300, 9000]" "layer_bytes('AIO', '*/data/many') == [0, 200]" \
		"layer_bytes('AIO', 'pipe:*') == [5, 0]" "layer_bytes('POSIX', '*/data/file') == [2300, 10000]" \
		"ended('*', 'aio_*', cancelled=True) == 2 and ended('aio_read', 'aio_cancel', cancelled=True) == 1" \
		"ended('lio_listio', 'aio_return') == 208 and ended('aio_*', 'aio_return') == 8" "trace.open_operations == 1" \
		"ended('aio_write', 'aio_return', elsewhere=True) == 1" \
		"sorted(offsets('lio_listio', '*/data/many')) == list(range(200))" \
		"creates['AIO'] == 0 and destroys['AIO'] == 0" "failed('aio_return') == 4" \
		"trace.counts['IoOperationIssued'] == 219" \
		"[carried_out(*c) for c in (('pwrite64', 'aio_write'), ('fsync', 'aio_fsync'), ('*', 'aio_read'),
			('*', 'lio_listio'))] == [5, 1, 4, 208]" \
		"len(trace.carried_out) == 218 and all(not c.above() for c, _ in trace.carried_out)"
	lost_nothing aio
	tells aio '1 non-blocking operations are open: no wait or test on them was observed'
	verdict "aio, every request joined" "$(grep -E 'requests of asynchronous|belong to no recorded' "$TMP/aio/out")"
	rm -rf "$TMP/aio/data" && mkdir "$TMP/aio/data"
	same_as_strace aio "$P/aio" "$TMP/aio/data"
}
aio
