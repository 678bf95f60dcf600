#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# The command line: help, did you mean, exit statuses.
. "$(dirname "$0")/../lib/e2e.sh"
D=$(fresh commands)
export COLUMNS=80

# status_of NAME STATUS COMMAND...: ends with this status; output in out and err.
status_of() {
	limited 60 "${@:3}" >"$D/out" 2>"$D/err" </dev/null
	STATUS=$?
	verdict "$1, status" "$([ $STATUS = "$2" ] || echo "$STATUS instead of $2: $(said "$D")")"
}

# says NAME FILE PATTERN
says() { verdict "$1" "$(grep -Eq -- "$3" "$D/$2" || echo "no '$3' in: $(head -c 300 "$D/$2")")"; }

help_texts() {
	local command
	status_of "help" 0 "$IOPROBE" help
	cp "$D/out" "$D/overview"
	for command in --help -h; do
		status_of "$command" 0 "$IOPROBE" $command
		verdict "$command, as help" "$(cmp "$D/out" "$D/overview" 2>&1)"
	done
	verdict "help, fits 80 columns" "$(awk 'length($0) > 80' "$D/overview")"
	for command in $(sed -n '/^Commands:/,/^$/s/^  \([a-z]\{1,\}\) .*/\1/p' "$D/overview"); do
		[ "$command" != help ] || continue
		status_of "help $command" 0 "$IOPROBE" help "$command"
		cp "$D/out" "$D/help"
		verdict "help $command, usage" \
			"$(head -n 1 "$D/help" | grep -q "^Usage: ioprobe $command\( \|$\)" || head -n 1 "$D/help")"
		verdict "help $command, fits 80 columns" "$(awk 'length($0) > 80' "$D/help")"
		status_of "$command --help" 0 "$IOPROBE" "$command" --help
		verdict "$command --help, as help" "$(cmp "$D/out" "$D/help" 2>&1)"
		status_of "-h $command" 0 "$IOPROBE" -h "$command"
		verdict "-h $command, as help" "$(cmp "$D/out" "$D/help" 2>&1)"
		status_of "$command, unknown option" 2 "$IOPROBE" "$command" --no-such-option
		says "$command, unknown option, said" err "^ioprobe $command: unknown option --no-such-option"
		says "$command, unknown option, help" err "ioprobe help $command"
	done
	verdict "help, 7 commands at least" \
		"$([ "$(sed -n '/^Commands:/,/^$/p' "$D/overview" | grep -c '^  [a-z]')" -ge 8 ] || echo fewer)"
}

# Every option that --help shows is in the table for manuals and completion, and short options mean one thing everywhere.
table() {
	status_of "table" 0 "$IOPROBE" help-table
	verdict "table, short options" "$("$PYTHON" - "$D/out" <<-'END' 2>&1
	import json, sys
	table, seen = json.load(open(sys.argv[1])), {}
	for command in table["commands"]:
	    for option in command["options"] + table["options"]:
	        if option["short"] and seen.setdefault(option["short"], option["name"]) != option["name"]:
	            print(f"-{option['short']}: {seen[option['short']]} and {option['name']} of {command['name']}")
	        if not option["help"] or option["help"].endswith(".") or not option["help"][0].isupper():
	            print(f"{command['name']} --{option['name']}: help '{option['help']}'")
	END
	)"
}

mistakes() {
	status_of "mistyped command" 2 "$IOPROBE" chekc
	says "mistyped command, reported" err "did you mean 'check'"
	status_of "word that is no command" 2 "$IOPROBE" touch "$D/launched"
	verdict "word that is no command, launches nothing" "$(ls "$D/launched" 2>/dev/null)"
	status_of "command behind options" 2 "$IOPROBE" -o "$D/x" touch "$D/launched"
	verdict "command behind options, launches nothing" "$(ls -d "$D/launched" "$D/x" 2>/dev/null)"
	status_of "mistyped option" 2 "$IOPROBE" merge --ouput "$D/x" "$D"
	says "mistyped option, reported" err "did you mean --output"
	status_of "ambiguous option" 2 "$IOPROBE" record --min 1 -- true
	says "ambiguous option, reported" err "--min-free or --min-duration or --min-bytes"
	status_of "option without value" 2 "$IOPROBE" merge -o
	says "option without value, reported" err "--output DIR"
	status_of "value without use" 2 "$IOPROBE" recover --json=3 "$D"
	status_of "help of nothing" 2 "$IOPROBE" help nothing
	verdict "help of nothing, proposes no recording" "$(grep 'ioprobe record --' "$D/err")"
	status_of "help of help" 0 "$IOPROBE" help help
	status_of "option without dashes" 2 "$IOPROBE" version
	says "option without dashes, reported" err "did you mean '--version'"
	status_of "mistyped request" 2 "$IOPROBE" job strat
	says "mistyped request, reported" err "did you mean 'start'"
	status_of "unknown format" 2 "$IOPROBE" report --format xml "$D"
	says "unknown format, reported" err 'text, json, html, sarif or csv'
	status_of "unexpected operand" 2 "$IOPROBE" check now
}

