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

# sums NAME PATH LAYER CALLS BYTES: reads and writes of files (a pattern) in the summary: as many of each, BYTES in all.
sums() {
	local text
	text=$(limited 60 "$PYTHON" - "$TMP/$1/trace/summary.json" "${@:2}" 2>&1 <<-'END'
		import fnmatch, json, sys
		path, layer, calls, size = sys.argv[2], sys.argv[3], int(sys.argv[4]), int(sys.argv[5])
		files = [f for f in json.load(open(sys.argv[1]))["files"] if fnmatch.fnmatchcase(f["path"] or "", path)]
		parts = [l for f in files for l in f["layers"] if l["name"] == layer]
		found = [sum(part[key] for part in parts) for key in ("reads", "writes", "bytes_read", "bytes_written")]
		print(found if found != [calls, calls, size, size] else "", end="")
	END
	)
	verdict "$1, summary of ${2##*/} in $3" "$text"
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
	case $1 in
	POSIX) sums "$1" "$file" POSIX $n $bytes ;;
	MPIIO*) sums "$1" "$file" MPI-IO $n $bytes ;;
	HDF5 | PNETCDF) sums "$1" "$file" "${1/PNETCDF/PnetCDF}" $n $bytes ;;
	esac
}

# offsets of a file that are its transfers, each once
covers() { echo "sorted(offsets('$1', path='$TMP/$2/data/f')) == list(range(0, $bytes, $transfer))"; }

ior POSIX pwrite64 pread64 "$(covers pwrite64 POSIX)" "$(covers pread64 POSIX)"
ior AIO aio_write aio_read "$(covers aio_write AIO)" "$(covers aio_read AIO)" "trace.open_operations == 0"
ior MPIIO MPI_File_write_at MPI_File_read_at "$(covers MPI_File_write_at MPIIO)" \
	"not any(c.collective for c in select('MPI_File_*'))"
ior MPIIO-C MPI_File_write_at_all MPI_File_read_at_all "$(covers MPI_File_write_at_all MPIIO-C)" \
	"all(c.collective for c in select('MPI_File_*_at_all'))"
ior HDF5 H5Dwrite H5Dread "not any(c.collective for c in select('H5D*'))"
if limited 20 "$P/ior" 2>&1 | grep -q PNETCDF; then
	ior PNETCDF ncmpi_put_vara_schar_all ncmpi_get_vara_schar_all "all(c.collective for c in select('ncmpi_*_vara_schar_all'))"
else
	skip PNETCDF "no PnetCDF library"
fi
OPTIONS=--mmap-faults pattern MMAP ior MMAP "$TMP/MMAP/data/f" $segments $block $transfer
expect MMAP "calls('msync') == 2 and has_file('$TMP/MMAP/data/f')" \
	"calls('pwrite64', path='*/data/f') == calls('write', path='*/data/f') == 0"

# The file is open before the recording begins: the calls are collective all the same, and no byte is missing.
attached() {
	local dir file pid recorder
	dir=$(fresh attached)
	file=$dir/data/f
	mpirun -n 2 "$P/ior" MPIIO-C "$file" $segments $block $transfer w >"$dir/program.out" 2>&1 & pid=$!
	if ! wait_for_file "$file.ready"; then
		end_of $pid 1
		not_ok attached "the program did not start: $(tail -n 3 "$dir/program.out")"
		return
	fi
	"$IOPROBE" --pid $pid -o "$dir/trace" --summary "$dir/out" >"$dir/stdout" 2>"$dir/err" & recorder=$!
	wait_for_line "$dir/err" 'recording' 60
	touch "$file.go"
	end_of $pid 60
	verdict "attached, program" "$([ $STATUS = 0 ] || echo "status $STATUS: $(tail -n 3 "$dir/program.out")")"
	end_of $recorder 60
	verdict "attached, status" "$([ $STATUS = 0 ] || echo "status $STATUS: $(said "$dir")")"
	contract attached
	expect attached "calls('MPI_File_write_at_all') == calls('MPI_File_read_at_all') == $n" \
		"written('MPI_File_write_at_all') == read('MPI_File_read_at_all') == $bytes" \
		"all(c.collective for c in select('MPI_File_*_at_all')) and precreated('$file') >= 2" "members('$file') is None"
	lost_nothing attached
}
attached

