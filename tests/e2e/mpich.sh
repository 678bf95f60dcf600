#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# The same MPI programs with Open MPI and with MPICH: bytes, requests, flags and communicators. The compilers and launchers are
# named in full, whatever the alternatives of the machine are.
. "$(dirname "$0")/../lib/e2e.sh"

# of_both NAME DERIVED: DERIVED is what is asked where a derived type does not tell its size.
of_both() {
	expect "$1" \
		"([(c.asked, c.written) for c in select('MPI_File_write_at', group='MPI Rank 1')]
			== [(10, 10), (3, 3), (20, 20), (32, 32), ($2, 24), (20, 0)])" \
		"unknown('MPI_File_write_at') == 2" \
		"([(c.asked, c.written, c.collective) for c in select('MPI_File_write_at_all', group='MPI Rank 0')]
			== [(8, 8, True), (0, 0, True)])" \
		"[(c.asked, c.read) for c in select('MPI_File_read_at', group='MPI Rank 0')] == [(32, 32), (32, 0)]" \
		"([(c.asked, c.written) for c in select('MPI_File_iwrite_at', group='MPI Rank 0')]
			== [(20, 20), (8, 8), (8, 8), (8, 8)])" \
		"[(c.asked, c.read) for c in select('MPI_File_iread_at', group='MPI Rank 0')] == [(7, 7), (9, 0)]" \
		"(unknown('MPI_File_iread_at') == 2 and trace.open_operations == 0
			and ('MPI-IO', 'POSIX') in [c[-2:][::-1] for c in chains('*/f.bin')])" \
		"sorted(g for g in trace.groups if g.startswith('MPI Rank')) == ['MPI Rank 0', 'MPI Rank 1']"
}

# run NAME DERIVED LAUNCHER PROGRAM
run() {
	have "$3" || { skip "$1" "no $3"; return; }
	[ -x "$4" ] || { skip "$1" "$4 is not built"; return; }
	fresh "$1" >/dev/null
	record "$1" -- "$3" -n 2 "$4" "$TMP/$1/data/f.bin"
	verdict "$1, status" "$([ $STATUS = 0 ] || echo "status $STATUS: $(said "$TMP/$1")")"
	contract "$1"
	of_both "$1" "$2"
}

run open_mpi 24 mpirun "$P/mpi_sizes"
run mpich 0 mpirun.mpich "$P/mpich/mpi_sizes"
