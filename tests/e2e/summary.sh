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
verdict "JSON of a command needs a file" "$([ $STATUS = 2 ] && grep -q -e '--json=FILE' "$dir/err" && [ ! -e "$dir/ran" ] || said "$dir")"
run files --summary "$dir/absent/text" -o "$dir/refused" -- touch "$dir/ran"
verdict "a file that cannot be made" "$([ $STATUS = 1 ] && grep -q "$dir/absent/text: No such file" "$dir/err" && [ ! -e "$dir/ran" ] && [ ! -e "$dir/refused" ] || said "$dir")"
run files --summary /dev/full -o "$dir/full" -- true
verdict "a full disk" "$([ $STATUS = 1 ] && grep -q 'summary.*/dev/full' "$dir/err" && [ -s "$dir/full/traces.otf2" ] || said "$dir")"

# Of a process that was attached to stdout is ours.
sleep 60 & pid=$!
run files --pid $pid --duration 0.2 --json -o "$dir/attached"
kill $pid
verdict "JSON of a process on stdout" "$([ $STATUS = 0 ] && cmp "$dir/out" "$dir/attached/summary.json" 2>&1; grep "$TEXT" "$dir/err")"

# Under sudo the file is the user's: a link of his leads root nowhere.
if id games >/dev/null 2>&1; then
	dir=$(fresh sudo)
	chmod 711 "$TMP"
	echo "root's" >"$dir/file" && chmod 644 "$dir/file"
	mkdir "$dir/home" && ln -s "$dir/file" "$dir/home/link" && chown -R games: "$dir/home"
	as_games() { SUDO_UID=$(id -u games) SUDO_GID=$(id -g games) SUDO_USER=games run sudo "$@"; }
	as_games --summary "$dir/home/link" -o "$dir/home/trace" -- true
	verdict "sudo, a link" "$([ $STATUS = 1 ] && grep -q 'home/link: Permission denied' "$dir/err" && [ "$(cat "$dir/file")" = "root's" ] || said "$dir")"
	as_games --summary "$dir/home/text" -o "$dir/home/trace" -- true
	verdict "sudo, a file" "$([ $STATUS = 0 ] && [ "$(stat -c %U "$dir/home/text")" = games ] && grep -q "$TEXT" "$dir/home/text" || said "$dir")"
fi
