# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
import sys
from mpi4py import MPI
import h5py
rank, ranks = MPI.COMM_WORLD.rank, MPI.COMM_WORLD.size
with h5py.File(sys.argv[1], "w", driver="mpio", comm=MPI.COMM_WORLD) as f:
    d = f.create_dataset("values", (ranks * 1000,), dtype="f8")
    d[rank * 1000:(rank + 1) * 1000] = rank
