# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# The variables of snippets for h5py.
import h5py
import numpy

path, first_row, rows, columns = "advice.h5", 0, 8, 16
values = numpy.zeros((rows, columns))
with h5py.File(path, "w") as file:
    file.create_dataset("field", (rows, columns), "f8")
file = h5py.File(path, "r+")
dset = file["field"]
