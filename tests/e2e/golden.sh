#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Programs whose calls are known exactly, launched by ioprobe: contract, expected counts, nothing lost, and the same system calls as
# strace sees in a separate run.
. "$(dirname "$0")/../lib/e2e.sh"

# golden NAME EXPRESSION...: the program NAME with a folder for its files.
golden() {
	local name=$1 data
	fresh "$name" >/dev/null
	data=$TMP/$name/data
	record "$name" -- "$P/$name" "$data"
	verdict "$name, status" "$([ $STATUS = 0 ] || echo "status $STATUS: $(said "$TMP/$name")")"
	contract "$name" || return
	expect "$name" "${@:2}"
	lost_nothing "$name"
	rm -rf "$data" && mkdir "$data"
	same_as_strace "$name" "$P/$name" "$data"
}

# site NAME ARGUMENT EXPRESSION...: a program on libnest, with its own table.
site() {
	local name=$1 arg=$2
	fresh "$name" >/dev/null
	record "$name" --probes "$TESTS/programs/nest.probes" -- "$P/$name" ${arg:+"${arg/DATA/$TMP/$name/data}"}
	contract "$name" && expect "$name" "${@:3}"
}

# costs NAME [no-sites]: what recording costs is in the archive and the summary, in parts, and follows from the calls. Returns 2 if
# the machine was too slow to measure all of it; then UNKNOWN is empty if only the part of call sites is missing.
costs() {
	local text status
	text=$(limited 60 "$PYTHON" "$TESTS/lib/recorder_costs.py" "$TMP/$1/trace/traces.otf2" "$TMP/$1/trace/summary.json" \
		"${2:-sites}" 2>&1)
	status=$?
	UNKNOWN=$text
	[ "$status" = 2 ] && return 2
	verdict "$1, costs of recording" "$([ "$status" = 0 ] || echo "${text:-status $status}")"
}

# measured NAME [OPTION [no-sites]]: the same of a program; again where not all was measured.
measured() {
	local try
	for try in 1 2 3 4 5 6 7 8; do
		fresh "$1" >/dev/null
		record "$1" ${2:+"$2"} -- "$P/fork_exec" "$TMP/$1/data"
		costs "$1" "${3:-}" && return
	done
	if [ -n "$SANITIZED" ] && [ -z "$UNKNOWN" ]; then
		skip "$1, costs of recording" "a sanitized parser is too slow for the part of call sites; the others are right"
	else
		not_ok "$1, costs of recording" "not measured in any of $try recordings: ${UNKNOWN:-call sites}"
	fi
}

golden writes4000 "calls('write', path='*/data/*') == 4000" "calls('write') == 4000" "written('write') == 256000" \
	"[written('write', path='*/data/' + f) for f in ('main', 'thread0', 'thread1', 'child')] == [64000] * 4" \
	"alive() == len(trace.locations) == 4" "locations_with('write') == 4" "len(groups_with('write')) == 2" \
	"calls('openat', path='*/data/*') == 4" \
	"failed('write') == 0" "sorted(calls('write', g) for g in groups_with('write')) == [1000, 3000]"

golden fork_exec "calls('write', path='*/data/shared') == 65" "written('write') == 2080" "failed('write') == 2" \
	"len(groups_with('write')) == 3" "layer_bytes('POSIX', '*/data/shared') == [0, 2080]" "has_file('*/data/private')" \
	"programs('*') == ['exe', 'exe', 'fork_exec'] and alive() == len(trace.locations) == 3"

golden failures "failed('write') == 2" "calls('write') == 3" "failed('read') == 1" "failed('close') == 1" "failed('unlink') == 1" \
	"failed('lseek') == 1" "calls('fopen') == 1 and failed('fopen') == 1" "len(deletes) == 0" \
	"[c.attributes.get('errno') for c in trace.calls if c.name == 'write' and c.failed] == [9, 9]" \
	"[c.attributes.get('errno') for c in trace.calls if c.name == 'openat' and c.failed][-4:] == [2, 2, 17, 2]" \
	"layer_bytes('POSIX', '*/data/file') == [0, 5]"

# Two writes have no open file that they could be operations on.
summary_is failures \
	"[layer('POSIX')[n] for n in ('reads_failed', 'writes', 'writes_of_known_size', 'writes_failed')] == [1, 1, 1, 0]" \
	"[layer('POSIX')['classes']['write'][n] for n in ('calls', 'failed')] == [3, 2] and s['sizes_unknown'] == 0"

