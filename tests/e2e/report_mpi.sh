#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# ioprobe report on MPI programs: each planted mistake is the first finding, with its file, ranks and line; without their mistakes
# no finding is high.
. "$(dirname "$0")/../lib/e2e.sh"
. "$(dirname "$0")/../lib/report.sh"
have mpirun || { skip all "no mpirun"; exit 0; }
mpi=(mpirun -n 4 "$P/planted_mpi")
planted M03 independent_writes shared.dat 0-3 -- "${mpi[@]}"
planted M02 independent_reads shared.dat 0-3 -- "${mpi[@]}"
planted P21 unequal shared.dat 1 -- "${mpi[@]}"
planted P22 unequal_reads shared.dat 1 -- "${mpi[@]}"
planted X19 serial shared.dat 0 -- "${mpi[@]}"
planted X18 read_by_all table.dat 0-3 note -- "${mpi[@]}"       # on one node
planted X10 late shared.dat 0,2-3 -- "${mpi[@]}"
planted X02 one_writer shared.dat 0-3 -- "${mpi[@]}"
planted X34 degraded shared.dat 0-3 -- mpirun -n 4 --mca io ^ompio "$P/planted_mpi"
planted X04 rmw sieve.dat 0-1 -- mpirun -n 2 --mca io ^ompio "$P/planted_mpi"
# All in one job, whose wall time is that of all: a smaller share of it is high.
printf '{"high_share": 0.02}' >"$TMP/thresholds.json"
twins mpi --thresholds "$TMP/thresholds.json" -- "${mpi[@]}"
twins romio --thresholds "$TMP/thresholds.json" -- mpirun -n 4 --mca io ^ompio "$P/planted_mpi"

# Open MPI's component vulcan writes by aio: the system calls of the library's threads count for the collective calls above the
# requests.
recorded by_aio -- mpirun -n 2 --mca io ompio --mca fcoll vulcan "$P/ior" MPIIO-C "$TMP/by_aio/data/file" 1 33554432 33554432 &&
	verdict by_aio "$("$PYTHON" -c "import json, sys
v = json.load(open(sys.argv[1]))['figures']['nodes']
found = [[x[k] for k in ('collective_calls', 'bytes_asked', 'bytes_moved')] for x in v['nodes']]
print(*([] if found == [[4, 1 << 27, 1 << 27]] and v['nodes'][0]['system_calls'] >= 4 else [v]))" "$TMP/by_aio/report.json" 2>&1)"

# With --collectives: the rank that does the I/O of all gets its data by MPI_Gather, which the archive shows.
recorded gathered --collectives -- "${mpi[@]}" serial bad "$TMP/gathered/data" &&
	verdict gathered "$(check_report gathered is "finding('X19')['confidence'] == 'measured'" \
		"'8 of its ' in finding('X19')['evidence'] and 'follow MPI_Gather' in finding('X19')['evidence']")"
