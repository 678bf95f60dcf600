# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
import sys
from mpi4py import MPI
comm = MPI.COMM_WORLD
f = MPI.File.Open(comm, sys.argv[1], MPI.MODE_CREATE | MPI.MODE_WRONLY)
for step in range(5):
    f.Write_at_all((step * comm.size + comm.rank) * 4096, bytearray(4096))
f.Close()
