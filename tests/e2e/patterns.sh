#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# The access patterns of IOR, mdtest and h5bench, by programs of our own: calls and bytes equal to their parameters.
. "$(dirname "$0")/../lib/e2e.sh"

have mpirun || { skip patterns "no mpirun"; exit 0; }

# pattern NAME PROGRAM ARGUMENT...: two ranks; fails unless all went well.
pattern() {
	fresh "$1" >/dev/null
	record "$1" $OPTIONS -- mpirun -n 2 "$P/$2" "${@:3}"
	verdict "$1, status" "$([ $STATUS = 0 ] || echo "status $STATUS: $(said "$TMP/$1")")"
	contract "$1"
	lost_nothing "$1"
}

segments=3 block=65536 transfer=16384
n=$((2 * segments * block / transfer)) bytes=$((2 * segments * block))

# ior API WRITE READ: the functions that move the data; each transfer has its own offset.
ior() {
	local file=$TMP/$1/data/f
	OPTIONS= pattern "$1" ior "$1" "$file" $segments $block $transfer
	expect "$1" "calls('$2', path='$file') == calls('$3', path='$file') == $n and unknown('$2') == unknown('$3') == 0" \
		"written('$2', path='$file') == read('$3', path='$file') == $bytes" \
		"{c.asked for f in ('$2', '$3') for c in select(f, path='$file')} == {$transfer}" "${@:4}"
}

# offsets of a file that are its transfers, each once
covers() { echo "sorted(offsets('$1', path='$TMP/$2/data/f')) == list(range(0, $bytes, $transfer))"; }

ior POSIX pwrite64 pread64 "$(covers pwrite64 POSIX)" "$(covers pread64 POSIX)"
ior AIO aio_write aio_read "$(covers aio_write AIO)" "$(covers aio_read AIO)" "trace.open_operations == 0"
ior MPIIO MPI_File_write_at MPI_File_read_at "$(covers MPI_File_write_at MPIIO)" "not any(c.collective for c in select('MPI_File_*'))"
ior MPIIO-C MPI_File_write_at_all MPI_File_read_at_all "$(covers MPI_File_write_at_all MPIIO-C)" \
	"all(c.collective for c in select('MPI_File_*_at_all'))"
ior HDF5 H5Dwrite H5Dread "not any(c.collective for c in select('H5D*'))"
if limited 20 "$P/ior" 2>&1 | grep -q PNETCDF; then
	ior PNETCDF ncmpi_put_vara_schar_all ncmpi_get_vara_schar_all "all(c.collective for c in select('ncmpi_*_vara_schar_all'))"
else
	skip PNETCDF "no PnetCDF library"
fi
OPTIONS=--mmap-faults pattern MMAP ior MMAP "$TMP/MMAP/data/f" $segments $block $transfer
expect MMAP "calls('msync') == 2 and has_file('$TMP/MMAP/data/f')" "calls('pwrite64', path='*/data/f') == calls('write', path='*/data/f') == 0"

files=20
OPTIONS= pattern mdtest mdtest "$TMP/mdtest/data" $files 3901
own="path='$TMP/mdtest/data/rank.?/f.*'"
expect mdtest "calls('write', $own) == calls('read', $own) == 2 * $files" "written('write', $own) == read('read', $own) == 2 * $files * 3901" \
	"calls('openat', $own) + calls('open', $own) == 4 * $files" \
	"len([d for d in trace.deletes if '/mdtest/data/rank.' in d]) == 2 * $files + 2"

steps=2 particles=1000
# h5bench MEMORY FILE CALLS BYTES: per rank and step; BYTES of each call.
h5bench() {
	local name=h5bench.$1.$2
	OPTIONS= pattern "$name" h5bench "$1" "$2" "$TMP/$name/data/f.h5" $steps $particles
	expect "$name" "calls('H5Dwrite') == calls('H5Dread') == 2 * $steps * $3" \
		"{(c.asked, c.written) for c in select('H5Dwrite')} == {(c.asked, c.read) for c in select('H5Dread')} == {($4, $4)}" \
		"unknown('H5D*') == 0"
}
h5bench CONTIG CONTIG 8 $((4 * particles))
h5bench INTERLEAVED CONTIG 8 $((4 * particles))
h5bench INTERLEAVED INTERLEAVED 1 $((32 * particles))
