#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# A user's files against the agent: files that are made to break their reader, files exchanged while they are attached, parser
# processes that die. The recording is complete, the file is named, and breakpoints are in the mapped file only.
. "$(dirname "$0")/../lib/e2e.sh"

USER_ID=12345
as_user() { setpriv --reuid $USER_ID --regid $USER_ID --clear-groups -- "$@"; }

have setpriv || { skip all "no setpriv"; exit 0; }

# A directory of the user with the program.
users_folder() {
	DIR=$(fresh "$1")
	cp "$P/mapper" "$DIR/data/mapper"
	chown -R $USER_ID:$USER_ID "$DIR/data"
	chmod 755 "$TMP" "$DIR"
}

# start_mapper FILE...: as the user, up to its wait. Sets PID.
start_mapper() {
	as_user "$DIR/data/mapper" "$DIR/data" "$@" >"$DIR/program" 2>"$DIR/program.err" & PID=$!
	wait_for_file "$DIR/data/ready" && return 0
	end_of $PID 1
	not_ok "${DIR##*/}" "the program did not start: $(cat "$DIR/program.err")"
	return 1
}

# attach OPTION...: Sets RECORDER.
attach() {
	env "${ENVIRONMENT[@]}" "$IOPROBE" "$@" -o "$DIR/trace" --summary "$DIR/out" >"$DIR/stdout" 2>"$DIR/err" & RECORDER=$!
	wait_for_line "$DIR/err" 'recording' 60 && return 0
	end_of $RECORDER 1
	not_ok "${DIR##*/}" "not ready: $(said "$DIR")"
	return 1
}
ENVIRONMENT=(-u LD_PRELOAD)

