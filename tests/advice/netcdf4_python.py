# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# The variables of snippets for netCDF4-python.
import netCDF4
import numpy

first_row, rows, columns = 0, 8, 16
values = numpy.zeros((rows, columns))
dataset = netCDF4.Dataset("advice.nc", "w")
dataset.createDimension("row", rows)
dataset.createDimension("column", columns)
variable = dataset.createVariable("field", "f8", ("row", "column"))
