#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Traces a parallel netCDF-4 program on four ranks and shows one of its calls through all layers. Run by "make demo", which
# builds everything first. The archive stays in build/demo/trace.
set -eu
cd "$(dirname "$0")/.."
fail() { echo "demo: $*" >&2; exit 1; }

# Open MPI refuses root, and more ranks than cores, unless told.
settings="OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
	PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe"
PATH=$PATH:/usr/lib64/openmpi/bin
mpirun=$(command -v mpirun) || fail "mpirun not found: sudo tools/install-deps.sh"
sudo=
if [ "$(id -u)" != 0 ]; then
	command -v sudo >/dev/null || fail "tracing needs root, and there is no sudo"
	sudo=sudo
fi

$sudo rm -rf build/demo
mkdir -p build/demo
echo "demo: ioprobe -o build/demo/trace -- mpirun -n 4 build/programs/parallel_nc build/demo/field.nc"
$sudo env PATH="$PATH" $settings timeout 300 build/ioprobe -o build/demo/trace -- \
	"$mpirun" -n 4 build/programs/parallel_nc build/demo/field.nc || fail "the recording failed"

archive=build/demo/trace/traces.otf2
[ -s $archive ] || fail "no archive in build/demo/trace"
if command -v otf2-print >/dev/null; then
	echo
	echo "One nc_put_vara_double through all layers, with microseconds (otf2-print $archive):"
	otf2-print $archive | awk '
		# Per location the open calls; the tree of the first outermost put that reached the disk is printed.
		$1 != "ENTER" && $1 != "LEAVE" { next }
		{ name = $0; sub(/.*Region: "/, "", name); sub(/".*/, "", name); at = $2 }
		$1 == "ENTER" {
			if (name == "nc_put_vara_double" && !depth[at]) lines[at] = 0
			if (name == "nc_put_vara_double" || depth[at]) {
				open[at, depth[at]++] = ++lines[at]
				text[at, lines[at]] = sprintf("%*s%s", 2 * depth[at], "", name); begin[at, lines[at]] = $3
				if (name ~ /^p?write/) reached[at] = 1
			}
			next
		}
		depth[at] {
			i = open[at, --depth[at]]
			took[at, i] = ($3 - begin[at, i]) / 1000
			if (!depth[at] && reached[at]) {
				for (i = 1; i <= lines[at]; i++) printf "%-44s %10.1f\n", text[at, i], took[at, i]
				exit
			}
		}'
fi
echo
echo "demo: the archive is $archive"
