#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Debug information of call sites that is not in the program's own sections: shared by several programs (dwz), compressed
# (.gnu_debugdata), at a debuginfod server.
. "$(dirname "$0")/../lib/e2e.sh"
. "$TESTS/lib/call_sites.sh"

has_section() { readelf -SW "$1" | grep -q " $2 "; }

# What two programs have in common is in a third file, which both name by its build-id.
shared_part() {
	local dir
	have dwz && have readelf || { skip dwz "dwz or binutils are not installed"; return; }
	dir=$(fresh dwz)
	cp "$P/call_sites" "$dir/data/program"
	cp "$P/call_sites_nopie" "$dir/data/other"
	(cd "$dir/data" && limited 60 dwz -m shared.debug -M shared.debug program other) 2>"$dir/err"
	has_section "$dir/data/program" .gnu_debugaltlink || { not_ok dwz "no shared part: $(said "$dir")"; return; }
	record dwz --call-sites=16 -- "$dir/data/program" "$dir/data/out" plain
	plain_sites dwz
}

# As Fedora's programs have it: the names of functions that .dynsym lacks, as an ELF file of its own that xz has compressed.
mini_debug_info() {
	local dir
	have xz && have objcopy || { skip debugdata "xz or binutils are not installed"; return; }
	dir=$(fresh debugdata)
	cp "$P/call_sites" "$dir/data/program"
	(cd "$dir/data" && nm program --format=posix --defined-only | awk '$2 == "t" || $2 == "T" { print $1 }' >names &&
		objcopy --only-keep-debug program debug && objcopy -S --remove-section .comment --keep-symbols=names debug mini &&
		strip program && xz mini && objcopy --add-section .gnu_debugdata=mini.xz program) 2>"$dir/err"
	has_section "$dir/data/program" .gnu_debugdata && ! has_section "$dir/data/program" .symtab ||
		{ not_ok debugdata "not made: $(said "$dir")"; return; }
	record debugdata --call-sites -- "$dir/data/program" "$dir/data/out" plain
	functions debugdata
}

# serve DIR: sets URL to a server of the files below it; its log is DIR/log.
serve() {
	"$PYTHON" -u - "$1" >"$1/port" 2>"$1/log" <<'END' &
import functools, http.server, sys
handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=sys.argv[1])
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
print(server.server_port)
server.serve_forever()
END
	SERVER=$!
	wait_for_line "$1/port" '[0-9]' || not_ok server "did not start"
	URL=http://127.0.0.1:$(cat "$1/port")
}

# requests DIR: how many the server had.
requests() { grep -c '"GET ' "$1/log"; }

# A server is asked by symbolize --debuginfod only: neither while recording nor without the option.
debuginfod() {
	local dir id text
	"$PYTHON" -c 'import ctypes; ctypes.CDLL("libdebuginfod.so.1")' 2>/dev/null && have objcopy ||
		{ skip debuginfod "libdebuginfod or binutils are not installed"; return; }
	dir=$(fresh debuginfod)
	cp "$P/call_sites" "$dir/data/program"
	id=$(readelf -n "$dir/data/program" | awk '/Build ID:/ { print $3 }')
	mkdir -p "$dir/served/buildid/$id"
	objcopy --only-keep-debug "$dir/data/program" "$dir/served/buildid/$id/debuginfo"
	strip "$dir/data/program"
	serve "$dir/served"
	export DEBUGINFOD_URLS=$URL DEBUGINFOD_CACHE_PATH=$dir/cache
	record debuginfod --keep-spool --call-sites=16 -- "$dir/data/program" "$dir/data/out" plain
	"$IOPROBE" symbolize "$dir/trace" >"$dir/stdout" 2>"$dir/err"
	verdict "debuginfod, not asked unless requested" "$([ "$(requests "$dir/served")" = 0 ] || cat "$dir/served/log")"
	verdict "debuginfod, hint" \
		"$(grep -q 'no debug information for them, or ask a server: --debuginfod$' "$dir/err" || said "$dir")"
	text=$("$IOPROBE" symbolize --debuginfod "$dir/trace" 2>&1 >/dev/null) || not_ok debuginfod "$text"
	verdict "debuginfod, asked" "$([ "$(requests "$dir/served")" != 0 ] || echo "$text")"
	plain_sites debuginfod
	contract debuginfod

	# The same for a program that is gone; the server is named.
	mv "$dir/data/program" "$dir/data/gone"
	unset DEBUGINFOD_URLS
	"$IOPROBE" symbolize "$dir/trace" >"$dir/stdout" 2>"$dir/err"
	rm -r "$dir/cache"
	had=$(requests "$dir/served")
	text=$("$IOPROBE" symbolize --debuginfod="$URL" "$dir/trace" 2>&1 >/dev/null) || not_ok "debuginfod, named" "$text"
	verdict "debuginfod, named, asked" "$([ "$(requests "$dir/served")" -gt "$had" ] || echo "$text")"
	sites debuginfod call_sites.c 1504 "${CHAINS[@]}"

	kill "$SERVER"
	wait "$SERVER" 2>/dev/null
	rm -rf "$dir/cache"
	text=$("$IOPROBE" symbolize --debuginfod="$URL" "$dir/trace" 2>&1 >/dev/null) || not_ok "debuginfod, no server" "$text"
	verdict "debuginfod, no server" \
		"$(grep -q "^debuginfod servers ($URL) could not be asked: Connection refused" <<<"$text" || echo "$text")"
	text=$("$IOPROBE" symbolize --debuginfod "$dir/trace" 2>&1)
	verdict "debuginfod, none known" \
		"$([ $? = 2 ] && grep -q 'no server is known: .*DEBUGINFOD_URLS' <<<"$text" || echo "$text")"
	unset DEBUGINFOD_CACHE_PATH
}

shared_part
mini_debug_info
debuginfod
