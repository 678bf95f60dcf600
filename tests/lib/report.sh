# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# What the suites of "ioprobe report" share; sourced after e2e.sh.

# report_of NAME [OPTION...]: the report of $TMP/NAME/trace in $TMP/NAME/report.json.
report_of() {
	limited 60 "$IOPROBE" report --format json "${@:2}" "$TMP/$1/trace" >"$TMP/$1/report.json" 2>"$TMP/$1/report.err" </dev/null
}

check_report() {
	limited 20 "$PYTHON" "$TESTS/lib/report_check.py" "$TMP/$1/report.json" "${@:2}" 2>&1
}

# recorded NAME [OPTION...] -- COMMAND...: records and reports; status 1 after a line of failure.
recorded() {
	fresh "$1" >/dev/null
	record "$@"
	if [ $STATUS != 0 ]; then
		not_ok "$1" "status $STATUS: $(said "$TMP/$1")"
		return 1
	fi
	rm -rf "$TMP/$1/data"
	report_of "$1" && return 0
	not_ok "$1" "no report: $(cat "$TMP/$1/report.err")"
	return 1
}

# planted CODE CASE FILE RANKS [note] -- COMMAND...: the command gets the case, "bad" and a directory. The first finding is CODE, in
# FILE, on RANKS ("-": not checked), at a line of the program's source that is marked "planted: CASE". note: it may be one of little
# cost.
planted() {
	local code=$1 case=$2 file=$3 ranks=$4 note= source text
	shift 4
	[ "$1" = note ] && { note=note; shift; }
	shift
	source=${*: -1}
	source=$TESTS/planted/${source##*/planted_}.c
	case $file in -|'*'*) ;; *) file="*/data/$file" ;; esac
	recorded "$case" --call-sites -- "$@" "$case" bad "$TMP/$case/data" || return
	text=$(check_report "$case" found "$code" "$file" "$ranks" "$source" "$case" $note)
	case $? in
	0) ok "$case" ;;
	2) skip "$case, line" "$text" ;;
	*) not_ok "$case" "$text" ;;
	esac
}

# twins NAME [OPTION...] -- COMMAND...: all cases of a program without their mistakes: nothing is high; OPTION is for the report.
twins() {
	local name=$1 options=()
	shift
	while [ "$1" != -- ]; do options+=("$1"); shift; done
	shift
	recorded "$name" -- "$@" all good "$TMP/$name/data" || return
	report_of "$name" "${options[@]}"
	verdict "$name" "$(check_report "$name" clean)"
}
