#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Static facts of files and of the objects inside them: hints, views and implementation of MPI-IO, layout, filters and fill
# of datasets and variables; in the archive, its summary, and a merged archive.
. "$(dirname "$0")/../lib/e2e.sh"
. "$TESTS/lib/facts.sh"

# of_hints NAME IMPLEMENTATION LAUNCHER...: what was asked, what the library says is in use (as the program printed it), the view.
of_hints() {
	local name=$1 implementation=$2 file="*/data/f.bin"
	fresh "$name" >/dev/null
	record "$name" "--json=$TMP/$name/summary.json" -- "${@:3}" "$TMP/$name/data/f.bin"
	verdict "$name, status" "$([ $STATUS = 0 ] || echo "status $STATUS: $(said "$TMP/$name")")"
	contract "$name"
	lost_nothing "$name"
	for hint in cb_nodes no_such_hint; do
		printed=$(sed -n "s/^hint $hint //p" "$TMP/$name/stdout" | sort -u)
		expect "$name" "$(fact "$file" "MPI-IO: Hint in Use $hint") == ['$printed']"
	done
	expect "$name" "$(fact "$file" 'MPI-IO: Hint cb_nodes') == ['2'] and $(fact "$file" 'MPI-IO: Hint no_such_hint') == ['7']" \
		"$(fact '*' 'MPI-IO: Hint deleted_hint') == []" "$(fact "$file" 'MPI-IO: Implementation') == ['$implementation']" \
		"$(fact "$file" 'MPI-IO: View Displacement') == ['16'] and $(fact "$file" 'MPI-IO: Atomicity') == ['on']" "$VIEW"
	printed=$(sed -n "s/^library MPICH Version:[[:space:]]*\([0-9.]*\).*/'\1'/p" "$TMP/$name/stdout" | sort -u)
	# Debian 13's MPICH 4.2.1 does not export it
	nm -D "$LIBRARY_PATH" | grep ' MPII_Version_string$' >"$TMP/$name/symbol" || printed=
	expect "$name" "$(fact "$file" 'MPI-IO: Library') == ['$LIBRARY']" "$(fact "$file" 'MPI-IO: Library Version') == [$printed]"
	verdict "$name, JSON" "$("$PYTHON" "$TESTS/lib/check_summary.py" "$TMP/$name/summary.json" \
		"s['facts_unknown'] == 0 and s['facts_beyond'] == 0" 2>&1)"
}

