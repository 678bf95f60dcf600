#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# ioprobe report: each planted mistake is the first finding, with its file ("note": it is found, in any place),
# and its clean twin has none that is high.
. "$(dirname "$0")/../lib/e2e.sh"
. "$(dirname "$0")/../lib/report.sh"

posix=$P/planted_posix
planted P06 small_writes small.dat -- "$posix"
planted P05 small_reads small.dat -- "$posix"
planted P11 random_reads random.dat -- "$posix"
planted P12 random_writes random.dat -- "$posix"
planted P09 read_again again.dat -- "$posix"
planted P10 written_again again.dat -- "$posix"
planted X08 sync_storm sync.dat note -- "$posix"        # what a sync costs is the file system's
planted X07 reopen often.dat -- "$posix"
planted X29 search - note -- "$posix"
planted S01 streams_small stream.dat -- "$posix"

planted X15 locks locked.dat note -- "$posix"
planted X32 chatter run.log -- "$posix"
planted X31 resize - note -- "$posix"
if [ -x "$P/planted_hdf5" ]; then
	planted X05 fill fill.h5 note -- "$P/planted_hdf5"
	planted X06 chunks chunks.h5 -- "$P/planted_hdf5"
	planted X20 strided strided.h5 note -- "$P/planted_hdf5"
else
	skip hdf5 "no serial HDF5"
fi
if [ -x "$P/planted_netcdf" ]; then
	planted X13 header header.nc -- "$P/planted_netcdf"
	planted X14 define define.nc note -- "$P/planted_netcdf"
else
	skip netcdf "no serial netCDF"
fi

# At the end of a recording: in the format of the file's name, or as text on stderr, also with --quiet.
at_the_end() {
	local dir
	dir=$(fresh at_the_end)
	limited 60 "$IOPROBE" record -q --report="$dir/report.json" -o "$dir/trace" -- dd if=/dev/zero "of=$dir/data/f" bs=47 count=20000 status=none >"$dir/out" 2>"$dir/err"
	limited 60 "$IOPROBE" report --format json "$dir/trace" >"$dir/again.json"
	verdict "at_the_end, file" "$(cmp "$dir/report.json" "$dir/again.json" 2>&1; [ -s "$dir/report.json" ] || said "$dir")"
	limited 60 "$IOPROBE" record -q --report -o "$dir/second" -- dd if=/dev/zero "of=$dir/data/f" bs=47 count=20000 status=none >"$dir/out" 2>"$dir/err"
	verdict "at_the_end, stderr" "$(grep -q '(P06)' "$dir/err" || said "$dir"; [ -s "$dir/out" ] && echo 'something on stdout')"
}
at_the_end
