#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# The call sites with most calls are those that gdb finds at the same calls (lib/same_as_gdb.py). "make check-call-sites" sets
# ALL_SITES=1: also cdo, LAMMPS, meep and PostgreSQL.
. "$(dirname "$0")/../lib/e2e.sh"
have gdb || { skip all "gdb is not installed"; exit 0; }
"$PYTHON" -c 'import otf2' 2>/dev/null || { skip all "no python3-otf2"; exit 0; }
DATA=$(fresh files)/data

# same_sites NAME SECONDS COMMAND...
same_sites() {
	local name=$1 dir program text
	program=$(command -v "$3") || { skip "$name" "$3 is not installed"; return; }
	dir=$(fresh "$name")
	[ -z "${AS:-}" ] || chmod 777 "$dir"
	text=$(cd "$DATA" && limited "$2" "$PYTHON" "$TESTS/lib/same_as_gdb.py" "$IOPROBE" "$dir" 5 "$program" "${@:4}" \
		2>"$dir/said") || text=${text:-$(said_by "$dir/said")}
	verdict "$name" "$text"
	[ -z "${ALL_SITES:-}" ] || echo "$name: $(grep ' sites, ' "$dir/said")"
}
said_by() { tail -n 2 "$1" | cut -c 1-300; }

have ncgen || { skip all "ncgen is not installed"; exit 0; }
cat >"$DATA/a.cdl" <<'CDL'
netcdf a { dimensions: x = 2000; y = 50; variables: double u(y, x); double v(y, x); }
CDL
ncgen -k nc4 -o "$DATA/a.nc" "$DATA/a.cdl"
same_sites nccopy 120 nccopy -m 4096 -k classic a.nc b.nc
[ -n "${ALL_SITES:-}" ] || exit 0
same_sites cdo 200 cdo -s -f nc4 copy a.nc o.nc
sed 's/^run 10/run 100/; s/${dump}/atom 1 dump.txt/; s/${restart}/restart.bin/' "$TESTS/data/lammps.in" >"$DATA/lammps.in"
same_sites lammps 200 lmp -in lammps.in -log none

# Guile's compiler for machine code writes no unwind tables.
cp "$TESTS/data/field.ctl" "$DATA/"
GUILE_JIT_THRESHOLD=-1 same_sites meep 300 meep field.ctl

# One process, as its user; each run begins with the same cluster.
postgresql() {
	local bin as=(setpriv --reuid=postgres --regid=postgres --clear-groups)
	bin=$(find /usr/lib/postgresql/*/bin -name postgres 2>/dev/null | tail -n 1)
	[ -n "$bin" ] && id postgres >/dev/null 2>&1 || { skip postgresql "PostgreSQL is not installed"; return; }
	chmod 777 "$DATA"
	"${as[@]}" "${bin%/*}/initdb" -D "$DATA/cluster" >"$DATA/initdb" 2>&1 ||
		{ not_ok postgresql "$(tail -n 1 "$DATA/initdb")"; return; }
	mv "$DATA/cluster" "$DATA/fresh"
	cat >"$DATA/in.sql" <<'SQL'
CREATE TABLE t(a int, b text);
INSERT INTO t SELECT i, repeat('x', 500) FROM generate_series(1, 2000) i;
CHECKPOINT;
SELECT count(*) FROM t;
SQL
	BEFORE="rm -rf '$DATA/cluster' && cp -a '$DATA/fresh' '$DATA/cluster'" AS=postgres INPUT=$DATA/in.sql \
		same_sites postgresql 300 "$bin" --single -D "$DATA/cluster" postgres
}
postgresql