golden lookups "[failed('openat', path=None), calls('fopen'), failed('fopen')] == [failed('openat'), 1, 1]" \
	"[named('openat', '*/data/' + d + '/*') for d in 'abc'] == [[400, 400, 100], [350, 350, 50], [251, 251, 251]]" \
	"([named(f, '*/data/c/*') for f in ('newfstatat', 'access', 'unlinkat', 'renameat', 'fopen')]
		== [[2, 1, 2], [2, 1, 2], [2, 1, 2], [1, 1, 1], [1, 1, 1]])" \
	"named('faccessat*', '*/data/c/*') == [2, 1, 2]" "named('mkdir', '*/data/?') == [3, 0, 3]" \
	"named('mkdirat', '*/data/b/../b') == [1, 1, 1]" \
	"[c.attributes['new path'] for c in select('renameat')] == ['moved']" \
	"[c.attributes['new directory'][-7:] for c in select('renameat')] == ['/data/b']" \
	"named('rename', '*/data/a') == [1, 0, 1]" "[c.attributes['new path'][-7:] for c in select('rename')] == ['/data/z']" \
	"not has_file('*missing*') and not has_file('*absent*')" \
	"'path' not in select('openat', path='*/data/c/here')[0].attributes"
summary_is lookups "[(d['calls'], d['failed'], d['paths'], d['paths_failed']) for d in s['names']['directories']
		if d['path'].endswith(('/data/a', '/data/b', '/data/c'))] == [
	  (400, 400, 100, 100), (350, 350, 50, 50), (260, 256, 252, 251)]" "s['names']['paths_unknown'] == 0"
grep -q "^calls on names .*/data/a 400, .*/data/b 350, .*/data/c 256)" "$TMP/lookups/out" && ok "lookups, text" ||
	not_ok "lookups, text" "$(grep '^calls on names' "$TMP/lookups/out")"

golden dup_inherit "calls('write', path='*/data/file') == 10" "written('write') == 100" "trace.duplicates == 6" \
	"calls('dup') == 1 and calls('dup2') == 2 and calls('dup3') == 1 and good('fcntl') == 2" \
	"calls('write', path='*/data/other') == 0"

golden signals "calls('write', path='*/data/handler') == 52" "written('write', path='*/data/handler') == 416" \
	"calls('fwrite') == 50" \
	"written('fwrite') == 800" "failed('read') == 2"

golden deleted "written('write') == 1500" "calls('write', path='*/data/gone') == 5" \
	"any(d.endswith('/data/gone') for d in deletes)" \
	"calls('rename') == 1 and calls('mkdir') == 1 and calls('rmdir') == 1"

golden locks "trace.counts['IoAcquireLock'] == 7" "trace.counts['IoReleaseLock'] == 7" "trace.counts['IoTryLock'] == 3" \
	"created('*/data/made') == [[3, 0]] and created('*/data/new') == [[1 + 8, 2]]" \
	"failed('fcntl') == 2 and failed('flock') == 1" "trace.counts['IoChangeStatusFlags'] == 2" \
	"[[c.attributes[a] for a in ('lock offset', 'lock length')] for c in trace.calls if 'lock offset' in c.attributes] == [
	  [0, 50], [60, 20], [40, 10], [100, 0], [0, 10], [100, 1], [0, 10], [65, 5], [0, 0], [0, 0]]"
grep -q '1 unlocks without a matching recorded lock' "$TMP/locks/out" && ok "locks, an unlock of nothing is counted" ||
	not_ok "locks, an unlock of nothing is counted" "the summary does not tell of it"

golden mmap "calls('msync') == 1" \
	"[(c.attributes['mapped bytes'], c.attributes['mapped offset']) for c in select('mmap') if 'mapped handle' in c.attributes
		and c.attributes['mapped handle'].file.name.endswith('/data/mapped')] == [(65536, 0)]" \
	 "calls('write') == 0" "calls('ftruncate') == 1" "calls('mmap') >= 1" \
	"offsets('pread64', '*/data/mapped') == [0, 4096, 8192, 12288]" "read('pread64', path='*/data/mapped') == 32"