VIEW="$(fact '*/f.bin' 'MPI-IO: View Element Bytes') == ['8'] and $(fact '*/f.bin' 'MPI-IO: View Filetype Bytes') == ['24']"
# library_of PROGRAM PATTERN: the library that the loader finds for it.
library_of() {
	LIBRARY_PATH=$(readlink -f "$(ldd "$1" | awk -v p="$2" '$1 ~ p { print $3 }')")
	LIBRARY=${LIBRARY_PATH##*/}
}

if have mpirun; then
	library_of "$P/hints" '^libmpi\\.so'
	of_hints ompio OMPIO mpirun -n 2 --mca io ompio "$P/hints"
	of_hints romio ROMIO mpirun -n 2 --mca io ^ompio "$P/hints"
else
	skip open_mpi "no mpirun"
fi
# Data types of MPICH do not tell the sizes of derived ones.
VIEW="$(fact '*/f.bin' 'MPI-IO: View Element Bytes') == []"
if have mpirun.mpich && [ -x "$P/mpich/hints" ]; then
	library_of "$P/mpich/hints" '^libmpich\\.so'
	of_hints mpich ROMIO mpirun.mpich -n 2 "$P/mpich/hints"
	expect mpich "$(fact '*/f.bin' 'MPI-IO: Hint in Use no_such_hint') == ['not set']"
else
	skip mpich "no MPICH"
fi

[ -x "$P/facts" ] && have mpirun || { skip datasets "no parallel HDF5 or netCDF"; exit 0; }
fresh datasets >/dev/null
record datasets "--json=$TMP/datasets/summary.json" -- mpirun -n 2 "$P/facts" "$TMP/datasets/data"
verdict "datasets, status" "$([ $STATUS = 0 ] || echo "status $STATUS: $(said "$TMP/datasets")")"
contract datasets
lost_nothing datasets

all_of datasets
# Fill values are written below the call that creates the dataset, and are all that is written there.
expect datasets "sum(c.written for c in select('*write*', path='*/data/d.h5') if 'H5Dcreate2' in c.above()) == 64 * 1024 * 4" \
	"$(fact '*/data/d.h5' 'HDF5 filled: Fill Time') == ['at-allocation']" \
	"$(fact '*/data/d.h5' 'HDF5 filled: Allocation Time') == ['early']"
# Of the datasets that were only opened, the facts of one were asked for.
verdict "datasets, JSON" "$("$PYTHON" "$TESTS/lib/check_summary.py" "$TMP/datasets/summary.json" "s['facts_unknown'] == 1" \
	"[f['values'] for x in s['files'] if x['path'].endswith('/d.h5') for f in x['facts']
		if f['object'] == 'many' and f['name'] == 'Chunk Shape'] == [['3,5']]" 2>&1)"

mkdir "$TMP/merged" && limited 60 "$IOPROBE" merge -o "$TMP/merged/trace" "$TMP/datasets/trace" >"$TMP/merged/out" 2>&1
verdict "merged, status" "$([ -f "$TMP/merged/trace/traces.otf2" ] || cat "$TMP/merged/out")"
contract merged
all_of merged

# Lustre's layouts, by a file system that has its attribute, in a mount namespace of its own; each is asked for once, and what has
# none is counted.
striped() {
	local name="striped $1" f="'*/$1/mount/@'"
	local parts="0-1048576: 1 x 1048576 on 5; 1048576-1073741824: 4 x 4194304 on 5,6,8,9"
	fresh "$1" >/dev/null && mkdir "$TMP/$1/mount"
	[ -c /dev/fuse ] && grep -qw fuse /proc/filesystems || { skip "$name" "no FUSE"; return; }
	IOPROBE_LUSTRE_MAGIC=0x65735546 record "$1" "--json=$TMP/$1/summary.json" -- \
		/usr/bin/python3 -B "$TESTS/lib/lustre_fuse.py" "$TMP/$1/mount" "$1"
	verdict "$name, status" "$([ $STATUS = 0 ] || echo "status $STATUS: $(said "$TMP/$1")")"
	verdict "$name, asked" \
		"$(grep -qx 'composite:1 damaged:1 none:1 plain:1 pooled:1' "$TMP/$1/stdout" || cat "$TMP/$1/stdout")"
	# CAP_DAC_READ_SEARCH and CAP_SYS_PTRACE; the socket is 3, the file 4 or 5; no BPF map is mapped
	verdict "$name, the reader's rights" \
		"$(tail -n +2 "$TMP/$1/stdout" | grep -vxE '80004 80004 0 1 / /dev/null /dev/null /dev/null [45] 0')"
	contract "$1"
	of() { echo "prop($(sed "s/@/$1/" <<<"$f"), 'Stripe $2') == [$3]"; }
	expect "$1" "$(of plain Size 1048576)" "$(of plain Count 4)" "$(of plain Devices "'3,7,1,2'")" "$(of plain Pool None)" \
		"$(of pooled Size 4194304)" "$(of pooled Count 2)" "$(of pooled Devices "'11,12'")" "$(of pooled Pool "'fast'")" \
		"$(of composite Size None)" "$(of composite Devices "'5,6,8,9'")" "$(of none Size None)" "$(of damaged Size None)" \
		"$(of composite Components "'$parts; 1073741824-: not allocated'")"
	verdict "$name, JSON" "$("$PYTHON" "$TESTS/lib/check_summary.py" "$TMP/$1/summary.json" "s['facts_unknown'] == 2" \
		"[(f['stripe_size'], f['stripe_count']) for f in s['files']
			if f['path'].endswith('/plain')] == [(1048576, 4)]" 2>&1)"
}
striped open
striped closed

# A server that does not answer: the recording ends, and what was asked is counted.
unanswered() {
	fresh unanswered >/dev/null && mkdir "$TMP/unanswered/mount"
	[ -c /dev/fuse ] && grep -qw fuse /proc/filesystems || { skip unanswered "no FUSE"; return; }
	IOPROBE_LUSTRE_MAGIC=0x65735546 record unanswered "--json=$TMP/unanswered/summary.json" -- \
		/usr/bin/python3 -B "$TESTS/lib/lustre_fuse.py" "$TMP/unanswered/mount" silent
	kill "$(tail -n 1 "$TMP/unanswered/stdout")"
	verdict "unanswered, status" "$([ $STATUS = 0 ] || echo "status $STATUS: $(said "$TMP/unanswered")")"
	verdict "unanswered, asked" \
		"$(head -n 1 "$TMP/unanswered/stdout" | grep -qE '^[a-z]+:1$' || cat "$TMP/unanswered/stdout" - <<<none)"
	verdict "unanswered, JSON" \
		"$("$PYTHON" "$TESTS/lib/check_summary.py" "$TMP/unanswered/summary.json" "s['facts_unknown'] == 5" 2>&1)"
}
unanswered

# A report shows with a finding what its files have set.
[ -x "$P/planted_hdf5" ] || { skip report "the planted programs are not built"; exit 0; }
fresh report >/dev/null
record report -- "$P/planted_hdf5" chunks bad "$TMP/report/data"
limited 60 "$IOPROBE" report "$TMP/report/trace" >"$TMP/report/text" 2>&1
verdict "report, settings" \
	"$(grep -q '^     set HDF5 field: Chunk Cache = 0; HDF5 field: ' "$TMP/report/text" || head -n 12 "$TMP/report/text")"
