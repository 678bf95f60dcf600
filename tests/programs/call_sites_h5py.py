# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Writes of a dataset from known lines: call_sites_h5py.py FILE. 4 rounds of 30, 10 and 20 from two lines of one function."""
import sys
import time

import h5py


def write_field(dataset, i):
    dataset[:] = i                      # @write


def outer(dataset):
    for i in range(10):
        write_field(dataset, i)         # @first
    for i in range(20):
        write_field(dataset, i)         # @second


with h5py.File(sys.argv[1], "w") as out:
    field = out.create_dataset("field", (64,), dtype="f8")
    for _ in range(4):
        time.sleep(0.15)
        outer(field)                    # @round
    time.sleep(0.15)
