#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# ioprobe report on MPI programs: each planted mistake is the first finding, with its file, ranks and line; without their mistakes no finding is high.
. "$(dirname "$0")/../lib/e2e.sh"
. "$(dirname "$0")/../lib/report.sh"
have mpirun || { skip all "no mpirun"; exit 0; }
mpi=(mpirun -n 4 "$P/planted_mpi")
planted M03 independent_writes shared.dat 0-3 -- "${mpi[@]}"
planted M02 independent_reads shared.dat 0-3 -- "${mpi[@]}"
planted P21 unequal shared.dat 1 -- "${mpi[@]}"
planted P22 unequal_reads shared.dat 1 -- "${mpi[@]}"
planted X19 serial shared.dat 0 -- "${mpi[@]}"
planted X18 read_by_all table.dat 0-3 -- "${mpi[@]}"
planted X10 late shared.dat 0,2-3 -- "${mpi[@]}"
planted X02 one_writer shared.dat 0-3 -- "${mpi[@]}"
planted X34 degraded shared.dat 0-3 -- mpirun -n 4 --mca io romio321 "$P/planted_mpi"
planted X04 rmw sieve.dat 0-1 -- mpirun -n 2 --mca io romio321 "$P/planted_mpi"
# All in one job, whose wall time is that of all: a smaller share of it is high.
printf '{"high_share": 0.02}' >"$TMP/thresholds.json"
twins mpi --thresholds "$TMP/thresholds.json" -- "${mpi[@]}"
twins romio --thresholds "$TMP/thresholds.json" -- mpirun -n 4 --mca io romio321 "$P/planted_mpi"
