# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# What a systemd unit allows. (systemd 252 and later can say what its groups of system calls hold without a running systemd.)

units_can() { have systemd-analyze && systemd-analyze syscall-filter @system-service >/dev/null 2>&1; }

# unit_exposure UNIT MOST: its exposure as systemd-analyze rates it is at most this.
unit_exposure() {
	local copy level
	copy=$TMP/$(basename "$1")
	sed 's|@PREFIX@|/usr|' "$1" >"$copy"
	level=$(systemd-analyze security --no-pager --offline=true "$copy" 2>&1 | sed -n 's/.*exposure level.*: \([0-9.]*\).*/\1/p')
	verdict "unit, exposure" "$(awk "BEGIN { exit !($level + 0 > 0 && $level + 0 <= $2) }" || echo "level '$level'")"
}

# unit_calls UNIT TRACE: every system call in strace's output is in the unit's filter.
unit_calls() {
	local calls allowed
	calls=$(sed -nE 's/^[0-9]+ +([a-z_0-9]+)\(.*/\1/p' "$2" | sort -u)
	# shellcheck disable=SC2046
	allowed=$(filter_of $(sed -n 's/^SystemCallFilter=//p' "$1"))
	verdict "unit, system calls" "$([ "$(echo "$calls" | wc -l)" -gt 20 ] ||
		echo "traced too few"; comm -23 <(echo "$calls") <(echo "$allowed" | sort -u))"
}

# filter_of NAME...: of groups their members, also of groups in groups.
filter_of() {
	local name
	for name in "$@"; do
		if [[ $name == @* ]]; then
			# shellcheck disable=SC2046
			filter_of $(systemd-analyze syscall-filter --no-pager "$name" 2>/dev/null |
				sed -n '2,$s/^ *\([@a-z_0-9-]*\)$/\1/p')
		else
			echo "$name"
		fi
	done
}
