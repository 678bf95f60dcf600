# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# What the suites of "ioprobe report" share; sourced after e2e.sh.

# report_of NAME [OPTION...]: the report of $TMP/NAME/trace in $TMP/NAME/report.json.
report_of() {
	limited 60 "$IOPROBE" report --format json "${@:2}" "$TMP/$1/trace" >"$TMP/$1/report.json" 2>"$TMP/$1/report.err" </dev/null
}

check_report() {
	limited 20 "$PYTHON" "$TESTS/lib/report_check.py" "$TMP/$1/report.json" "${@:2}" 2>&1
}

# planted CODE CASE FILE [note] -- COMMAND...: the command gets the case, "bad" or "good", and a directory.
planted() {
	local code=$1 case=$2 file=$3 note= name reason
	shift 3
	[ "$1" = note ] && { note=note; shift; }
	shift
	for twin in bad good; do
		name=$case-$twin
		fresh "$name" >/dev/null
		record "$name" -- "$@" "$case" $twin "$TMP/$name/data"
		if [ $STATUS != 0 ]; then
			not_ok "$name" "status $STATUS: $(said "$TMP/$name")"
		elif ! report_of "$name"; then
			not_ok "$name" "no report: $(cat "$TMP/$name/report.err")"
		elif [ $twin = bad ]; then
			reason=$(check_report "$name" found "$code" "$([ "$file" = - ] && echo - || echo "*/data/$file")" $note)
			verdict "$name" "$reason"
		else
			reason=$(check_report "$name" clean "$code")
			verdict "$name" "$reason"
		fi
		rm -rf "$TMP/$name/data"
	done
}
