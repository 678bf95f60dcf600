#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Filters: they keep what was asked for; recorded and excluded calls together are all calls that strace sees.
. "$(dirname "$0")/../lib/e2e.sh"

# All system calls of the table. strace knows those of this machine only: unknown names end it.
SYSCALLS=$(awk '/^[a-z_0-9]+ / && !/^layer/ { printf "%s?%s", n++ ? "," : "", $1 }' "$TESTS/../probes/posix.probes")

# filtered NAME PROGRAM OPTION... -- EXPRESSION...: PROGRAM on $TMP/NAME/data, as ioprobe with the options and strace see it.
filtered() {
	local name=$1 program=$2 dir options=() text
	shift 2
	while [ "$1" != -- ]; do options+=("$1"); shift; done
	shift
	dir=$TMP/$name
	rm -rf "$dir/data" && mkdir -p "$dir/data"
	record "$name" "${options[@]}" -- "$P/$program" "$dir/data"
	verdict "$name, status" "$([ $STATUS = 0 ] || echo "status $STATUS: $(said "$dir")")"
	contract "$name" || return
	expect "$name" "$@"
	rm -rf "$dir/data" && mkdir "$dir/data"
	limited 90 strace -f -qq -o "$dir/strace.log" -e "trace=$SYSCALLS" "$P/$program" "$dir/data" >/dev/null \
		2>"$dir/strace.err" </dev/null
	text=$("$PYTHON" "$TESTS/lib/left_out.py" "$dir/trace/summary.json" "$dir/strace.log" 2>&1)
	verdict "$name, recorded and excluded as strace" "$text"
}

# at NAME FILE: where the program will make it; a filter by path may name what is not there yet.
at() { echo "$TMP/$1/data/$2"; }

filtered all writes4000 -- "calls('write') == 4000"

filtered path writes4000 --path "$(at path thread0),$(at path child)" -- "calls('write') == 2000" "written('write') == 128000" \
	"[calls('write', path='*/data/' + f) for f in ('main', 'thread0', 'thread1', 'child')] == [0, 1000, 0, 1000]" \
	"calls('openat', path='*/data/*') == 2 and not has_file('*/data/main')"

filtered exclude writes4000 --path "$TMP/exclude" --exclude-path "$(at exclude main)" -- "calls('write') == 3000" \
	"not has_file('*/data/main') and not has_file('*/libc.so*')" "calls('close') == 3"

# A prefix ends at a border of names, and symbolic links to it are followed.
ln -sfn "$TMP" "$TMP/link"
filtered border writes4000 --path "$TMP/link/border/data/thread" --path "$TMP/link/border/data/../data/main" -- \
	"calls('write') == 1000" \
	"calls('write', path='*/data/main') == 1000"

# Descriptors of excluded files are duplicated and replace each other; what ends a known handle is recorded.
filtered dup_other dup_inherit --path "$(at dup_other other)" -- "calls('write') == 0" "calls('dup2') == 1" \
	"has_file('*/data/other')"
filtered dup_file dup_inherit --path "$(at dup_file file)" -- "calls('write', path='*/data/file') == 10" "trace.duplicates == 6"

filtered kinds fork_exec --fd-kinds regular -- "calls('write', path='*/data/shared') == 65" "calls('pipe*') == 0"
filtered no_files fork_exec --fd-kinds pipe,socket -- "calls('write', path='*/data/*') == 0"

filtered copies copies --path "$(at copies b)" -- "layer_bytes('POSIX', '*/data/b') == [0, 40960]" \
	"layer_bytes('POSIX', '*/data/c') == [0, 0]"

filtered small writes4000 --min-bytes 65 -- "calls('write') == 0" "calls('openat', path='*/data/*') == 4" "calls('close') >= 4"
filtered large writes4000 --min-bytes 64 -- "calls('write') == 4000"
filtered short writes4000 --min-duration 10s -- "calls('write') == 0 and calls('read') == 0" "calls('openat', path='*/data/*') == 4"
filtered failed failures --min-bytes 1000 -- "failed('write') == 2 and calls('write') == 2"

filtered counted streams --stream-calls count -- "calls('write', under='fwrite') >= 1" \
	"calls('fopen') == 2 and calls('fclose') == 2" \
	"calls('fputc') == 0" "calls('fwrite') < 200" "calls('fflush') == 1 and calls('fseek') == 2"

