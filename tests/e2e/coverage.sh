#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Every function of every probe table, called with known arguments, traced, and compared event by event with what the program did;
# at the end a table of the layers beside other tools', which must be behind in each.
. "$(dirname "$0")/../lib/e2e.sh"

coverage() { limited 120 "$PYTHON" "$TESTS/coverage/coverage.py" "$@" 2>&1; }

# covered LAYER PROGRAM LIBRARY [LAUNCHER...]: LIBRARY is a part of the name of the library's file, "" for system calls. OPTIONS:
# ioprobe's.
covered() {
	local layer=$1 name=$2 library=$3 text file
	fresh "$name" >/dev/null
	record "$name" $OPTIONS --probes "$TESTS/coverage/golden.probes" -- "${@:4}" "$P/$name" "$TMP/$name/data" \
		"$TMP/$name/expected"
	verdict "$name, status" "$([ $STATUS = 0 ] || echo "status $STATUS: $(said "$TMP/$name")")"
	contract "$name"
	lost_nothing "$name"
	cp "$TMP/tables" "$TMP/$name/probes"
	if [ -n "$library" ]; then
		file=$(LD_TRACE_LOADED_OBJECTS=1 "$P/$name" | awk -v l="/$library" 'index($3, l) { print $3; exit }')
		"$IOPROBE" probes --json --library "$file" >"$TMP/$name/probes"
	fi
	text=$(coverage check "$layer" "$TMP/tables" "$TMP/$name/probes" "$TMP/$name.result" "$TMP/$name/trace/traces.otf2" \
		"$TMP/$name"/expected*)
	verdict "$name, every call" "$([ $? = 0 ] || echo "$text")"
	text=$(coverage table "$TMP/$name.result" | sed -n "s/^$layer, untested, no golden call: //p")
	[ -z "$text" ] || skip "$name, every function" "no golden call of $text"
}

# The comparison must see a byte, an offset, an event, a call too many and one too few. falsified WHAT SCRIPT [LAYER PROGRAM
# [.RANK]]
falsified() {
	local what=$1 layer=${3:-POSIX} name=${4:-cover_posix} rank=${5:-} text
	sed "$2" "$TMP/$name/expected$rank" >"$TMP/false$rank"
	if cmp -s "$TMP/$name/expected$rank" "$TMP/false$rank"; then
		not_ok "falsified, $what" "nothing was falsified"
		return
	fi
	text=$(coverage check "$layer" "$TMP/tables" "$TMP/$name/probes" "$TMP/false.result" "$TMP/$name/trace/traces.otf2" \
		"$TMP/false$rank")
	verdict "falsified, $what" "$([ $? = 1 ] || echo "not noticed: $text")"
}

OPTIONS=
"$IOPROBE" probes --json --probes "$TESTS/../probes/optional/sockets.probes" >"$TMP/tables"
covered POSIX cover_posix ""
# cover_posix also calls functions that no probe table has. ACCURACY.md says that they are not recorded.
expect cover_posix "calls('pipe*') == calls('munmap') == 0" \
	"all('mapped handle' in c.attributes or c.failed for c in select('mmap')) and calls('mmap') > failed('mmap') == 1"
verdict "cover_posix, calls without a row" "$(grep -Fqx '* `pipe`, `pipe2`, `munmap` and anonymous `mmap` are not recorded.' \
	"$TESTS/../user/replay/ACCURACY.md" || echo "not said")"
falsified bytes 's,^pread64 read:10/10@20,pread64 read:10/11@20,'
falsified offset 's,^pread64 read:10/10@20,pread64 read:10/10@21,'
falsified event 's,^dup2 destroy dup,dup2 dup,'
falsified error 's,^dup !9,dup !10,'
falsified "a call too many" '/^fsync flush/p'
falsified "a call too few" '/^fsync flush/d'
covered ISOC cover_isoc libc.so
expect cover_isoc "[read(f) for f in ('fscanf', '__isoc99_fscanf', 'vfscanf', '__isoc99_vfscanf')] == [1, 1, 1, 2]" \
	"unknown('*fscanf') == 0"
covered AIO cover_aio libc.so
falsified "end of an operation" 's,^aio_return done:60,aio_return done:100,' AIO cover_aio
falsified cancellation 's,^aio_cancel cancelled,aio_cancel,' AIO cover_aio
OPTIONS=--sockets covered SOCKET cover_sockets ""
falsified message 's,^sendmsg write:30/30,sendmsg write:30/20,' SOCKET cover_sockets
if have mpirun; then
	covered MPI-IO cover_mpiio libmpi.so mpirun -n 2
	covered HDF5 cover_hdf5 libhdf5 mpirun -n 2
	covered netCDF cover_netcdf libnetcdf mpirun -n 2
	if [ -x "$P/cover_pnetcdf" ]; then
		covered PnetCDF cover_pnetcdf libpnetcdf mpirun -n 2
		falsified "size of values" '/^ncmpi_iput_vars_float/s,:8,:16,' PnetCDF cover_pnetcdf .1
		falsified "size that is known" '/^ncmpi_put_vara_all/s,:8/8,:?8/?8,' PnetCDF cover_pnetcdf .1
		falsified collective 's,^ncmpi_get_vara_int_all all-,ncmpi_get_vara_int_all ,' PnetCDF cover_pnetcdf .1
	else
		skip PnetCDF "cover_pnetcdf is not built: no PnetCDF library"
	fi
else
	skip MPI "no mpirun"
fi
text=$(coverage table "$TMP"/cover_*.result)
verdict "ahead of the others in every layer" "$([ $? = 0 ] || echo "$text")"
echo "$text" >"$BUILD/coverage.txt"
