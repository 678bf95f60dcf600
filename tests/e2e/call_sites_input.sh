#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Call sites where files and parsers are bad: debug information that was overwritten, files that are replaced or cannot be read, a
# parser process that hangs or crashes. The recording goes on, all calls are counted, no caller is wrong, and the summary names the
# reason.
. "$(dirname "$0")/../lib/e2e.sh"
. "$TESTS/lib/call_sites.sh"

OWNER=12345     # of programs: their files have a parser process of their own

# start_waiting NAME PROGRAM: records PROGRAM (call_sites.c), which waits before its rounds. Sets RECORDER.
start_waiting() {
	local dir=$TMP/$1
	"$IOPROBE" -o "$dir/trace" --summary "$dir/out" --call-sites=16 -- "$2" "$dir/data/out" wait "$dir/data/ready" \
		"$dir/data/go" >"$dir/stdout" 2>"$dir/err" </dev/null &
	RECORDER=$!
	wait_for_file "$dir/data/ready" 60 || not_ok "$1" "the program did not start: $(said "$dir")"
}

# finish_waiting NAME
finish_waiting() {
	touch "$TMP/$1/data/go"
	end_of $RECORDER 150
	verdict "$1, recorder" "$([ "$STATUS" = 0 ] || echo "status $STATUS: $(said "$TMP/$1")")"
}

# never_wrong NAME: of 4 rounds, whatever is missing.
never_wrong() {
	CHAINS=()
	chains 4 'rounds@round main@main'
	sites "$1" call_sites.c CUT:1504 "${CHAINS[@]}"
	contract "$1"
}

# reason NAME PATTERN: the summary has it.
reason() {
	verdict "$1, reason" "$(grep -Eq "$2" "$TMP/$1/out" || { echo "no '$2':" && grep '^note: call sites' "$TMP/$1/out"; })"
}

# ---- parser processes ----

# The parser of the program's file hangs or crashes while it has a request about the program's code.
broken_parser() {
	local dir parsers watcher
	dir=$(fresh "$1")
	cp "$P/call_sites" "$dir/data/program"
	chown $OWNER "$dir/data/program"
	start_waiting "$1" "$dir/data/program"
	mapfile -t parsers < <(pgrep -P $RECORDER -f "parser-process $OWNER\$")
	limited 140 "$PYTHON" "$TESTS/lib/interrupt_request.py" "$2" "$dir/data/watched" "${parsers[@]}" >"$dir/received" \
		2>"$dir/watcher" & watcher=$!
	wait_for_file "$dir/data/watched" 60 || not_ok "$1" "not watched: $(cat "$dir/watcher")"
	finish_waiting "$1"
	end_of $watcher 30
	verdict "$1, a request was interrupted" "$([ "$STATUS" = 0 ] && [ "$(cat "$dir/received")" -ge 1 ] ||
		echo "status $STATUS, received $(cat "$dir/received"): $(cat "$dir/watcher")")"
	never_wrong "$1"
	reason "$1" "note: call sites: .*/data/program are not all known: $3"
}

# ---- files ----

# overwrite FILE CONTENT PATTERN: the sections whose names match PATTERN; CONTENT is the seed of random bytes, or a byte's value.
overwrite() {
	"$PYTHON" - "$@" <<'END'
import random, re, subprocess, sys
path, content, pattern = sys.argv[1:]
seeded = random.Random(content)
lines = subprocess.run(["readelf", "-SW", path], check=True, capture_output=True, text=True).stdout.splitlines()
sections = [m for m in (re.match(r"\s*\[ *\d+\] (\S+) +\S+ +\S+ (\S+) (\S+)", line) for line in lines)
            if m and re.match(pattern, m[1])]
assert sections, "no section"
with open(path, "r+b") as file:
    for section in sections:
        file.seek(int(section[2], 16))
        size = int(section[3], 16)
        file.write(bytes([int(content[2:], 16)]) * size if content.startswith("0x") else seeded.randbytes(size))
END
}

# Debug information that was overwritten after the link: as if there were none.
corrupt_debug() {
	local dir content
	have readelf || { skip corrupt_debug "binutils are not installed"; return; }
	for content in 0x00 0xff 1 2 3; do
		dir=$(fresh "debug_$content")
		cp "$P/call_sites" "$dir/data/program"
		overwrite "$dir/data/program" "$content" '\.debug_' || not_ok "debug_$content" "not overwritten"
		record "debug_$content" --call-sites -- "$dir/data/program" "$dir/data/out" plain
		verdict "debug_$content, recorder" "$([ "$STATUS" = 0 ] || echo "status $STATUS: $(said "$dir")")"
		functions "debug_$content"
		verdict "debug_$content, why there are no lines" \
			"$(grep -q "^without a line: [1-9][0-9]* .* in $dir/data/program.*: no debug info" "$dir/out" ||
				grep '^without' "$dir/out" || echo none)"
		contract "debug_$content"
	done
}

# Unwind tables that were overwritten: chains are truncated where there is no rule, and for no other reason.
corrupt_unwind() {
	local dir content
	have readelf || { skip corrupt_unwind "binutils are not installed"; return; }
	for content in 0x00 0xff 1 2 3; do
		dir=$(fresh "unwind_$content")
		cp "$P/call_sites" "$dir/data/program"
		overwrite "$dir/data/program" "$content" '\.eh_frame' || not_ok "unwind_$content" "not overwritten"
		record "unwind_$content" --call-sites=16 -- "$dir/data/program" "$dir/data/out" plain
		verdict "unwind_$content, recorder" "$([ "$STATUS" = 0 ] || echo "status $STATUS: $(said "$dir")")"
		never_wrong "unwind_$content"
		verdict "unwind_$content, reason" "$("$PYTHON" - "$dir/trace/summary.json" 2>&1 <<'END'
import json, sys
sites = json.load(open(sys.argv[1]))["call_sites"]
ends = {s["callers"] for s in sites["sites"] if s["bytes_written"]}
reasons = {reason: n for reason, n in sites["incomplete"].items() if n}
# a busy recorder comes too late for some calls: their callers are unknown, and counted
other = reasons.keys() & {"file_unreadable", "code_in_no_file", "python_unreadable"}
if "whole" in ends or other or ("unknown" in ends and not reasons):
    print("callers %s, incomplete %s" % (sorted(ends), reasons), end="")
END
)"
	done
}

# Another program takes the name of the one that runs: its lines must not be taken.
replaced() {
	local dir
	dir=$(fresh replaced)
	cp "$P/call_sites" "$dir/data/program"
	start_waiting replaced "$dir/data/program"
	cp "$P/call_sites_nopie" "$dir/data/other"
	mv "$dir/data/other" "$dir/data/program"
	finish_waiting replaced
	CHAINS=()
	chains 4 'rounds@round main@main'
	sites replaced call_sites.c 1504 "${CHAINS[@]}"
	contract replaced
}

# Only root can read the program's file, and its parser process has the rights of the file's owner: it gets the file from root, and
# nothing is missing.
unreadable() {
	local dir
	dir=$(fresh unreadable)
	cp "$P/call_sites" "$dir/data/program"
	chown $OWNER "$dir/data/program"
	chmod 0111 "$dir/data/program"
	start_waiting unreadable "$dir/data/program"
	chmod 0000 "$dir/data/program"
	finish_waiting unreadable
	plain_sites unreadable
	verdict "unreadable, no note" "$(grep '^note: call sites' "$dir/out")"
	contract unreadable
}

broken_parser hangs hang 'the parser did not answer within 15 s'
broken_parser crashes crash 'the parser was ended by signal 6'
corrupt_debug
corrupt_unwind
replaced
unreadable