recordings() {
	status_of "record" 3 "$IOPROBE" record -o "$D/trace" -- sh -c 'exit 3'
	contract "record" "$D/trace/traces.otf2"
	status_of "record without dashes" 4 "$IOPROBE" -q record -o "$D/trace2" sh -c 'exit 4'
	verdict "quiet, says nothing" "$(cat "$D/err")"
	status_of "not found" 127 "$IOPROBE" -q -o "$D/trace3" -- no-such-program
	says "not found, reported" err "no-such-program: command not found"
	touch "$D/plain"
	status_of "not executable" 126 "$IOPROBE" record -o "$D/trace3" -- "$D/plain"
	status_of "is a directory" 126 "$IOPROBE" record -o "$D/trace3" -- "$D"
	verdict "not executable, no directory left" "$(ls -d "$D/trace3" 2>/dev/null)"
	status_of "kernel thread" 1 "$IOPROBE" --pid 2 -o "$D/trace3"
	says "kernel thread, reported" err "process 2: .*kernel"
}

# What the policy says, not only whether it can be read.
policies() {
	printf '%s\n' 'record user alice' 'record all' 'skip user root' 'output /site/%j' 'max-size 10GiB' 'max-jobs 8' >"$D/policy"
	status_of "check-policy" 0 "$IOPROBE" serve --check-policy --policy "$D/policy"
	says "check-policy, rule" out '^ +1 +record user alice$'
	says "check-policy, rule that is never used" out 'never used: rule 2'
	says "check-policy, setting" out '^ +max-jobs +8 \(4 of them for users\)$'
	says "check-policy, recorder's setting" out '^ +max-size +10GiB$'
	status_of "check-policy, default" 0 "$IOPROBE" serve --check-policy
	says "check-policy, default rule" out 'record comment ioprobe'
	echo 'record everything' >"$D/policy"
	status_of "check-policy, mistake" 1 "$IOPROBE" serve --check-policy --policy "$D/policy"
	says "check-policy, mistake, reported" err "^ioprobe: $D/policy:1: "
}

manuals() {
	local page text
	"$TESTS/../tools/manual" "$IOPROBE" "$D/man" 2>"$D/err" || { not_ok manuals "$(said "$D")"; return; }
	verdict "manuals, one for each command" \
		"$("$IOPROBE" help | sed -n '/^Commands:/,/^$/s/^  \([a-z]\{1,\}\) .*/\1/p' | while read -r command; do
		[ "$command" = help ] || [ -s "$D/man/ioprobe-$command.1" ] || echo "no ioprobe-$command.1"; done)"
	verdict "manuals, all findings" "$("$IOPROBE" report --explain list | while read -r page text; do
		grep -q "^.fB$page.fR " "$D/man/ioprobe-report.1" || echo "no $page"; done)"
	have man || { skip "manuals, warnings" "man is not installed"; return; }
	for page in "$D"/man/*; do
		text=$(LC_ALL=C.UTF-8 limited 60 man --warnings -l "$page" 2>&1 >"$D/page")
		verdict "manuals, ${page##*/}" "$text$([ "$(wc -l <"$D/page")" -gt 15 ] || echo "only $(wc -l <"$D/page") lines")"
	done
}

completion() {
	local shell file=ioprobe
	for shell in bash zsh; do
		have $shell || { skip "completion, $shell" "$shell is not installed"; continue; }
		[ $shell = bash ] || file=_ioprobe
		mkdir -p "$D/$shell"
		"$TESTS/../tools/completion" "$IOPROBE" $shell >"$D/$file" 2>"$D/err" ||
			{ not_ok "completion, $shell" "$(said "$D")"; continue; }
		limited 400 "$PYTHON" "$TESTS/lib/shell_completion.py" $shell "$D/$file" "$D/$shell" >"$D/out" 2>&1
		verdict "completion, $shell" \
			"$(grep -v '^\([0-9]*\) of \1$' "$D/out"; grep -q ' of ' "$D/out" || echo 'did not end')"
	done
}

# The archiver waits up to 5 s for the directory's lock, which is held until the line is there.
progress() {
	local pid
	have script || { skip "progress" "script is not installed"; return; }
	status_of "progress, spool" 0 "$IOPROBE" -q record --keep-spool -o "$D/slow" -- true
	rm -f "$D/slow/traces.otf2"
	exec 8<"$D/slow"
	flock 8
	limited 60 script -qfc "'$IOPROBE' recover '$D/slow' 8<&-" "$D/typescript" >/dev/null 2>&1 </dev/null 8<&- & pid=$!
	wait_for_line "$D/typescript" 'making the archive:\|another process makes it' 20
	exec 8<&-
	wait $pid
	if grep -q 'another process makes it' "$D/typescript"; then
		skip "progress" "this machine is too slow: the archiver did not get the lock in 5 s"
	else
		says "progress, reported" typescript 'making the archive: +[0-9]+ s'
		says "progress, then the summary" typescript 'records lost 0'
	fi
}

status_of "version" 0 "$IOPROBE" --version
says "version, reported" out "^ioprobe [0-9]+\\.[0-9]+"
help_texts
table
mistakes
policies
manuals
completion
recordings
progress
