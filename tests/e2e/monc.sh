#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# The case of Tschüter et al., Euro-Par 2018, section 5: what its figures 6 to 9 show must be in the archive.
. "$(dirname "$0")/../lib/e2e.sh"
. "$(dirname "$0")/../lib/report.sh"
have mpirun || { skip all "no mpirun"; exit 0; }

# The share of system calls in the summary, against the archive's calls.
share() {
	local name=$1 layer=$2 times
	fresh "$name" >/dev/null
	record "$name" -- "${@:3}" "$TMP/$name/data"
	times=$("$PYTHON" -c 'import json, sys
layer, = [l for l in json.load(open(sys.argv[1]))["layers"] if l["name"] == sys.argv[2]]
print(layer["time_ns"], layer["system_time_ns"])' "$TMP/$name/trace/summary.json" "$layer") ||
	{ not_ok "$name" "no JSON: $(said "$TMP/$name")"; return; }
	expect "$name" "time_ns('$layer') == ${times% *} and ${times% *} > ${times#* } > 0" \
		"time_ns('$layer', 'POSIX') == ${times#* }"
}
share streams ISOC "$P/streams"

steps=5
fresh monc >/dev/null
record monc --call-sites -- mpirun -n 6 "$P/monc" "$TMP/monc/data/dump.nc" $steps
verdict "monc, status" "$([ $STATUS = 0 ] || echo "status $STATUS: $(said "$TMP/monc")")"
contract monc
lost_nothing monc

puts=$((2 * steps)) bytes=$((3 * 2 * steps * 512 * 8))
dump="'*/data/dump.nc'"
# 6: accesses to the file on each layer; other files of POSIX and ISO C
expect monc "[calls('nc_put_vara_double', f'MPI Rank {r}') for r in range(6)] == [0, $puts, 0, $puts, 0, $puts]" \
	"accesses('netCDF', $dump) == 3 * ($puts + 1)" "accesses('HDF5', $dump) > accesses('netCDF', $dump)" \
	"calls('H5Dwrite', under='nc_put_vara_double') == 3 * $puts" \
	"calls('MPI_File_write_at_all', under='H5Dwrite') == 3 * $puts and accesses('MPI-IO', $dump) > accesses('netCDF', $dump)" \
	"layer_bytes('MPI-IO', $dump) == layer_bytes('POSIX', $dump) and layer_bytes('POSIX', $dump)[1] >= $bytes" \
	"len(files) > 50 and calls('fgets', path='/proc/*/maps') > 0"
# 7: trees of handles; the call stack of a thread; communication inside a call
expect monc "('POSIX', 'MPI-IO', 'HDF5', 'netCDF') in chains($dump)" "('POSIX', 'ISOC') in chains('/proc/*/maps')" \
	"len([f for f in files if f.endswith('/data/dump.nc')]) == 1" "members($dump) == [1, 3, 5]" \
	"all(c.location.name != 'Master thread' for c in select('nc_*'))" "locations_with('nc_put_vara_double') == 3" \
	"stacks('MPI_File_write_at_all') == [('H5Dwrite', 'nc_put_vara_double'), ('H5Fclose', 'nc_close'),
		('H5Fflush', 'nc_enddef')]" \
	"all(calls('MPI_Allreduce', f'MPI Rank {r}', under='nc_put_vara_double') >= $puts for r in (1, 3, 5))"
# 8 and 9: of the servers, which make the same collective calls, one makes the system calls
expect monc "([calls('MPI_File_write_at_all', f'MPI Rank {r}') for r in (1, 3, 5)]
	== [calls('MPI_File_write_at_all', 'MPI Rank 1')] * 3)" \
	"len({c.group for c in select('pwrite*', path=$dump)}) == 1" \
	"('MPI_File_write_at_all', 'H5Dwrite', 'nc_put_vara_double') in stacks('pwrite64')" \
	"[sum(c.written for c in select('pwrite*', path=$dump, group=f'MPI Rank {r}', under='MPI_File_write_at_all')) >= $bytes
	for r in (1, 3, 5)].count(True) == 1"

# The same in the report's figures.
report_of monc
verdict "monc, its cause" "$(check_report monc found X02 '*/data/dump.nc' 1,3,5 "$TESTS/programs/monc.c" monc note)"
verdict "monc, report" "$(check_report monc is \
	"r['figures']['accesses']['files'][0]['path'].endswith('/data/dump.nc')" \
	"r['figures']['accesses']['files'][0]['calls']['netCDF'] == 3 * ($puts + 3)" \
	"{'HDF5', 'MPI-IO', 'POSIX'} < set(r['figures']['accesses']['files'][0]['calls'])" \
	"[h['layer'] for h in r['figures']['handles']['handles'][:4]] == ['netCDF', 'HDF5', 'MPI-IO', 'POSIX']" \
	"[h['depth'] for h in r['figures']['handles']['handles'][:4]] == [0, 1, 2, 3]" \
	"r['figures']['handles']['handles'][0]['calls'] == {'open': 1, 'read': 0, 'write': $puts, 'close': 1, 'other': 0}" \
	"(r['figures']['stacks']['function'], r['figures']['stacks']['ranks']) == ('MPI_File_write_at_all', 3)" \
	"([[n > 0 for n in f['calls']] for f in r['figures']['stacks']['stacks'] if f['function'].startswith('pwrite')]
		== [[True, False]])" \
	"[(n['ranks'], n['ranks_with_system_calls']) for n in r['figures']['nodes']['nodes']] == [(3, 1)]" \
	"sum(n['bytes_moved'] for n in r['figures']['nodes']['ranks']) >= $bytes")"

if "$PYTHON" -c 'import h5py' 2>/dev/null; then
	text=$("$PYTHON" - "$TMP/monc/data/dump.nc" $steps <<-'PYTHON'
		import sys, h5py
		with h5py.File(sys.argv[1], "r") as f:
		    for field in range(2):
		        for step in range(int(sys.argv[2])):
		            row = [step + field * 0.5 + i for i in range(512)] * 3
		            if list(f["field%d" % field][step]) != row:
		                print("field%d, step %d differs" % (field, step))
		PYTHON
	)
	verdict "monc, the file's contents" "$text"
fi
