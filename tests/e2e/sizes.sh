#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Bytes of netCDF, PnetCDF and HDF5 operations, per layer, variable and dataset: against what the programs say of themselves in
# their first comments, and against what the files hold.
. "$(dirname "$0")/../lib/e2e.sh"

# sized NAME COMMAND...: records; fails unless all went well.
sized() {
	local name=$1
	[ -x "$P/${name%%.*}" ] || { skip "$name" "its library is not installed"; return 1; }
	fresh "$name" >/dev/null
	record "$name" -- "${@:2}"
	verdict "$name, status" "$([ $STATUS = 0 ] || echo "status $STATUS: $(said "$TMP/$name")")"
	contract "$name"
}

# objects NAME EXPRESSION...: true of the summary: layers and objects are dictionaries of counts by name, and by layer and name.
objects() {
	local text
	text=$(limited 60 "$PYTHON" "$TESTS/lib/objects.py" "$TMP/$1/trace/summary.json" "${@:2}" 2>&1) &&
		{ ok "$1, objects"; return 0; }
	not_ok "$1, objects" "$text"
}

WRITTEN="(written('nc_put_var_double'), written('nc_put_vara_int'), written('nc_put_vars_float'),
	written('nc_put_var1_short')) == (192, 20, 12, 2)"
WRITTEN2="((written('nc_put_vara'), written('nc_put_varm_double'), written('nc_put_vara_text'), written('nc_put_var1_double'))
	== (8, 48, 7, 8))"
WRITTEN3="(written('nc_put_vara_longlong'), written('nc_put_att_text'), written('nc_put_att_int'),
	written('nc_put_att_double')) == (24, 5, 12, 16)"
READ="(read('nc_get_var_double'), read('nc_get_var_int'), read('nc_get_vara_longlong')) == (192, 24, 16)"

if sized netcdf_sizes.classic "$P/netcdf_sizes" "$TMP/netcdf_sizes.classic/data/f.nc" classic; then
	expect netcdf_sizes.classic "$WRITTEN" "$WRITTEN2" "$WRITTEN3" "$READ" "unknown('nc_put_*') == 0" \
		"read('nc_get_var') == 24 + 24 and read('nc_get_vara_text') == 7 and unknown('nc_*') == 0" \
		"[c.attributes.get('variable') for c in select('nc_put_vara_int')] == ['count']" \
		"{c.attributes.get('variable') for c in select('nc_get_var')} == {'strip', 'log'}"
	objects netcdf_sizes.classic "objects['netCDF', 'grid']['bytes_written'] == 192 + 48 + 5 + 16" \
		"objects['netCDF', 'log']['bytes_read'] == 16 + 24" "objects['netCDF', 'strip']['bytes_read'] == 24" \
		"layers['netCDF']['bytes_written'] == 354 and layers['netCDF']['reads_of_unknown_size'] == 0"
fi

if sized netcdf_sizes.netcdf4 "$P/netcdf_sizes" "$TMP/netcdf_sizes.netcdf4/data/f.nc" netcdf4; then
	expect netcdf_sizes.netcdf4 "$WRITTEN" "$WRITTEN2" "$WRITTEN3" "$READ" "unknown('nc_put_*') == 0" \
		"read('nc_get_var') == 24 + 24 and read('nc_get_vara_text') == 7" \
		"unknown('nc_*') == unknown('H5Dwrite') == unknown('H5Dread') == 0" \
		"written('H5Dwrite') == 192 + 20 + 12 + 2 + 8 + 48 + 7 + 8 + 24" "read('H5Dread') == 192 + 24 + 16 + 24 + 24 + 7"
	objects netcdf_sizes.netcdf4 \
		"all(objects['HDF5', n]['bytes_written'] == objects['netCDF', n]['bytes_written']
			for n in ('count', 'strip', 'tag', 'log'))" \
		"objects['HDF5', 'grid']['bytes_read'] == 192 and objects['HDF5', 'grid/units']['bytes_written'] == 5"
fi

if sized hdf5_sizes "$P/hdf5_sizes" "$TMP/hdf5_sizes/data/f.h5"; then
	# as many bytes as the values have in the file: doubles that are read into float count 8 each
	expect hdf5_sizes "calls('H5Dwrite') == 11 and unknown('H5Dwrite') == 1" \
		"sorted(c.written for c in select('H5Dwrite')) == [0, 8, 16, 20, 40, 40, 40, 40, 48, 48, 192]" \
		"sorted(c.read for c in select('H5Dread')) == [0, 8, 8, 10, 80, 192, 192, 192] and unknown('H5Dread') == 1" \
		"written('H5Awrite') == 12 and read('H5Aread') == 12" \
		"set(h.name for c in select('H5Dwrite') for h in c.handles) >= set(('whole', 'rows', 'inner'))"
	objects hdf5_sizes "objects['HDF5', 'g/inner']['bytes_written'] == 8" \
		"objects['HDF5', 'words']['writes_of_unknown_size'] == 1"
	# every dataset was written once and whole: as many bytes as the file says
	if have h5dump; then
		limited 20 h5dump -p -H "$TMP/hdf5_sizes/data/f.h5" >"$TMP/hdf5_sizes/h5dump" 2>&1
		objects hdf5_sizes "in_file('$TMP/hdf5_sizes/h5dump') == {n: objects['HDF5', n]['bytes_written']
			for n in ('whole', 'rows', 'points',
			'grown', 'pairs', 'combined', 'g/inner')}"
	else
		skip "hdf5_sizes, file" "no h5dump"
	fi
