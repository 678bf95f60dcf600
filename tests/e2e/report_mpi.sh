#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# ioprobe report on MPI programs: each planted mistake is the first finding, with its file ("note": it is found, in any place),
# and its clean twin has none that is high.
. "$(dirname "$0")/../lib/e2e.sh"
. "$(dirname "$0")/../lib/report.sh"
have mpirun || { skip all "no mpirun"; exit 0; }
mpi=(mpirun -n 4 "$P/planted_mpi")
planted M03 independent_writes shared.dat -- "${mpi[@]}"
planted M02 independent_reads shared.dat -- "${mpi[@]}"
planted P21 unequal shared.dat note -- "${mpi[@]}"
planted P22 unequal_reads shared.dat note -- "${mpi[@]}"
planted X19 serial shared.dat note -- "${mpi[@]}"
planted X18 read_by_all table.dat note -- "${mpi[@]}"
planted X04 rmw sieve.dat note -- mpirun -n 2 --mca io romio321 "$P/planted_mpi"
