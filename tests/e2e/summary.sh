#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# The summary: where it is written, and what it says of a recording.
. "$(dirname "$0")/../lib/e2e.sh"

# run NAME ARGUMENT...: ioprobe with output in out and err of the case. Sets STATUS.
run() { limited 60 "$IOPROBE" "${@:2}" >"$TMP/$1/out" 2>"$TMP/$1/err" </dev/null; STATUS=$?; }
TEXT='^records lost 0$'

# ---- where it goes ----

# The program's output is the program's alone.
dir=$(fresh streams)
seq 1 5000 >"$dir/data/a"
run streams -o "$dir/trace" -- cat "$dir/data/a"
verdict "streams, status" "$([ $STATUS = 0 ] || said "$dir")"
verdict "streams, stdout is the program's" "$(cmp "$dir/data/a" "$dir/out" 2>&1)"
verdict "streams, text on stderr" "$(grep -q "$TEXT" "$dir/err" || said "$dir")"
limited 60 "$IOPROBE" recover "$dir/trace" >"$dir/out" 2>"$dir/err"
verdict "recover, complete archive" "$([ $? = 1 ] && [ ! -s "$dir/out" ] || said "$dir")"

dir=$(fresh files)
run files -o "$dir/trace" --summary "$dir/text" --json="$dir/json" -- true
verdict "files, text" "$([ $STATUS = 0 ] && grep -q "$TEXT" "$dir/text" && ! grep -q "$TEXT" "$dir/err" || said "$dir")"
verdict "files, JSON" "$(cmp "$dir/json" "$dir/trace/summary.json" 2>&1)"
verdict "files, nothing on stdout" "$(head -c 100 "$dir/out")"
echo old >"$dir/text"
run files -o "$dir/none" --keep-spool --summary none -- true
verdict "none" "$([ $STATUS = 0 ] && ! grep -q "$TEXT" "$dir/err" "$dir/out" || said "$dir")"
rm -f "$dir/none/traces"*
run files recover "$dir/none"
verdict "recover, text on stdout" "$([ $STATUS = 0 ] && grep -q "$TEXT" "$dir/out" && [ ! -s "$dir/err" ] || said "$dir")"
rm -f "$dir/none/traces"*
run files recover --json "$dir/none"
verdict "recover, JSON on stdout" "$(cmp "$dir/out" "$dir/none/summary.json" 2>&1)"
run files -q -o "$dir/quiet" -- true
verdict "quiet" "$([ $STATUS = 0 ] && cat "$dir/err" "$dir/out")"
run files --json -o "$dir/refused" -- touch "$dir/ran"
verdict "JSON of a command needs a file" "$([ $STATUS = 2 ] && grep -q -e '--json=FILE' "$dir/err" && [ ! -e "$dir/ran" ] ||
	said "$dir")"
run files --summary "$dir/absent/text" -o "$dir/refused" -- touch "$dir/ran"
verdict "a file that cannot be made" "$([ $STATUS = 1 ] && grep -q "$dir/absent/text: No such file" "$dir/err" &&
	[ ! -e "$dir/ran" ] && [ ! -e "$dir/refused" ] || said "$dir")"
run files --summary /dev/full -o "$dir/full" -- true
verdict "a full disk" "$([ $STATUS = 1 ] && grep -q 'summary.*/dev/full' "$dir/err" && [ -s "$dir/full/traces.otf2" ] ||
	said "$dir")"

# Of a process that was attached to stdout is ours.
sleep 60 & pid=$!
run files --pid $pid --duration 0.2 --json -o "$dir/attached"
kill $pid
verdict "JSON of a process on stdout" "$([ $STATUS = 0 ] &&
	cmp "$dir/out" "$dir/attached/summary.json" 2>&1; grep "$TEXT" "$dir/err")"

# Under sudo the file is the user's: a link of his leads root nowhere.
if id games >/dev/null 2>&1; then
	dir=$(fresh sudo)
	chmod 711 "$TMP"
	echo "root's" >"$dir/file" && chmod 644 "$dir/file"
	mkdir "$dir/home" && ln -s "$dir/file" "$dir/home/link" && chown -R games: "$dir/home"
	as_games() { SUDO_UID=$(id -u games) SUDO_GID=$(id -g games) SUDO_USER=games run sudo "$@"; }
	as_games --summary "$dir/home/link" -o "$dir/home/trace" -- true
	verdict "sudo, a link" "$([ $STATUS = 1 ] && grep -q 'home/link: Permission denied' "$dir/err" &&
		[ "$(cat "$dir/file")" = "root's" ] || said "$dir")"
	as_games --summary "$dir/home/text" -o "$dir/home/trace" -- true
	verdict "sudo, a file" "$([ $STATUS = 0 ] && [ "$(stat -c %U "$dir/home/text")" = games ] &&
		grep -q "$TEXT" "$dir/home/text" || said "$dir")"