# counts NAME FILTER LAYER EXPRESSION: of the summary's entry e for what a filter excluded of a layer.
counts() { verdict "$1, counts" "$("$PYTHON" "$TESTS/lib/left_out.py" "$TMP/$1/trace/summary.json" "${@:2}" 2>&1)"; }
counts small --min-bytes POSIX "e['calls'] >= 4000 and e['bytes_written'] == 256000"
counts small --min-bytes POSIX "sorted(p['bytes_written'] for p in processes) == [64000, 192000]"
counts path --path POSIX "e['bytes_written'] == 128000 and e['time_ns'] > 0"

counts counted --stream-calls ISOC "e['calls'] > 300 and e['calls_of_unknown_size'] > 0 and e['bytes_written'] > 10000"

# Layers: no probe is placed for the others.
layers() {
	fresh "$1" >/dev/null
	record "$1" --layers "$2" -- "$P/streams" "$TMP/$1/data"
	contract "$1" && expect "$1" "${@:3}"
}
layers posix_only POSIX "calls('fwrite') == 0" "calls('write', path='*/data/stream') >= 1"
layers streams_only isoc "calls('fwrite') == 200 and calls('fopen') == 2" "calls('write') == 0 and calls('openat') == 0"
verdict "streams_only, share of system calls" \
	"$(grep -q '^ISOC .* unknown$' "$TMP/streams_only/out" || cat "$TMP/streams_only/out")"
verdict "streams_only, reported" "$(grep -q 'not recorded: .*POSIX.*(--layers isoc)' "$TMP/streams_only/out" ||
	cat "$TMP/streams_only/out")"

# Without system calls a library that is loaded later is still found.
late() {
	local lib
	lib=$(ldconfig -p | awk '/libhdf5_serial\.so|libhdf5\.so/ { print $NF; exit }')
	[ -n "$lib" ] || { skip late "no serial HDF5 library"; return; }
	fresh late >/dev/null
	record late --layers hdf5 -- "$P/dlopen_hdf5" "$TMP/late/data" "$lib"
	contract late && expect late "[calls(f) for f in ('H5Fcreate', 'H5Dcreate2', 'H5Dwrite')] == [5, 5, 5]" \
		"calls('write*') + calls('fwrite') == 0"
}
late

# Of a running process only the wanted descriptors are adopted, and only they are recorded from then on.
running() {
	local dir pid recorder
	dir=$(fresh running)
	"$P/already_running" "$dir/data" 2>"$dir/program.err" & pid=$!
	wait_for_file "$dir/data/ready" || { end_of $pid 1; not_ok running "the program did not start"; return; }
	"$IOPROBE" --pid $pid --path "$dir/data/fd" -o "$dir/trace" --summary "$dir/out" >"$dir/stdout" 2>"$dir/err" & recorder=$!
	wait_for_line "$dir/err" recording 30
	touch "$dir/data/go"
	end_of $pid 30
	end_of $recorder 30
	contract running && expect running "calls('write', path='*/data/fd') == 25" "calls('write') == 25" \
		"precreated('*/data/fd') == 1" \
		"precreated('*/data/thread') == 0 and precreated('*/data/stream') == 0" "calls('fwrite') == 25"
	counts running --path POSIX "e['calls'] >= 50 and e['bytes_written'] > 0"
}
running

# Parallel handles keep their communicators.
mpi_only() {
	have mpirun || { skip mpi_only "no mpirun"; return; }
	fresh mpi_only >/dev/null
	record mpi_only --layers mpi-io -- mpirun -n 2 "$P/mpiio" "$TMP/mpi_only/data/m"
	verdict "mpi_only, status" "$([ $STATUS = 0 ] || echo "status $STATUS: $(said "$TMP/mpi_only")")"
	contract mpi_only && expect mpi_only "calls('MPI_File_open') == 2 and calls('MPI_File_write_at_all') == 10" \
		"calls('pwrite*') + calls('openat') + calls('fopen') == 0" \
		"sorted({c.group for c in trace.calls if c.name == 'MPI_File_open'}) == ['MPI Rank 0', 'MPI Rank 1']"
}
mpi_only

# refused OPTION VALUE PATTERN: a usage error in one line, status 2, nothing made.
refused() {
	limited 20 "$IOPROBE" "$1" "$2" -o "$TMP/refused" -- true >"$TMP/refused.out" 2>"$TMP/refused.err"
	verdict "refused $1 $2" "$([ $? != 0 ] && grep -q -- "$3" "$TMP/refused.err" && [ ! -e "$TMP/refused" ] ||
		head -n 2 "$TMP/refused.err")"
}
refused --layers posix,nfs "no layer 'nfs'"
refused --fd-kinds tape "unknown kind 'tape'"
refused --min-duration 5 "not a time with a unit"
refused --min-bytes -1 "not a number of bytes"
refused --path '' "cannot be used"
