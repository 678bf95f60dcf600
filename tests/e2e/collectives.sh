#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# --collectives: the collective calls of MPI next to outermost calls, and no others; those inside I/O calls stay as they are.
. "$(dirname "$0")/../lib/e2e.sh"
have mpirun || { skip all "no mpirun"; exit 0; }

# The outermost calls of each rank from its first to its last pwrite, and their neighbours. A collective call in which the library
# makes recorded system calls is always recorded.
outermost="[[c for c in trace.calls if not c.parent and c.group == 'MPI Rank %d' % r and c.location.name == 'Master thread']
	for r in (0, 1)]"
bare="[c.name for c in calls_of if not (c.layer == 'MPI' and any(d.parent is c for d in trace.calls))]"
part="[[n for n in v[v.index('pwrite64') - 1:len(v) - v[::-1].index('pwrite64') + 1]] for calls_of in $outermost for v in [$bare]]"

# next_to NAME OPTION... [-- ARGUMENT...]: records; what is next to each pwrite, and the last arrival.
next_to() {
	local name=$1 options=() && shift
	fresh "$name" >/dev/null
	while [ $# -gt 0 ] && [ "$1" != -- ]; do options+=("$1") && shift; done
	record "$name" "${options[@]}" -- mpirun -n 2 "$P/collectives" "$TMP/$name/data" "${@:2}"
	verdict "$name, status" "$([ $STATUS = 0 ] || echo "status $STATUS: $(said "$TMP/$name")")"
	contract "$name"
	lost_nothing "$name"
}

next_to beside --collectives --call-sites
expect beside "all(v == ['MPI_Allreduce', 'pwrite64', 'MPI_Bcast'] * 5 for v in $part)" \
	"all(v[v.index('MPI_Barrier')] and v[v.index('pwrite64') - 2] == 'MPI_Barrier' for calls_of in $outermost
		for v in [$bare])" \
	"all(v[len(v) - v[::-1].index('close') - 2] == 'MPI_Barrier' for calls_of in $outermost for v in [$bare])" \
	"len(select('MPI_Allreduce')) == 10 and len(select('MPI_Bcast')) == 10 and not select('MPI_Reduce')" \
	"all(min(c.end for c in pair) >= max(c.begin for c in pair)
		for pair in zip(*[[c for c in v if c.name == 'MPI_Allreduce'] for v in $outermost]))" \
	"all(b.begin - a.begin > 10000000 for a, b
		in list(zip(*[[c for c in v if c.name == 'MPI_Allreduce'] for v in $outermost]))[1:])"

# Each call has a line of the program as its call site, also a call whose record was sent when the next I/O call began.
located() {
	limited 60 otf2-print "$TMP/beside/trace/traces.otf2" | grep -A 1 "^ENTER .*\"$1\"" |
		grep -o 'SOURCE_CODE_LOCATION; "[^"]*/collectives.c:[0-9]*"' | sort | uniq -c | awk '{ print $1 }'
}
verdict "beside, call sites" "$([ "$(located MPI_Allreduce) $(located MPI_Bcast)" = "10 10" ] ||
	echo "$(located MPI_Allreduce), $(located MPI_Bcast) of a line")"

# With CPU times: a collective call belongs to the time between calls, unless it is the first one after an outermost call.
next_to both --collectives --cpu-time
expect both "all(v == ['MPI_Allreduce', 'pwrite64', 'MPI_Bcast'] * 5 for v in $part)" \
	"not any('cpu time' in c.attributes for c in select('MPI_Allreduce') if not any(d.parent is c for d in trace.calls))" \
	"all('cpu time' in c.attributes for c in select('MPI_Bcast') + select('pwrite64', path='*/data/rank*'))" \
	"all('sleep before' in c.attributes for c in select('pwrite64', path='*/data/rank*'))" \
	"sum(c.attributes.get('sleep before', 0) for c in select('*', group='MPI Rank 1')) >= 150000000"

# A rank that is late because it sleeps, and one that computes: what the time before each of its five writes is made of.
before="[(c.begin - p.end - sum(c.attributes.get(n, 0) for n in ('sleep before', 'run delay before')),
		c.attributes.get('sleep before', 0))
	for v in [[c for c in select('*', group='MPI Rank 1') if 'cpu time' in c.attributes]]
	for p, c in zip(v, v[1:]) if c.name == 'pwrite64']"
next_to computing --collectives --cpu-time -- 0 compute
expect both "len($before) == 5 and all(sleep >= 30000000 for _, sleep in $before)"
expect computing "len($before) == 5 and all(cpu >= 30000000 > sleep for cpu, sleep in $before)"

# Without the option, none outside of I/O.
next_to without
expect without "not select('MPI_Barrier') and not select('MPI_Allreduce') and not select('MPI_Bcast')"

# A call that is recorded long after its end counts for the intervals in which it was: all intervals of a stream add up to the
# summary.
fresh streamed >/dev/null
record streamed --collectives --stream --stream-interval 200ms "--json=$TMP/streamed/summary.json" -- mpirun -n 2 "$P/collectives" \
	"$TMP/streamed/data" 700
contract streamed
verdict "streamed, adds up" "$("$PYTHON" "$TESTS/lib/conservation.py" "$TMP/streamed/trace/live.db" "$TMP/streamed/summary.json" \
	2>&1)"