# The program ends, and the recording with it.
finish() {
	local name=${DIR##*/}
	touch "$DIR/data/go" "$DIR/data/end"
	end_of $PID 60
	verdict "$name, program" "$([ $STATUS = 0 ] || echo "status $STATUS: $(cat "$DIR/program.err")")"
	end_of $RECORDER 60
	verdict "$name, recorder" "$([ $STATUS = 0 ] || echo "status $STATUS: $(said "$DIR")")"
	contract "$name" && expect "$name" \
		"calls('write', path='*/data/written') == 10 and written('write', path='*/data/written') == 1000"
	lost_nothing "$name"
}

# named NAME FILE REASON: the summary says of the file why it is not probed.
named() {
	verdict "$1" "$(grep -F "$2" "$DIR/out" | grep -Eq "$3" || echo "no note of $2 with '$3': $(grep '^note' "$DIR/out")")"
}

# ---- files that are made to break their reader ----

hungry() {
	local peak
	users_folder hungry
	as_user "$PYTHON" "$TESTS/lib/hostile_elf.py" strings "$DIR/data/libhdf5.so.64" $((64 << 30))
	as_user "$PYTHON" "$TESTS/lib/hostile_elf.py" strings "$DIR/data/libhdf5.so.3" $((3 << 30))
	as_user "$PYTHON" "$TESTS/lib/hostile_elf.py" chain "$DIR/data/libhdf5.so.9" $((64 << 30))
	start_mapper "$DIR/data/libhdf5.so.64" "$DIR/data/libhdf5.so.3" "$DIR/data/libhdf5.so.9" || return
	attach --pid $PID || { finish; return; }
	peak=$(awk '/VmHWM/ { print $2 }' "/proc/$RECORDER/status")
	verdict "hungry, agent's memory" "$([ "$peak" -lt 200000 ] || echo "peak $peak KiB")"
	finish
	for i in 64 3 9; do named "hungry, file $i is named" "libhdf5.so.$i" 'more than 512 MiB'; done
}

# ---- another file under the name ----

# What probes the mapped library needs must not get into the file that had its name at the wrong moment: the same bytes at the same
# offsets, but no ELF file. The recorded program and another one have it mapped.
exchanged() {
	local victim
	users_folder exchanged
	as_user cp "$P/libnest.so" "$DIR/data/libnest.so"
	{ printf '\0\0\0\0'; tail -c +5 "$P/libnest.so"; } >"$DIR/data/victim"
	chown $USER_ID "$DIR/data/victim"
	mkdir "$DIR/other"
	"$P/mapper" "$DIR/other" "$DIR/data/victim" >"$DIR/victim" 2>&1 & victim=$!
	wait_for_file "$DIR/other/ready"
	start_mapper "$DIR/data/libnest.so" "$DIR/data/victim" || { end_of $victim 1; return; }
	ENVIRONMENT=(LD_PRELOAD="$P/libexchange.so" EXCHANGE_A="$DIR/data/libnest.so" EXCHANGE_B="$DIR/data/victim"
		ASAN_OPTIONS="${ASAN_OPTIONS:-}:verify_asan_link_order=0")      # a sanitizer's library is loaded after it
	attach --probes "$TESTS/programs/nest.probes" --pid $PID
	ENVIRONMENT=(-u LD_PRELOAD)
	touch "$DIR/other/go" "$DIR/other/end"
	end_of $victim 30
	verdict "exchanged, another process" "$(grep -v 'victim: 0 bytes differ' "$DIR/victim")"
	finish
	verdict "exchanged, the file with the name" "$(grep 'victim:' "$DIR/program" | grep -v ': 0 bytes differ')"
	verdict "exchanged, the mapped file has its probes" "$(grep -q 'libnest.so: [1-9]' "$DIR/program" || cat "$DIR/program")"
}

# A library that was replaced after it had been mapped is still probed: the mapped one, not the new one.
replaced() {
	users_folder replaced
	as_user cp "$P/libnest.so" "$DIR/data/libnest.so"
	start_mapper "$DIR/data/libnest.so" || return
	as_user cp "$TESTS/programs/nest.probes" "$DIR/data/new"
	as_user mv "$DIR/data/new" "$DIR/data/libnest.so"
	attach --probes "$TESTS/programs/nest.probes" --pid $PID
	finish
	verdict "replaced, the mapped file has its probes" "$(grep -q 'libnest.so: [1-9]' "$DIR/program" || cat "$DIR/program")"
}

# ---- parser processes ----

parsers_of() { ps -o pid=,args= --ppid "$1" | awk '/parser-process/ { print $1 }'; }

# Every parser is stopped by its user, and a library is mapped: the agent does not wait for an answer that will not come.
stopped() {
	local uid
	users_folder stopped
	as_user cp "$P/libnest.so" "$DIR/data/libnest.so"
	as_user cp "$P/libnest.so" "$DIR/data/libnest.so.2"
	start_mapper "$DIR/data/mapper" -- "$DIR/data/libnest.so" || return
	attach --probes "$TESTS/programs/nest.probes" --pid $PID || { finish; return; }
	for parser in $(parsers_of $RECORDER); do uid+=" $(awk '/^Uid/ { print $2 $3 $4 $5 }' "/proc/$parser/status")"; done
	verdict "stopped, parsers have no rights" \
		"$([[ "$uid" == *65534655346553465534* && "$uid" == *12345123451234512345* ]] || echo "users: $uid")"
	for parser in $(parsers_of $RECORDER); do grep -q 'CapPrm:.*[1-9a-f]' "/proc/$parser/status" &&
		echo "$parser"; done >"$DIR/rights"
	verdict "stopped, parsers have no capabilities" "$(cat "$DIR/rights")"
	kill -STOP $(parsers_of $RECORDER) 2>/dev/null
	touch "$DIR/data/go"
	wait_for_file "$DIR/data/mapped"
	finish
	named "stopped, the file is named" "libnest.so" 'was stopped from outside'
	verdict "stopped, no parser is left" "$(pgrep -f "^ioprobe parser-process $USER_ID")"
}

# A library that takes its parser's whole CPU limit is mapped; meanwhile another recorded program fills the rings several times
# over.
slow() {
	local writer n=400000
	users_folder slow
	as_user "$PYTHON" "$TESTS/lib/hostile_elf.py" slow "$DIR/data/libhdf5.so.5"
	mkfifo "$DIR/fifo"
	start_mapper "$DIR/data/mapper" -- "$DIR/data/libhdf5.so.5" || return
	dd if="$DIR/fifo" of=/dev/null bs=1 count=$n 2>"$DIR/dd" & writer=$!
	attach --pid "$PID,$writer" || { kill $writer; finish; return; }
	touch "$DIR/data/go"
	wait_for_file "$DIR/data/mapped"
	head -c $n /dev/zero >"$DIR/fifo"
	end_of $writer 60
	touch "$DIR/data/end"
	end_of $PID 60
	end_of $RECORDER 60
	verdict "slow, recorder" "$([ $STATUS = 0 ] || echo "status $STATUS: $(said "$DIR")")"
	lost_nothing slow
	named "slow, the file is named" "libhdf5.so.5" 'more than 5 s of CPU time|not answer within 15 s'
	verdict "slow, all writes" "$(grep -Eq " $n +POSIX .* /dev/null" "$DIR/out" || grep /dev/null "$DIR/out" || said "$DIR")"
}

# ---- files that are none ----

# refused NAME PATTERN FILE: by one line at once.
refused() {
	limited 10 "$IOPROBE" probes --library "$3" >"$DIR/out" 2>"$DIR/err" </dev/null
	STATUS=$?
	if [ $STATUS != 1 ]; then not_ok "$1" "status $STATUS: $(said "$DIR")"
	elif [ "$(wc -l <"$DIR/err")" != 1 ] || ! grep -Fq "$3: " "$DIR/err" || ! grep -Eq "$2" "$DIR/err"; then
		not_ok "$1" "stderr is not one line with '$2': $(said "$DIR")"
	else ok "$1"; fi
}

no_files() {
	DIR=$(fresh no_files)
	mkfifo "$DIR/fifo"
	: >"$DIR/empty"
	for kind in small machine cut strings; do "$PYTHON" "$TESTS/lib/hostile_elf.py" $kind "$DIR/$kind"; done
	refused "fifo" 'not a regular file' "$DIR/fifo"
	refused "folder" 'directory' "$DIR"
	refused "device" 'not a regular file' /dev/zero
	refused "nothing there" 'No such file' "$DIR/nothing"
	refused "empty file" 'not an ELF file' "$DIR/empty"
	refused "half an ELF file" 'damaged' "$DIR/cut"
	refused "32-bit ELF file" '32-bit' "$DIR/small"
	refused "ELF file for another machine" 'another machine' "$DIR/machine"
	refused "string table of 64 GiB" 'more than 512 MiB' "$DIR/strings"
}

hungry
exchanged
replaced
stopped
slow
no_files
