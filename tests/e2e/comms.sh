#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Communicators and their members, in order, from the calls that make them; unknown ones must not be wrong.
. "$(dirname "$0")/../lib/e2e.sh"
have mpirun || { skip all "no mpirun"; exit 0; }

fresh comms >/dev/null
record comms -- mpirun -n 4 "$P/comms" "$TMP/comms/data"
verdict "comms, status" "$([ $STATUS = 0 ] || echo "status $STATUS: $(said "$TMP/comms")")"
contract comms
lost_nothing comms
expect comms "members('*/data/world') == [0, 1, 2, 3] and members('*/data/copy') == [0, 1, 2, 3]" \
	"members('*/data/half0') == [2, 0] and members('*/data/half1') == [3, 1]" \
	"members('*/data/dup0') == [2, 0] and members('*/data/dup1') == [3, 1]" \
	"[members(f'*/data/quarter{r}') for r in range(4)] == [[r] for r in range(4)]" \
	"members('*/data/pair') == [3, 1] and members('*/data/group') == [0, 2]" "members('*/data/node') == [0, 1, 2, 3]" \
	"members('*/data/grid') == [0, 1, 2] and members('*/data/graph') == [0, 1]" \
	"members('*/data/again0') == [0, 1] and members('*/data/again1') == [2, 3]" \
	"[members(f'*/data/self{r}') for r in range(4)] == ['self'] * 4" \
	"[members(f'*/data/{n}') for n in ('either0', 'either1', 'merged')] == [None] * 3" \
	"written('MPI_File_write_at_all', path='*/data/*') == 0 and unknown('MPI_File_write_at_all') == 49" \
	"calls('MPI_File_open') == 49 and calls('MPI_Comm_split') == 16 and calls('MPI_Init') == 4 and good('MPI_Finalize') == 4" \
	"sum(layer_bytes('POSIX', '*/data/*')) == 49 * 4" \
	"'MPI_COMM_WORLD/MPI_Comm_split 1 color 0/MPI_Comm_dup 1/MPI_Comm_split 1 color 2' in comm_names"
