#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# 32-bit programs are not recorded, and the trace says so; 64-bit ones beside them are recorded as ever.
. "$(dirname "$0")/../lib/e2e.sh"

no_32_bit="32-bit programs are not recorded, nor are their system calls"

fresh none >/dev/null
record none -- "$P/compat" "$TMP/none/data/file" "$P/compat"
contract none && expect none "calls('write') == 20" "layer_bytes('POSIX', '*/data/file') == [0, 160]"
grep -q "$no_32_bit\|32-bit programs (i386, x32) ran" "$TMP/none/out" && not_ok "none, no note" "there was no 32-bit program" ||
	ok "none, no note"

[ -x "$P/compat_i386" ] || { skip i386 "gcc -m32 is not installed"; exit 0; }
"$P/compat_i386" "$TMP/probe" 2>/dev/null || { skip i386 "this kernel runs no 32-bit programs"; exit 0; }

# noted NAME: summary and archive say that one program was not recorded.
noted() {
	verdict "$1, summary" "$(grep -q 'note: 1 32-bit programs (i386, x32) ran' "$TMP/$1/out" || tail -n 4 "$TMP/$1/out")"
	verdict "$1, program named" "$(grep -q "compat_i386 was not probed.*$no_32_bit" "$TMP/$1/out" || tail -n 4 "$TMP/$1/out")"
	verdict "$1, summary.json" "$(grep -q '32-bit programs (i386, x32) ran' "$TMP/$1/trace/summary.json" ||
		echo "does not say it")"
}

fresh exec >/dev/null
record exec -- "$P/compat" "$TMP/exec/data/file" "$P/compat_i386"
verdict "exec, output" "$([ "$(stat -c %s "$TMP/exec/data/file")" = 160 ] || echo "$(stat -c %s "$TMP/exec/data/file") bytes")"
contract exec && expect exec "calls('write') == 10" "layer_bytes('POSIX', '*/data/file') == [0, 80]"
noted exec

# As many as strace sees, and exit_group, which does not return.
if have strace; then
	limited 20 strace -f -c -o "$TMP/exec/strace" "$P/compat_i386" "$TMP/exec/data/traced"
	n=$(awk '/32 bit mode/ { on = 1 } on && $NF == "total" { print $4 + 1 }' "$TMP/exec/strace")
	verdict "exec, system calls" "$(grep -q "note: $n system calls by the 32-bit ABIs" "$TMP/exec/out" ||
		echo "$n expected: $(grep 'system calls by the 32-bit' "$TMP/exec/out")")"
else
	skip "exec, system calls" "strace is not installed"
fi
