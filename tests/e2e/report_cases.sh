#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Kernels with the symptoms of three published cases (tests/planted/cases.c): what was found there, with lines, and what only all
# layers together show.
. "$(dirname "$0")/../lib/e2e.sh"
. "$(dirname "$0")/../lib/report.sh"
have mpirun || { skip all "no mpirun"; exit 0; }
cases=(mpirun -n 4 "$P/planted_cases")


# WarpX: small and independent writes. The layers: one H5Dwrite becomes 128 writes of MPI-IO, which pass through it unchanged.
planted M03 openpmd openpmd.h5 0-3 -- "${cases[@]}"
verdict "openpmd, the published findings" "$(check_report openpmd is \
	"finding('P16')['cause'] == 'M03'" "finding('P06')['operations'] > 10000" \
	"finding('P16')['calls'][0]['function'] == 'H5Dwrite'" "'P03' in codes")"
verdict "openpmd, across layers" "$(check_report openpmd is "'operations below move' in finding('X01')['evidence']" \
	"finding('M03')['operations'] == finding('P16')['operations']" \
	"finding('X01')['operations'] > 50 * int(finding('X01')['evidence'].split()[0])")"

# AMReX: collective calls, and yet small writes, all of one rank. The layers: which one, inside which calls.
planted X02 amrex '*/plt0000?.h5' 0-3 -- "${cases[@]}"
verdict "amrex, the published findings" "$(check_report amrex is \
	"finding('P06')['cause'] == 'X02' and finding('P06')['operations'] >= 300" \
	"'of MPI-IO are collective' in finding('M05')['evidence']" "'P03' in codes")"
verdict "amrex, across layers" "$(check_report amrex is \
	"[n['ranks_with_system_calls'] for n in r['figures']['nodes']['nodes']] == [1]" \
	"'only rank 0 makes system calls' in finding('X02')['evidence'] or 'only rank ' in finding('X02')['evidence']" \
	"finding('X02')['advice'][0]['interface'] == 'HDF5'")"

# E3SM-IO: small, independent, and partly random reads of one file. The layers: each H5Dread is one read of the file.
planted M02 e3sm map.h5 0-3 -- "${cases[@]}"
verdict "e3sm, the published findings" "$(check_report e3sm is \
	"finding('P15')['operations'] >= 20000 and finding('P05')['operations'] >= 20000" \
	"finding('P11')['operations'] > 0.3 * finding('P05')['operations']" "finding('P11')['cause'] == 'M02'" "'P02' in codes" \
	"finding('P11')['calls'][0]['function'] == 'H5Dread'")"
twins cases -- "${cases[@]}"