fi

# what was asked and what was moved, in order
if sized hdf5_objects "$P/hdf5_objects" "$TMP/hdf5_objects/data/f.h5"; then
	expect hdf5_objects "([(c.asked, c.written) for c in select('H5Dwrite')]
		== [(4000, 4000), (32000, 32000), (8000, 4000), (400, 400)])" \
		"([(c.asked, c.read) for c in select('H5Dread')]
			== [(4000, 32000), (232, 232), (192, 192), (32, 32), (8000, 4000), (40, 40), (0, 0)])" \
		"unknown('H5Dread') == 1 and [(c.asked, c.read) for c in select('H5Aread')] == [(16, 16)]" \
		"all(h.file for c in select('H5*') for h in c.handles)"
fi

# Ids that iterations over two files pass: the file and the name that they are on, or neither.
if sized hdf5_iterated.ids "$P/hdf5_iterated" "$TMP/hdf5_iterated.ids/data" ids; then
	expect hdf5_iterated.ids "written('H5Dwrite') == 80 + 160 + 8000 + 16000 and unknown('H5Dwrite') == 0" \
		"[(c.asked, c.read) for c in select('H5Dread')][:6] == [(n, n) for n in (80, 160, 8000, 16000, 80, 160)]" \
		"[c.unknown for c in select('H5Dread')] == 6 * [0] + [1]" \
		"([h.file.name[-4:] for c in select('H5Dread')[:6] for h in c.handles]
			== 2 * ['a.h5'] + 2 * ['b.h5'] + 2 * ['a.h5'])" \
		"all(h.file is None or h.file.name.endswith('/b.h5') for h in select('H5Dread')[6].handles)" \
		"[(c.read, c.unknown) for c in select('H5Aread')] == [(0, 1), (0, 1), (4, 0), (0, 0)]"
fi
if sized hdf5_iterated.types "$P/hdf5_iterated" "$TMP/hdf5_iterated.types/data" types; then
	expect hdf5_iterated.types "written('H5Awrite') == 8 + 4 + 4 and written('H5Awrite', path='*/a.h5') == 4" \
		"all(h.file is None or h.file.name.endswith('/b.h5') for h in trace.handles if h.name == 'note')"
fi

# Reads of other files inside of nc_open belong to no header; with two files that begin like one nothing is known.
for mode in others twins; do
	sized headers.$mode "$P/headers" "$TMP/headers.$mode/data" $mode || continue
	[ $mode = others ] && known="read('nc_get_var') == 200 * (20 + 40) and unknown('nc_get_var') == 0" ||
		known="unknown('nc_get_var') == 400"
	expect headers.$mode "calls('nc_get_var') == 400 and $known"
done

# A call that was left by longjmp sends no contents any more.
if [ -x "$P/headers" ]; then
	fresh headers.jump >/dev/null
	record headers.jump --keep-spool -- "$P/headers" "$TMP/headers.jump/data" jump
	expect headers.jump "calls('nc_open') == abandoned('nc_open') == 1 and sum(c.read for c in select('read')) > 2 * 8192"
	# by offset and length: a part that is there twice was read by the program itself
	text=$(limited 60 "$PYTHON" "$TESTS/lib/spool.py" "$TMP/headers.jump/trace/spool" \
		"0 < len(records(CONTENTS)) == len({r[24:36] for r in records(CONTENTS)})" 2>&1)
	verdict "headers.jump, contents" "$text"
fi

have mpirun || { skip mpi "no mpirun"; exit 0; }

