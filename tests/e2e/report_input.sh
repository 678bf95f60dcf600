#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# ioprobe report: formats, hostile names, and archives that are damaged, empty, or another recorder's.
. "$(dirname "$0")/../lib/e2e.sh"
. "$(dirname "$0")/../lib/report.sh"

hostile=$(fresh hostile)
name=$(printf '</script><img src=x onerror=alert(1)>\033[31m')
mkdir -p "$hostile/data/<"                      # the name has a slash: "<" is a directory
record hostile -- "$P/planted_posix" small_writes bad "$hostile/data"
mv "$hostile/trace" "$hostile/plain"
cat >"$hostile/writes.py" <<'PYTHON'
import os, sys, threading
fd = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT)
for _ in range(3000):
    os.write(fd, b"x" * 100)
other = threading.Thread(target=os.pwrite, args=(fd, b"x" * 100, 0))
other.start()
other.join()
PYTHON
record hostile -- "$PYTHON" "$hostile/writes.py" "$hostile/data/$name"
if [ $STATUS = 0 ]; then
	text=$(limited 300 "$PYTHON" "$TESTS/lib/report_formats.py" "$IOPROBE" "$hostile/trace" \
		"$TESTS/../user/report/report.schema.json" "$hostile" 2>&1)
	verdict formats "$text"
else
	not_ok formats "no archive: $(said "$hostile")"
fi

text=$(limited 380 "$PYTHON" "$TESTS/lib/report_damage.py" "$IOPROBE" "$hostile/plain" "$hostile/damaged" 2>&1)
verdict damaged "$text"

# An archive without any I/O.
fresh empty >/dev/null
record empty --layers mpiio -- /bin/true
if report_of empty; then verdict empty "$(check_report empty is 'codes == []' 'r["time"]["io_seconds"] == 0')"; else
	not_ok empty "$(cat "$TMP/empty/report.err")"; fi

# What another recorder writes: no offsets, no errors, no properties of ioprobe.
foreign=$(fresh foreign)
if limited 60 "$PYTHON" "$TESTS/lib/foreign_trace.py" "$foreign/trace" 2>"$foreign/err"; then
	report_of foreign || not_ok foreign "$(cat "$foreign/report.err")"
	verdict foreign "$(check_report foreign is 'codes[0] == "P16"' 'finding("P06")["cause"] == "P16"' \
		'finding("P06")["files"][0]["path"] == "/scratch/out.dat"' \
		'finding("P06")["paid_by"] == "rank 1"' 'r["trace"]["ranks"] == 2' \
		'"X12" in [c["code"] for c in r["cannot_tell"]]' \
		'"unknown" in r["trace"]["completeness"]' \
		'{"P07", "P08", "P09", "P10", "P11", "P12", "P13", "P14"} < {c["code"] for c in r["cannot_tell"]}')"
	limited 60 "$PYTHON" "$TESTS/lib/foreign_trace.py" "$foreign/coloured" "$(printf '1 \033[31mred')" \
		2>"$foreign/err" &&
		limited 60 "$IOPROBE" report "$foreign/coloured/traces.otf2" >"$foreign/text" 2>&1
	verdict "escapes in properties" "$(grep -qF 'ranks missing: 1 \x1b[31mred' "$foreign/text" ||
		cat "$foreign/err" "$foreign/text"
		grep -n "$(printf '\033')" "$foreign/text")"
else
	skip foreign "python3-otf2: $(tail -n 1 "$foreign/err")"
fi

# Two runs of one program: the one with small writes has the finding.
fresh large >/dev/null
record large -- "$P/planted_posix" small_writes good "$TMP/large/data"
limited 60 "$IOPROBE" diff "$hostile/plain" "$TMP/large/trace" >"$hostile/diff" 2>&1
verdict diff "$(grep -q '^gone  P06' "$hostile/diff" && grep -q '^small.dat ' "$hostile/diff" || tail -n 5 "$hostile/diff")"

# Root reads a user's archive as that user; without root it is as good.
if id nobody >/dev/null 2>&1; then
	cp -r "$hostile/plain" "$foreign/user" && chown -R nobody "$foreign/user" && chmod 700 "$foreign/user"
	limited 60 "$IOPROBE" report "$foreign/user" >"$foreign/as_root" 2>&1
	(cd / && limited 60 setpriv --reuid nobody --clear-groups --regid nogroup "$IOPROBE" report "$foreign/user") \
		>"$foreign/as_user" 2>&1
	verdict "without root" "$(cmp "$foreign/as_root" "$foreign/as_user" 2>&1; grep -q P06 "$foreign/as_user" ||
		tail -n 2 "$foreign/as_user")"
fi
