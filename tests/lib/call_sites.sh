# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Checks of call sites, for suites that have sourced e2e.sh.
SOURCES=$TESTS/programs

# sites NAME SOURCE COUNT CHAIN...: as in tests/lib/call_sites.py.
sites() {
	local name=$1 text
	shift
	text=$(limited 60 "$PYTHON" "$TESTS/lib/call_sites.py" "$TMP/$name/trace/summary.json" "$SOURCES/$1" "${@:2}" 2>&1) &&
		{ ok "$name, sites"; return 0; }
	not_ok "$name, sites" "$text"
}

# chains ROUNDS [TAIL]: sets CHAINS to those of a number of rounds.
chains() {
	CHAINS+=("$((100 * $1)) put_one@write write_field@field outer@first a_round@outer $2"
		"$((200 * $1)) put_one@write write_field@field outer@second a_round@outer $2"
		"$((50 * $1)) put_one@write with_vla@vla outer@third a_round@outer $2"
		"$((25 * $1)) put_one@write write_field@field aligned@aligned outer@fourth a_round@outer $2"
		"$1 put_one@write write_field@field a_round@once $2")
}

# plain_sites NAME: of call_sites.c in mode plain, 4 rounds.
plain_sites() {
	CHAINS=()
	chains 4 'rounds@round main@main'
	sites "$1" call_sites.c $((376 * 4)) "${CHAINS[@]}"
}

# functions NAME: of call_sites.c without debug information, 4 rounds: the functions of the application's frames, and no lines.
functions() {
	local text
	text=$("$PYTHON" - "$TMP/$1/trace/summary.json" <<'END'
import json, sys
sites = json.load(open(sys.argv[1]))["call_sites"]["sites"]
# put_one is inlined: only debug information knows of it
rows = [s for s in sites if s["bytes_written"]]
own = [[f["function"] for f in s["frames"] if f["application"]] for s in rows]
if sum(s["calls"] for s in rows) != 1504:
    print("%d calls" % sum(s["calls"] for s in rows))
other = any(f and f[0] not in ("write_field", "with_vla") for f in own)
if other or any(not f and s["callers"] != "unknown" for f, s in zip(own, rows)):
    print(own)
if any(f["line"] for s in rows for f in s["frames"] if f["application"]):
    print("lines without debug information")
END
)
	verdict "$1, functions" "$text"
}