fi

# ---- what it says ----

# What is stored to a shared mapping is in no call: the file is named.
fresh stored >/dev/null && record stored -- "$P/mmap" "$TMP/stored/data"
verdict "stored, named" "$(grep -q "^written through a mapping, not measured .*: $TMP/stored/data/mapped$" "$TMP/stored/out" ||
	said "$TMP/stored")"
summary_is stored "one([m for m in s['writable_mappings'] if m['path'].endswith('/data/mapped')])['bytes'] == 65536"

# A recording lasts from its begin to its end, however long nothing is called. The sleep is ended by a file, so that no time is
# guessed.
dir=$(fresh silent)
before=$(date +%s%N)
"$IOPROBE" -o "$dir/trace" --summary "$dir/out" -- sh -c 'echo $$ >"$0/ready"; exec sleep 60' "$dir/data" >/dev/null 2>"$dir/err" \
	& recorder=$!
for _ in $(seq 400); do [ -s "$dir/data/ready" ] && break; sleep 0.05; done
began=$(date +%s%N)
sleep 1.5
ended=$(date +%s%N)
kill -TERM $recorder
wait $recorder
after=$(date +%s%N)
kill "$(cat "$dir/data/ready")"
contract silent
summary_is silent "$((ended - began)) <= s['duration_ns'] <= $((after - before))" "s['stopped_by'] == 'signal'" \
	"all(p['end_ns'] is None and p['exit_status'] is None for p in processes('*/sleep'))" \
	"[q['path'].split('/')[-1] for q in one(processes('*/sleep'))['programs']] == ['sh', 'sleep']" \
	"$((ended - began)) <= one(processes('*/sleep'))['wall_time_ns'] <= s['duration_ns']"
verdict "silent, clock of the archive" "$(otf2-print -G "$dir/trace/traces.otf2" 2>&1 |
	awk -v least=$((ended - began)) '/^CLOCK_PROPERTIES/ { sub(/.*Length: /, ""); if ($1 + 0 < least) print "length", $1 }')"

# Processes: who they are, when they began and ended, and how.
dir=$(fresh processes)
record processes -- sh -c 'cat "$0" >/dev/null; sh -c "exit 3"; sh -c "kill -9 \$\$"
	cd "$1"; cat /etc/hostname >/dev/null; exit 5' /etc/passwd "$dir/data"
verdict "processes, status" "$([ $STATUS = 5 ] || echo "$STATUS: $(said "$dir")")"
summary_is processes "s['processes'] == len([p for p in s['process_list'] if p['threads']])" \
	"all(p['begin_ns'] <= p['end_ns'] <= s['duration_ns']
		and p['end_ns'] - p['begin_ns'] == p['wall_time_ns'] for p in s['process_list'])" \
	"all(0 <= p['io_time_ns'] <= p['wall_time_ns'] for p in s['process_list'])" \
	"[p['command_line'] for p in processes('*/cat')] == ['cat /etc/passwd', 'cat /etc/hostname']" \
	"[p['working_directory'] for p in processes('*/cat')] == ['$PWD', '$dir/data']" \
	"(sorted((p['exit_status'] or 0, p['signal'] or 0) for p in s['process_list'] if p not in processes('*/cat'))
		== [(0, 9), (3, 0), (5, 0)])" \
	"all(p['uid'] == $(id -u) and p['user'] == '$(id -un)' for p in s['process_list'])" \
	"{p['parent_pid'] for p in processes('*/cat')} <= {p['pid'] for p in s['process_list']}" \
	"s['command_line'].endswith(\"$dir/data\") and '--summary' in s['command_line']" \
	"all(len([m for m in s['mappings'] if m['process'] == p['index']]) >= 3 for p in processes('*/cat'))" \
	"any(f['path'] == '$(realpath "$(command -v cat)")' and f['build_id'] == '$(readelf -n "$(realpath "$(command -v cat)")" |
		sed -n 's/.*Build ID: //p')' for f in s['code_files'])"