golden copies "layer_bytes('POSIX', '*/data/a') == [0, 40960]" "layer_bytes('POSIX', '*/data/b') == [0, 40960]" \
	"layer_bytes('POSIX', '*/data/c') == [350, 4546]" "layer_bytes('POSIX', '*/data/source') == [86016, 40960]" \
	"offsets('pwritev') == [4096]" "offsets('pwritev2') == [5000]" "offsets('preadv2') == [10]"

golden streams "calls('fopen') == 2 and calls('fclose') == 2" "calls('fwrite') == 200 and written('fwrite') == 20000" \
	"calls('fprintf') + calls('__fprintf_chk') == 10" "calls('fputs') == 10" "calls('fputc') == 20 and written('fputc') == 20" \
	"calls('fread') == 101 and read('fread') == 10000" "calls('fgets') == 10" "calls('fflush') == 1 and calls('fseek') == 2" \
	"('POSIX', 'ISOC') in chains('*/data/stream')" "calls('write', under='fwrite') >= 1" \
	"unknown('f*') == 0 and read('fgets') == 100 and written('fputs') == 40"

# What the string alone does not show.
golden lines "[c.read for c in select('fgets')] == [4, 5999, 4002, 4, 3, 0, 2]" \
	"[c.written for c in select('fputs')] == [4, 10001]" "layer_bytes('ISOC', '*/data/lines') == [10015, 10012]" \
	"unknown('f*') == 0"

# Each standard stream is one handle, however a call names it; freopen makes another.
golden standard "[[h.file.name.rsplit('/', 1)[1] for h in trace.handles if h.io_paradigm.identification == 'ISOC' and h.name == n]
	for n in ('stdin', 'stdout', 'stderr')] == [['null'], ['stdout'], ['err']]" \
	"layer_bytes('ISOC', '*/stdout') == [0, 30]" "layer_bytes('ISOC', '*/err') == [0, 5]" \
	"layer_bytes('ISOC', '*/data/reopened') == [0, 8]" \
	"layer_bytes('POSIX', '*/stdout') == [0, 30]" "layer_bytes('POSIX', '*/data/reopened') == [0, 8]" \
	"len([h for h in trace.handles if h.io_paradigm.identification == 'ISOC']) == 4"

golden strings "calls('fprintf') + calls('__fprintf_chk') == 5" "calls('fopen') == 1 and calls('fclose') == 1" \
	"layer_bytes('ISOC', '*/data/file')[1] == 25" "layer_bytes('POSIX', '*/data/file') == [32, 32]"

golden static "written('write', path='*/data/stream') == 20160" "calls('openat', path='*/data/stream') == 2"

golden killed "calls('write') == 10 and written('write') == 90" "abandoned('read') + failed('read') == 1" \
	"len(groups_with('write')) == 2"

# A forked process has a gap until its probes are in place, but none of asynchronous I/O, which it does not use.
verdict "killed, gaps" "$(grep -aoE '[A-Z]+ of process [0-9]+ was not observed' "$TMP/killed/trace/traces.otf2" | cut -d ' ' -f 1 |
	sort -u | grep -vx ISOC || grep -aq 'ISOC of process' "$TMP/killed/trace/traces.otf2" || echo 'no gap of ISOC')"

golden churn "calls('write', path='*/data/*') == 360 and written('write') == 2520" "calls('openat', path='*/data/*') == 120" \
	"locations_with('write') == 120" "len(groups_with('write')) == 21"

golden takeover "calls('fputc', path='*/data/*') == 42000" "written('fputc') == 42000" "abandoned('fputc') == 0" \
	"layer_bytes('POSIX', '*/data/*') == [0, 42000]" "len(groups_with('fputc')) == 14"

