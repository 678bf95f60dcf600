#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# ioprobe-mpi report: several processes read an archive together and make the same report as one; where one of them fails, one line
# says which and why, and all end.
. "$(dirname "$0")/../lib/e2e.sh"
. "$(dirname "$0")/../lib/report.sh"
IOPROBE_MPI=$IOPROBE-mpi
[ -x "$IOPROBE_MPI" ] && have mpirun || { skip all "no MPI"; exit 0; }
[ "$(id -u)" = 0 ] || { skip all "needs root"; exit 0; }
chmod 755 "$TMP"
install -d -o nobody "$TMP/session"

# together N NAME [OPTION...]: as nobody, since it refuses root; output to $TMP/NAME/N.out.
together() {
	local n=$1 name=$2
	shift 2
	(cd / && HOME=/ TMPDIR=$TMP/session NO_COLOR=1 limited 60 setpriv --reuid nobody --regid nogroup --clear-groups -- \
		mpirun --oversubscribe -n "$n" "$@") >"$TMP/$name/$n.out" 2>"$TMP/$name/$n.err" </dev/null
}

# same NAME: by one, two and five processes, all formats.
same() {
	local name=$1 n format
	chmod -R a+rX "$TMP/$name"
	for format in json text csv; do
		limited 60 "$IOPROBE" report --all --format $format "$TMP/$name/trace" >"$TMP/$name/alone" 2>"$TMP/$name/err" \
			</dev/null
		for n in 1 2 5; do
			together $n "$name" "$IOPROBE_MPI" report --all --format $format "$TMP/$name/trace"
			verdict "$name, $format, $n processes" \
				"$(cmp "$TMP/$name/alone" "$TMP/$name/$n.out" 2>&1 || head -3 "$TMP/$name/$n.err"
				[ -s "$TMP/$name/alone" ] || echo 'no report')"
		done
	done
}

# refused NAME N TEXT PROGRAM...: status 1, nothing on stdout, and the text once.
refused() {
	local name=$1 n=$2 text=$3
	shift 3
	fresh "$name" >/dev/null
	together "$n" "$name" "$@"
	local status=$?
	verdict "$name" "$([ $status = 1 ] || echo "status $status"; [ -s "$TMP/$name/$n.out" ] && echo 'something on stdout'
		[ "$(grep -c "$text" "$TMP/$name/$n.err")" = 1 ] || head -5 "$TMP/$name/$n.err")"
}

recorded parallel --call-sites -- mpirun -n 4 "$P/parallel_nc" "$TMP/parallel/data/f.nc" && same parallel
# Requests are made in some locations and carried out in others, which other processes read.
recorded by_aio -- mpirun -n 2 --mca io ompio --mca fcoll vulcan "$P/ior" MPIIO-C "$TMP/by_aio/data/file" 1 33554432 33554432 &&
	same by_aio
if [ -d "$TMP/parallel/trace" ]; then
	mkdir "$TMP/damaged" && cp -r "$TMP/parallel/trace" "$TMP/damaged/trace"
	truncate -s 3000 "$(ls -S "$TMP"/damaged/trace/traces/*.evt | head -1)"
	same damaged
fi

# One process finds no archive, or another one, in the directory that it is started in.
mkdir "$TMP/here" "$TMP/there" && ln -s "$TMP/parallel/trace" "$TMP/here/a" && ln -s "$TMP/by_aio/trace" "$TMP/there/a"
in_directories='test "$OMPI_COMM_WORLD_RANK" = 1 && cd "$2" || cd "$1"; exec "$3" report a'
refused "an archive is missing" 3 'process 1 of 3: a: cannot open it' sh -c "$in_directories" sh "$TMP/here" / "$IOPROBE_MPI"
refused "another archive" 3 'of another archive' sh -c "$in_directories" sh "$TMP/here" "$TMP/there" "$IOPROBE_MPI"
refused "no archive" 3 'cannot open it' "$IOPROBE_MPI" report /nonexistent

fresh usage >/dev/null
together 2 usage "$IOPROBE_MPI" record; status=$?
verdict "other commands" "$([ $status = 2 ] ||
	echo "status $status"; [ "$(grep -c 'only makes reports' "$TMP/usage/2.err")" = 1 ] || head -3 "$TMP/usage/2.err")"
together 2 usage "$IOPROBE_MPI" report --formt json x; status=$?
verdict "wrong option" "$([ $status = 2 ] || echo "status $status"; [ "$(grep -c 'unknown option' "$TMP/usage/2.err")" = 1 ] ||
	head -3 "$TMP/usage/2.err")"
limited 60 mpirun --allow-run-as-root -n 2 "$IOPROBE_MPI" report "$TMP/parallel/trace" >"$TMP/usage/out" 2>"$TMP/usage/err";
status=$?
verdict "as root" "$([ $status = 1 ] || echo "status $status"; grep -q 'cannot run as root' "$TMP/usage/err" ||
	head -3 "$TMP/usage/err"
	[ -s "$TMP/usage/out" ] && echo 'something on stdout')"
