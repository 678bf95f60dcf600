#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Unmodified programs from the distribution's packages: all layers seen, bytes as on disk.
. "$(dirname "$0")/../lib/e2e.sh"
INPUT=$TESTS/data

# program NAME NEEDED_COMMAND COMMAND...: runs in $TMP/NAME/data; sets DATA. Fails if the command is missing.
program() {
	local name=$1 needed=$2
	have "$needed" || { skip "$name" "$needed is not installed"; return 1; }
	fresh "$name" >/dev/null
	DATA=$TMP/$name/data
	cp "$INPUT"/* "$DATA"
	[ ! -e "$TMP/small.nc" ] || cp "$TMP/small.nc" "$DATA"
	cd "$DATA" || return 1
	record "$name" -- "${@:3}"
	cd "$TMP" || return 1
	verdict "$name, status" "$([ $STATUS = 0 ] || echo "status $STATUS: $(said "$TMP/$name")")"
	lost_nothing "$name"
	contract "$name"
}

# The same command in a directory with the same files, under strace.
again() {
	rm -rf "$DATA" && mkdir "$DATA" && cp "$INPUT"/* "$TMP/small.nc" "$DATA"
	cd "$DATA" && same_as_strace "$@"
	cd "$TMP" || return 1
}

size_of() { stat -c %s "$DATA/$1" 2>/dev/null || echo -1; }
has_module() { "$PYTHON" -c "import $1" >/dev/null 2>&1; }

if have ncgen; then
	ncgen -k nc4 -o "$TMP/small.nc" "$INPUT/small.cdl"
	if program nccopy nccopy nccopy -k nc4 -d 5 small.nc out.nc; then
		expect nccopy "calls('nc_open') == 1 and calls('nc_create') == 1 and calls('nc_close') == 2" \
			"calls('H5Dwrite') >= 1" \
			"layer_bytes('POSIX', '*/out.nc')[1] >= $(size_of out.nc)" \
			"('POSIX', 'HDF5', 'netCDF') in chains('*/out.nc')" \
			"trace.creates['netCDF'] == 2 and trace.destroys['netCDF'] == 2"
		again nccopy nccopy -k nc4 -d 5 small.nc out.nc
	fi
	program cdo cdo cdo -s -f nc4 copy small.nc out.nc &&
		expect cdo "layer_bytes('POSIX', '*/out.nc')[1] >= $(size_of out.nc)" \
		"('POSIX', 'HDF5', 'netCDF') in chains('*/out.nc')"
	program h5repack h5repack h5repack -f GZIP=3 small.nc out.h5 &&
		expect h5repack "calls('H5Fopen') >= 1 and calls('H5Fcreate') >= 1 and calls('H5Dwrite') >= 1" \
			"('POSIX', 'HDF5') in chains('*/out.h5')" &&
		again h5repack h5repack -f GZIP=3 small.nc out.h5
else
	skip nccopy "ncgen is not installed"
	skip cdo "ncgen is not installed"
	skip h5repack "ncgen is not installed"
fi

program meep meep mpirun -n 2 meep field.ctl &&
	expect meep "('POSIX', 'MPI-IO', 'HDF5') in chains('*.h5')" "calls('H5Dwrite') >= 2" "len(groups_with('H5Fcreate')) == 2" \
		"layer_bytes('POSIX', '*/field-eps-*.h5')[1] > 0"

if has_module mpi4py; then
	program mpi4py mpirun mpirun -n 2 "$PYTHON" write_at_all.py out.bin &&
		expect mpi4py "[calls('MPI_File_write_at_all', f'MPI Rank {r}*') for r in range(2)] == [5, 5]" \
			"layer_bytes('POSIX', '*/out.bin')[1] == 40960" "('POSIX', 'MPI-IO') in chains('*/out.bin')"
else
	skip mpi4py "no mpi4py"
fi
if has_module h5py && has_module mpi4py; then
	program h5py mpirun mpirun -n 2 "$PYTHON" parallel_h5.py out.h5 &&
		expect h5py "calls('H5Dwrite') == 2" "('POSIX', 'MPI-IO', 'HDF5') in chains('*/out.h5')" \
			"layer_bytes('POSIX', '*/out.h5')[1] >= 16000"
else
	skip h5py "no h5py with MPI"
fi

# LAMMPS writes by MPI-IO; releases of 2024 and later do so by PnetCDF only.
if have lmp && lmp -help 2>/dev/null | grep -q netcdf/mpiio; then
	program lammps lmp mpirun -n 2 lmp -in lammps.in -log none -var restart restart.bin -var dump \
		'netcdf/mpiio 5 dump.nc id x y z' &&
		expect lammps "len(groups_with('ncmpi_*')) == 2" \
		"layer_bytes('POSIX', '*/dump.nc')[1] >= $(($(size_of dump.nc) * 9 / 10))" \
			"('POSIX', 'MPI-IO', 'PnetCDF') in chains('*/dump.nc')" "has_file('*/restart.bin')"
else
	program lammps lmp mpirun -n 2 lmp -in lammps.in -log none -var restart restart.mpiio -var dump 'atom/mpiio 5 dump.mpiio' &&
		expect lammps "len(groups_with('MPI_File_*')) == 2" \
		"layer_bytes('POSIX', '*/dump.mpiio')[1] >= $(size_of dump.mpiio)" \
			"has_file('*/restart.mpiio')"
fi

program fio fio fio --name=a --filename=out.bin --size=1M --bs=4k --rw=write --ioengine=psync --end_fsync=1 --output=/dev/null &&
	expect fio "calls('pwrite64', path='*/out.bin') == 256 and written('pwrite64', path='*/out.bin') == 1048576" \
		"offsets('pwrite64', path='*/out.bin') == [4096 * i for i in range(256)]" \
		"calls('fsync') >= 1"

head -c 3000000 /dev/zero >"$TMP/big"
program cp cp cp "$TMP/big" copy &&
	expect cp "layer_bytes('POSIX', '*/copy')[1] == 3000000" "layer_bytes('POSIX', '$TMP/big')[0] == 3000000"

program python "$PYTHON" "$PYTHON" -c "
with open('out.txt', 'w') as f:
    for i in range(1000): f.write('%d\n' % i)
print(open('out.txt').read().count('\n'))" &&
	expect python "layer_bytes('POSIX', '*/out.txt') == [3890, 3890]"

program pipeline sort sh -c 'seq 1 20000 | sort -rn >sorted; tail -n 1 sorted' &&
	expect pipeline "layer_bytes('POSIX', '*/sorted')[1] == 108894" "len(groups_with('write')) >= 2"
