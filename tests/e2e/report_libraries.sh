#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# ioprobe report: planted mistakes in HDF5 and netCDF, as in report.sh: a suite of its own, so that each stays within a
# suite's time limit.
# alone: which of a program's lines cost most is compared, and a call that another suite delays costs more.
. "$(dirname "$0")/../lib/e2e.sh"
. "$(dirname "$0")/../lib/report.sh"

if [ -x "$P/planted_hdf5" ]; then
	planted X05 fill fill.h5 - -- "$P/planted_hdf5"
	planted X06 chunks chunks.h5 - -- "$P/planted_hdf5"
	planted X20 strided strided.h5 - -- "$P/planted_hdf5"
	planted X21 bypass bypass.h5 - -- "$P/planted_hdf5"
	verdict "bypass, cause" "$(check_report bypass is "finding('X20')['cause'] == 'X21'" \
		"any(s['name'] == 'HDF5 field: Chunk Cache' and s['value'] == '1048576' for s in finding('X21')['settings'])")"
	verdict "fill, by facts" "$(check_report fill is "finding('X05')['confidence'] == 'measured'")"
	planted X23 attributes attributes.h5 - note -- "$P/planted_hdf5"
	planted X33 compressed packed.h5 - note -- "$P/planted_hdf5"    # always a note
	twins hdf5 -- "$P/planted_hdf5"
else
	skip hdf5 "no serial HDF5"
fi
if [ -x "$P/planted_netcdf" ]; then
	planted X13 header header.nc - -- "$P/planted_netcdf"
	planted X14 define define.nc - -- "$P/planted_netcdf"
	twins netcdf -- "$P/planted_netcdf"
else
	skip netcdf "no serial netCDF"
fi