# Files: all of them, with times, by layer and process; the text has few lines, and whole paths.
dir=$(fresh files_of_a_program)
deep=$dir/data/$(printf 'd%.0s' {1..200})/$(printf 'e%.0s' {1..200})
while [ ${#deep} -lt 3700 ]; do deep=$deep/$(printf 'f%.0s' {1..200}); done
mkdir -p "$deep"
record files_of_a_program -- sh -c 'i=0; while [ $i -lt 40 ]; do echo $i >"$0/out.$i.dat"; i=$((i + 1)); done
	echo 12345678 >"$1/g"; cat "$0"/out.*' "$dir/data" "$deep"
summary_is files_of_a_program "len(files('$dir/data/out.*.dat')) == 40" \
	"all(f['writes'] == 1 and f['reads'] == 2 and f['opens'] == 2 and f['time_ns'] > 0 for f in files('$dir/data/out.*'))" \
	"all(sum(p['bytes_written'] for p in one(f['layers'])['processes']) == f['bytes_written']
		for f in files('$dir/data/out.*'))" \
	"one(files('$deep/g'))['bytes_written'] == 9" \
	"[f['longest_time_ns'] for f in s['files']] == sorted((f['longest_time_ns'] for f in s['files']), reverse=True)"
verdict "files, one line for all that differ in numbers" \
	"$(grep -q " $dir/data/out\.\*\.dat (40 files)" "$dir/out" || head -n 20 "$dir/out")"
verdict "files, a long path is whole" "$(grep -q " $deep/g (on " "$dir/out" ||
	echo "not there: $(grep -o 'ffff/g.*' "$dir/out" | head -n 1)")"
verdict "files, none of the system" "$(sed -n '/file (mount point)/,/^$/p' "$dir/out" | grep -E ' /(etc|proc|usr/lib)')"
verdict "files, those are counted" "$(grep -Eq '^files of the system and libraries: [0-9]+, read ' "$dir/out" || echo 'not said')"
record files_of_a_program --all-files -o "$dir/all" -- cat /etc/passwd
verdict "files, all" "$(sed -n '/file (mount point)/,/^$/p' "$dir/out" | grep -q ' /etc/passwd (on ' || head -n 20 "$dir/out")"

# The end of a stream's file is no failure, also where the system call below is not recorded, or is filtered.
for without in '--layers isoc' '--path /nowhere'; do
	dir=$(fresh ends)
	record ends $without -- "$P/streams" "$dir/data"
	expect ends "calls('fread') == 101 and read('fread') == 10000 and calls('read', path='*/data/stream') == 0"
	summary_is ends "layer('ISOC')['reads_failed'] == 0 and layer('ISOC')['reads'] >= 101"
done
if have mpirun && [ -x "$P/parallel_nc" ]; then
	dir=$(fresh ranks)
	record ranks -- mpirun -n 2 "$P/parallel_nc" "$dir/data/f.nc"
	summary_is ranks "sorted(p['rank'] for p in processes('*/parallel_nc')) == [0, 1] and s['ranks'] == 2" \
		"all(one([l for l in p['layers'] if l['name'] == 'netCDF'])['bytes_written'] > 0
			for p in processes('*/parallel_nc'))" \
		"{l['name'] for l in one(files('*/f.nc'))['layers']} >= {'netCDF', 'HDF5', 'MPI-IO', 'POSIX'}" \
		"all(sorted(q['rank'] for q in l['processes']) == [0, 1] for l in one(files('*/f.nc'))['layers']
			if l['name'] == 'netCDF')"
fi

# The archive has the facts of each process as properties of its location group, and the recorder's own options.
dir=$(fresh properties)
record properties --cpu-time -- sh -c 'exit 3'
contract properties
verdict "properties, options" "$(otf2-print -I "$dir/trace/traces.otf2" | grep -A 1 'IOPROBE::COMMAND_LINE$' |
	grep -q -- "--cpu-time -- sh -c 'exit 3'" || echo "no command line of the recorder")"
otf2-print -G "$dir/trace/traces.otf2" >"$dir/print" 2>&1
for property in "Executable.*bin/" "Command Line.*sh -c exit 3" "Working Directory.*$PWD" "UID.*UINT64.* $(id -u)" "Begin.*UINT64" \
	"End.*UINT64" \
	"Wait Status.*UINT64.* 768"; do
	verdict "properties, ${property%%.\**}" \
		"$(grep -Eq "^LOCATION_GROUP_PROPERTY .*$property" "$dir/print" ||
			grep '^LOCATION_GROUP_PROP' "$dir/print" | head -n 9)"
done
