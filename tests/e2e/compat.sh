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

# Calls by the numbers of x32, in a 64-bit program: they are counted, the others are recorded.
fresh numbers >/dev/null
record numbers -- "$P/x32_numbers" "$TMP/numbers/data/file"
contract numbers && expect numbers "calls('write') == 10 and written('write') == 80"
verdict "numbers, system calls" "$(grep -q "note: 10 system calls by the 32-bit ABIs" "$TMP/numbers/out" ||
	tail -n 4 "$TMP/numbers/out")"

# noted NAME PROGRAM: summary and archive say that one program was not recorded.
noted() {
	verdict "$1, summary" "$(grep -q 'note: 1 32-bit programs (i386, x32) ran' "$TMP/$1/out" || tail -n 4 "$TMP/$1/out")"
	verdict "$1, program named" "$(grep -q "$2 was not probed.*$no_32_bit" "$TMP/$1/out" || tail -n 4 "$TMP/$1/out")"
	verdict "$1, summary.json" "$(grep -q '32-bit programs (i386, x32) ran' "$TMP/$1/trace/summary.json" ||
		echo "does not say it")"
}

# of_abi NAME COMPILER: a 64-bit program becomes one of this ABI.
of_abi() {
	local program=$P/compat_$1 n
	[ -x "$program" ] || { skip "$1" "gcc $2 is not installed"; return; }
	"$program" "$TMP/probe" 2>/dev/null || { skip "$1" "this kernel runs no such programs"; return; }
	fresh "$1" >/dev/null
	record "$1" -- "$P/compat" "$TMP/$1/data/file" "$program"
	verdict "$1, output" "$([ "$(stat -c %s "$TMP/$1/data/file")" = 160 ] || echo "$(stat -c %s "$TMP/$1/data/file") bytes")"
	contract "$1" && expect "$1" "calls('write') == 10" "layer_bytes('POSIX', '*/data/file') == [0, 80]"
	noted "$1" "compat_$1"
	# As many as strace sees, and exit_group, which does not return.
	have strace || { skip "$1, system calls" "strace is not installed"; return; }
	limited 20 strace -f -c -o "$TMP/$1/strace" "$program" "$TMP/$1/data/traced"
	n=$(awk '/(32 bit|x32) mode/ { on = 1 } on && $NF == "total" { print $4 + 1 }' "$TMP/$1/strace")
	verdict "$1, system calls" "$(grep -q "note: $n system calls by the 32-bit ABIs" "$TMP/$1/out" ||
		echo "$n expected: $(grep 'system calls by the 32-bit' "$TMP/$1/out")")"
}

of_abi i386 -m32
of_abi x32 -mx32