files=21
OPTIONS= pattern mdtest mdtest "$TMP/mdtest/data" $((files / 7)) 3901 2 2
files=$((files / 7 * 7))        # in 1 + 2 + 4 directories for each rank
own="path='$TMP/mdtest/data/rank.?/*'"
expect mdtest "calls('write', $own) == calls('read', $own) == 2 * $files" \
	"written('write', $own) == read('read', $own) == 2 * $files * 3901" \
	"calls('openat', $own) + calls('open', $own) == 4 * $files" \
	"len([d for d in trace.deletes if '/mdtest/data/rank.' in d]) == 2 * $files + 2 * 7" \
	"named('mkdir*', '$TMP/mdtest/data/*')[:2] == [2 * 7, 0]" "named('rmdir', '$TMP/mdtest/data/*')[:2] == [2 * 7, 0]" \
	"named('*stat*', '$TMP/mdtest/data/*')[:2] == [2 * $files, 0]"
sums mdtest "$TMP/mdtest/data/rank.?/*" POSIX $((2 * files)) $((2 * files * 3901))

steps=2 particles=1000
# h5bench MEMORY FILE CALLS BYTES: per rank and step; BYTES of each call.
h5bench() {
	local name=h5bench.$1.$2${CHUNK:+.chunked}
	OPTIONS= pattern "$name" h5bench "$1" "$2" "$TMP/$name/data/f.h5" $steps $particles ${CHUNK:-}
	expect "$name" "calls('H5Dwrite') == calls('H5Dread') == 2 * $steps * $3" \
		"({(c.asked, c.written) for c in select('H5Dwrite')} == {(c.asked, c.read) for c in select('H5Dread')}
			== {($4, $4)})" \
		"unknown('H5D*') == 0 and {c.collective for c in select('H5D[rw]*')} == {${CHUNK:-0} > 0}"
	sums "$name" "$TMP/$name/data/f.h5" HDF5 $((2 * steps * $3)) $((2 * steps * $3 * $4))
}
h5bench CONTIG CONTIG 8 $((4 * particles))
h5bench INTERLEAVED CONTIG 8 $((4 * particles))
h5bench INTERLEAVED INTERLEAVED 1 $((32 * particles))
# Chunked and collective: the same bytes.
CHUNK=$((particles / 4)) h5bench CONTIG CONTIG 8 $((4 * particles))

# One recording of several launches: strided, at random, read by the neighbour; a file for each rank; collective HDF5 at random.
fresh variants >/dev/null
variants=$TMP/variants/data
n=$((2 * 12)) bytes=$((2 * 12 * transfer))
record variants -- sh -c "for v in 'POSIX $variants/strided 12 $transfer $transfer Cz' \
	'POSIX $variants/own 3 $((4 * transfer)) $transfer F' 'MPIIO-C $variants/own_mpi 3 $((4 * transfer)) $transfer F' \
	'HDF5-C $variants/hdf5 3 $((4 * transfer)) $transfer z'; do mpirun -n 2 '$P/ior' \$v || exit; done"
verdict "variants, status" "$([ $STATUS = 0 ] || echo "status $STATUS: $(said "$TMP/variants")")"
contract variants
lost_nothing variants
# offsets of one rank, in the order of its calls
of_rank="[o for c in select('%s', '*Rank %d*', path='$variants/strided') for o in c.offsets]"
expect variants "sorted(offsets('pwrite64', path='$variants/strided')) == list(range(0, $bytes, $transfer))" \
	"sorted($(printf "$of_rank" pwrite64 0)) == list(range(0, $bytes, 2 * $transfer)) != $(printf "$of_rank" pwrite64 0)" \
	"sorted($(printf "$of_rank" pread64 0)) == sorted($(printf "$of_rank" pwrite64 \
		1)) == list(range($transfer, $bytes, 2 * $transfer))" \
	"([offsets(f, path='$variants/own.%d' % r) for f in ('pwrite64', 'pread64') for r in (0, 1)]
		== [list(range(0, 12 * $transfer, $transfer))] * 4)" \
	"[calls('MPI_File_write_at_all', path='$variants/own_mpi.%d' % r) for r in (0, 1)] == [12, 12]" \
	"calls('H5Dwrite') == calls('H5Dread') == $n and unknown('H5D*') == 0 and all(c.collective for c in select('H5D[rw]*'))"
sums variants "$variants/strided" POSIX $n $bytes
sums variants "$variants/own.?" POSIX $n $bytes
sums variants "$variants/own_mpi.?" MPI-IO $n $bytes
sums variants "$variants/hdf5" HDF5 $n $bytes