if sized pnetcdf mpirun -n 2 "$P/pnetcdf" "$TMP/pnetcdf/data/f.nc"; then
	expect pnetcdf "('POSIX', 'MPI-IO', 'PnetCDF') in chains('*/data/f.nc')" \
		"([written(f) for f in ('ncmpi_put_vara_double_all', 'ncmpi_put_var1_int_all', 'ncmpi_put_vara_all')]
			== [2 * 4 * 256, 8, 128])" \
		"written('ncmpi_put_vars_int') == 12" \
		"[c.written for c in select('ncmpi_put_varn_*', '*Rank 1')] == [12, 0, 64] and unknown('ncmpi_put_*') == 2" \
		"[c.written for c in select('ncmpi_mput_*', '*Rank 1')] == [96, 40, 8]" \
		"read('ncmpi_mget_var_int_all') == 2 * 640 * 2" \
		"written('ncmpi_iput_varn_int') == 2 * 20" \
		"written('ncmpi_put_att_text') == 10 and written('ncmpi_put_att_int') == 16" \
		"read('ncmpi_get_vara_double_all') == 2 * 512 and read('ncmpi_get_var_int_all') == 2 * (256 + 8)" \
		"written('ncmpi_put_vara_int_all') == 8 and unknown('ncmpi_*') == 2" \
		"calls('ncmpi_iput_vara_double') == 6 and calls('ncmpi_wait_all') == 12" \
		"written('ncmpi_iput_vara_double') == 2 * 3 * 64 and written('ncmpi_bput_vara_int') == 2 * 16" \
		"written('ncmpi_iput_vara_int') == 2 * 12 and read('ncmpi_iget_var1_int') == 2 * 8" \
		"written('ncmpi_iput_var1_int') == 2 * 4" \
		"trace.counts['IoOperationCancelled'] == 2 and trace.open_operations == 0" \
		"(calls('MPI_File_write_at_all', under='ncmpi_put_vara_double_all')
			+ calls('MPI_File_write_at', under='ncmpi_put_vara_double_all') == 8)" \
		"trace.creates['PnetCDF'] == 4 and trace.destroys['PnetCDF'] == 4 and failed('ncmpi_*') == 0"
	# "field" was written whole by ncmpi_put_vara_double_all
	if have ncdump; then
		shape=$(limited 20 ncdump -h "$TMP/pnetcdf/data/f.nc" | sed -n '/^dimensions/,/^variables/p' |
			awk 'BEGIN { n = 8 } $2 == "=" && $3 + 0 { n *= $3 } END { print n }')
		expect pnetcdf "written('ncmpi_put_vara_double_all') == $shape"
	fi
fi

# ncmpi_open as the first call of MPI-IO: the MPI library reads files of its own in it.
if sized pnetcdf.again mpirun -n 2 "$P/pnetcdf" "$TMP/pnetcdf/data/f.nc" again; then
	expect pnetcdf.again "read('ncmpi_get_vara_double_all') == 2 * 512 and read('ncmpi_get_var_int_all') == 2 * (256 + 8)" \
		"calls('ncmpi_create') == calls('MPI_File_write_at_all') == 0 and unknown('ncmpi_*') == 0"
fi

steps=5 points=4096
if sized parallel_nc mpirun -n 2 "$P/parallel_nc" "$TMP/parallel_nc/data/a.nc" $steps $points; then
	expect parallel_nc "layer_bytes('netCDF', '*/data/a.nc')[0] == read('H5Dread') == 2 * $steps * $points * 8" \
		"written('nc_put_vara_double') == written('H5Dwrite') == 2 * $steps * $points * 8" \
		"unknown('nc_*') == 0 and unknown('H5D*') == 0"
	objects parallel_nc "(objects['netCDF', 'field']['bytes_read'] == objects['HDF5', 'field']['bytes_read']
		== 2 * $steps * $points * 8)"
fi

# per operation, as the program asked
if sized collective mpirun -n 2 "$P/collective" "$TMP/collective/data/f"; then
	expect collective "([c.collective for c in select('H5Dwrite', path='*/f.h5', group='MPI Rank 0')]
		== [False, False, True, True, False])" \
		"[c.collective for c in select('H5Dread', path='*/f.h5', group='MPI Rank 1')] == [True, False]" \
		"([c.collective for c in select('nc_put_vara_int', path='*/f.nc', group='MPI Rank 1')]
			== [False, True, False, True, True])" \
		"[c.collective for c in select('H5Dwrite', path='*/f.nc', group='MPI Rank 1')] == [False, True, False, True, True]"
fi

# A data set that is a directory of files: they are below the netCDF handle, whose file is the directory.
nczarr() {
	if [ -x "$P/nczarr" ]; then
		fresh nczarr >/dev/null
		limited 20 "$P/nczarr" "$TMP/nczarr/data" >"$TMP/nczarr/alone" 2>&1
		[ $? != 4 ] || { skip nczarr "the netCDF library has no NCZarr: $(head -n 1 "$TMP/nczarr/alone")"; return; }
	fi
	sized nczarr "$P/nczarr" "$TMP/nczarr/data" || return
	expect nczarr "has_file('$TMP/nczarr/data/z.zarr') and not any('#' in f or '://' in f for f in files)" \
		"layer_bytes('netCDF', '$TMP/nczarr/data/z.zarr') == [400, 400]" \
		"prop('$TMP/nczarr/data/z.zarr', 'Mount Point') == prop('$TMP/nczarr/data/z.zarr/v/0', 'Mount Point') != [None]" \
		"len([h for h in trace.handles if h.file and '/z.zarr/' in h.file.name]) >= 10" \
		"({(h.parent and h.parent.file.name) for h in trace.handles if h.file and '/z.zarr/' in h.file.name}
			== {'$TMP/nczarr/data/z.zarr'})"
}
nczarr