# HDF5 is loaded while the program runs: its probes must be there before its first call.
late_library() {
	local lib
	lib=$(ldconfig -p | awk '/libhdf5_serial\.so|libhdf5\.so/ { print $NF; exit }')
	[ -n "$lib" ] || { skip dlopen_hdf5 "no serial HDF5 library"; return; }
	fresh dlopen_hdf5 >/dev/null
	record dlopen_hdf5 -- "$P/dlopen_hdf5" "$TMP/dlopen_hdf5/data" "$lib"
	contract dlopen_hdf5 || return
	expect dlopen_hdf5 "[calls(f) for f in ('H5Fcreate', 'H5Dcreate2', 'H5Dwrite')] == [5, 5, 5]" \
		"[calls(f) for f in ('H5Fopen', 'H5Dopen2', 'H5Dread')] == [1, 1, 1]" \
		"calls('H5Fclose') == 6 and calls('H5Dclose') == 6" \
		"calls('fwrite') == 3 and written('fwrite') == 12" "('POSIX', 'HDF5') in chains('*/data/late.h5')" \
		"layer_bytes('POSIX', '*/data/late.h5')[1] >= 40000" \
		"written('H5Dwrite') in (0, 40000) and unknown('H5Dwrite') in (0, 5)"
	lost_nothing dlopen_hdf5
	costs dlopen_hdf5 || verdict "dlopen_hdf5, costs of recording" "$UNKNOWN"
}
late_library
measured costs_of_sites
measured costs_without --no-call-sites no-sites

site recursion '' "calls('nest_work') == 3" "calls('nest_deep') == 20" \
	"all(f >= w for f, w in zip(ms('nest_work'), (60, 30, 10)))" \
	"stacks('nest_work') == [(), ('nest_work',), ('nest_work', 'nest_work')]" "max(len(s) for s in stacks('nest_deep')) == 19" \
	"abandoned() == 0" "stacks('write') == [()]"

site longjmp '' "calls('nest_call') == 12" "abandoned('nest_call') == 11" \
	"calls('nest_work') == 1 and abandoned('nest_work') == 0" \
	"stacks('nest_work') == [()]" "calls('write') == 9" "stacks('write') == [()]"

site left '' "calls('nest_call') == 9 and abandoned('nest_call') == 9" "calls('write') == 7" "stacks('write') == [()]"

site cancel_points DATA "calls('nest_call') == 22 and abandoned('nest_call') == 22" \
	"[f for f in sorted({c.name for c in trace.calls}) if f != 'nest_call' and stacks(f) != [()]] == []" \
	"all(calls(f) for f in ('pwritev', 'preadv', 'msync', 'fallocate', 'sync_file_range', 'copy_file_range', 'splice'))"

site killed DATA "calls('write') == 10" "calls('nest_call') == 1 and abandoned('nest_call') == 1" \
	"stacks('read')[-1] == ('nest_call',)"

# spool NAME EXPRESSION...: true of the records as they were captured (words in tests/lib/spool.py).
spool() {
	local text
	text=$(limited 60 "$PYTHON" "$TESTS/lib/spool.py" "$TMP/$1/trace/spool" "${@:2}" 2>&1) && ok "$1, records" ||
		not_ok "$1, records" "$text"
}

# The fourth long name finds no room: what follows it must not be taken for it.
names() {
	fresh names >/dev/null
	record names --keep-spool --probes "$TESTS/programs/names.probes" -- "$P/names"
	contract names && expect names "calls('nest_names') == 3" "not has_file('*AAAAAAAA*')" "has_file('/to')"
	spool names "[1022, 1022, 1022, 0x8000, 64] in [lengths(r)[:5] for r in records(ENTER)]" \
		"[6, 4, 5, 5, 0xffff] in [lengths(r)[:5] for r in records(ENTER)]"
}
names

# Two threads that end at the same moment find none alive: one of them reports the end of the process.
last_threads() {
	fresh last_threads >/dev/null
	record last_threads --keep-spool --layers posix -- "$P/last_threads"
	spool last_threads "sum(ends().values()) == 301"
}
last_threads

# Deeper than what can be recorded: the program must not notice, and what is missing must be counted.
too_deep() {
	fresh too_deep >/dev/null
	record too_deep --probes "$TESTS/programs/nest.probes" -- "$P/recursion" deep
	verdict "too_deep, status" "$([ $STATUS = 0 ] || echo "status $STATUS: $(said "$TMP/too_deep")")"
	contract too_deep && expect too_deep "20 < calls('nest_deep') <= 120"
	if limited 60 "$PYTHON" "$TESTS/lib/expect.py" "$TMP/too_deep/trace/traces.otf2" "calls('nest_deep') == 120" \
		>/dev/null; then
		ok "too_deep, all recorded"
	elif grep -Eiq 'deep' "$TMP/too_deep/out"; then ok "too_deep, missing calls are counted"; else
		not_ok "too_deep, missing calls are counted" "the summary does not tell of them"; fi
}
too_deep
