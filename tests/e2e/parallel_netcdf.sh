#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# MPI programs: every layer of one call, ranks, collective handles; MPI-IO in C and Fortran; library calls that fail.
. "$(dirname "$0")/../lib/e2e.sh"
have mpirun || { skip all "no mpirun"; exit 0; }

mpi() {
	local name=$1 ranks=$2
	fresh "$name" >/dev/null
	record "$name" -- mpirun -n "$ranks" "${@:3}"
	verdict "$name, status" "$([ $STATUS = 0 ] || echo "status $STATUS: $(said "$TMP/$name")")"
	lost_nothing "$name"
	contract "$name"
}

# A separate run under strace: the system calls on one file.
file_as_strace() {
	local name=$1 file=$2 text
	have strace || { skip "$name, strace" "strace is not installed"; return; }
	limited 90 strace -f -y -o "$TMP/$name/strace.log" -e trace=read,write,pread64,pwrite64,preadv,pwritev,readv,writev \
		"${@:3}" \
		>/dev/null 2>&1 </dev/null
	text=$(limited 60 "$PYTHON" "$TESTS/lib/strace_sum.py" --path "$file" --only-data "$TMP/$name/strace.log" \
		"$TMP/$name/trace/traces.otf2" 2>&1) && ok "$name, strace" || not_ok "$name, strace" "$text"
}

steps=5 points=16384
bytes=$((4 * steps * points * 8))
NC=$TMP/parallel_nc/data/a.nc
if mpi parallel_nc 4 "$P/parallel_nc" "$NC" $steps $points; then
	expect parallel_nc "[calls('nc_put_vara_double', f'MPI Rank {r}*') for r in range(4)] == [$steps] * 4" \
		"[calls('nc_get_vara_double', f'MPI Rank {r}*') for r in range(4)] == [$steps] * 4" \
		"calls('nc_create_par') == 4 and calls('nc_open_par') == 4 and calls('nc_close') == 8" \
		"calls('H5Dwrite', under='nc_put_vara_double') == 4 * $steps" \
		"calls('H5Dread', under='nc_get_vara_double') == 4 * $steps" \
		"calls('MPI_File_write_at_all', under='H5Dwrite') == 4 * $steps" \
		"calls('MPI_File_read_at_all', under='H5Dread') == 4 * $steps" \
		"('MPI_File_write_at_all', 'H5Dwrite', 'nc_put_vara_double') in stacks('pwrite64') + stacks('pwritev')" \
		"('POSIX', 'MPI-IO', 'HDF5', 'netCDF') in chains('*/data/a.nc')" \
		"sum(layer_bytes('POSIX', '*/data/a.nc')) >= 2 * $bytes" "layer_bytes('POSIX', '*/data/a.nc')[1] >= $bytes" \
		"layer_bytes('MPI-IO', '*/data/a.nc')[1] >= $bytes and unknown('MPI_File_write_at_all') == 0" \
		"set(('POSIX', 'MPI-IO', 'HDF5', 'netCDF')) <= set(paradigms)" "trace.open_operations == 0" \
		"abandoned('nc_*') == 0 and failed('nc_*') == 0" \
		"len([f for f in files if f.endswith('/data/a.nc')]) == 1"
	rm -f "$NC" # both runs create it: with a file of the first run there HDF5 1.14 makes other calls
	file_as_strace parallel_nc a.nc mpirun -n 4 "$P/parallel_nc" "$NC" $steps $points
fi

if mpi mpiio 2 "$P/mpiio" "$TMP/mpiio/data/m"; then
	expect mpiio "[calls('MPI_File_' + f) for f in ('open', 'close', 'sync', 'seek', 'delete')] == [2, 2, 2, 2, 1]" \
		"[calls('MPI_File_' + f) for f in ('write_at_all', 'write_at', 'iwrite_at', 'write_shared')] == [10, 10, 6, 4]" \
		"calls('MPI_File_write_ordered') == 2" \
		"([calls('MPI_File_' + f) for f in ('write_at_all_begin', 'write_at_all_end', 'read_all', 'iread_at_all')]
			== [2, 2, 8, 4])" \
		"trace.open_operations in (0, 10)" "trace.creates['MPI-IO'] == 2 and trace.destroys['MPI-IO'] == 2" \
		"trace.counts['IoOperationIssued'] >= 6 + 4 + 2" "offsets('MPI_File_write_at_all') == [4096 * i for i in range(10)]"
	if limited 60 "$PYTHON" "$TESTS/lib/expect.py" "$TMP/mpiio/trace/traces.otf2" "trace.open_operations == 0" >/dev/null; then
		ok "mpiio, MPI_Wait completes non-blocking operations"
	else
		skip "mpiio, MPI_Wait completes non-blocking operations" \
			"MPI_Wait is not recorded: the operations stay open in the trace"
	fi
fi

if mpi mpiio_f 2 "$P/mpiio_f" "$TMP/mpiio_f/data/m"; then
	expect mpiio_f "[calls('MPI_File_' + f) for f in ('open', 'write_at_all', 'read_at_all', 'close')] == [2, 12, 12, 2]" \
		"layer_bytes('POSIX', '*/data/m')[1] >= 96000" "calls('write', path='*/data/m.txt') >= 1"
fi

if mpi failures_mpi 2 "$P/failures_mpi" "$TMP/failures_mpi/data"; then
	expect failures_mpi "calls('nc_open') == 4 and failed('nc_open') == 4" \
		"calls('MPI_File_open') == 2 and failed('MPI_File_open') == 2" \
		"calls('MPI_File_delete') == 2 and failed('MPI_File_delete') == 2" \
		"trace.creates['netCDF'] == 0 and trace.creates['MPI-IO'] == 0"
fi
