#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Installs what building ioprobe and its demo need, with --tests also what the tests need, with --fuzz what make fuzz needs. Knows
# the Debian, Ubuntu and RHEL/Fedora families. Does nothing, quickly and without root, when all is there.
set -u

usage() { echo "usage: tools/install-deps.sh [--tests] [--fuzz]" >&2; exit 2; }
fail() { echo "install-deps: $*" >&2; exit 1; }

tests=no fuzz=no
for arg; do
	case $arg in
	--tests) tests=yes ;;
	--fuzz) fuzz=yes ;;
	*) usage ;;
	esac
done

# ---- what the packages are called ----
# needed: the build and the demo. wanted: the tests; one that a distribution does not have is skipped with its tests.

debian_packages() {
	needed="gcc libc6-dev make pkg-config clang llvm bpftool libbpf-dev libelf-dev libdw-dev zlib1g-dev libzstd-dev
		libjansson-dev libsqlite3-dev libmicrohttpd-dev libgnutls28-dev librdkafka-dev libsystemd-dev uthash-dev
		libotf2-trace-dev libzydis-dev otf2-tools openmpi-bin libopenmpi-dev libnetcdf-mpi-dev python3"
	wanted="libcmocka-dev python3-otf2 python3-six strace valgrind g++ gfortran netcdf-bin hdf5-tools cdo
		meep-openmpi python3-h5py python3-h5py-mpi python3-mpi4py lammps fio bindfs btrfs-progs e2fsprogs util-linux procps
		iproute2 libnetcdf-dev libhdf5-dev libpnetcdf-dev libnetcdff-dev python3-netcdf4 gdb munge slurmctld
		slurmd slurm-client libboost-context-dev libtbb-dev python3-greenlet musl-tools gcc-multilib bubblewrap
		man-db zsh mpich libmpich-dev python3-jsonschema prometheus prometheus-node-exporter victoria-metrics
		openssl chromium dwz xz-utils libdebuginfod1"
	fuzzer=libclang-rt-dev
}

# bpftool is a package of its own from 25.04; before, it came with the kernel's tools.
ubuntu_packages() {
	debian_packages
	apt-cache show bpftool >/dev/null 2>&1 ||
		needed="$(echo "$needed" | sed 's/bpftool/linux-tools-common linux-tools-generic/')"
}

fedora_packages() {
	needed="gcc make pkgconf-pkg-config clang llvm bpftool libbpf-devel elfutils-libelf-devel elfutils-devel
		zlib-devel libzstd-devel jansson-devel sqlite-devel libmicrohttpd-devel gnutls-devel librdkafka-devel
		systemd-devel uthash-devel otf2-devel zydis-devel otf2 openmpi openmpi-devel netcdf-openmpi-devel
		python3"
	wanted="libcmocka-devel python3-otf2 python3-six strace valgrind gcc-c++ glibc-static libstdc++-static
		gcc-gfortran netcdf hdf5 cdo python3-h5py-openmpi python3-mpi4py-openmpi lammps-openmpi fio bindfs
		btrfs-progs e2fsprogs util-linux procps-ng iproute netcdf-devel hdf5-devel munge slurm-slurmctld slurm-slurmd slurm
		boost-devel tbb-devel python3-greenlet musl-gcc glibc-devel.i686 bubblewrap man-db zsh mpich
		libmpich-dev python3-jsonschema openssl dwz xz elfutils-debuginfod-client"
	fuzzer=compiler-rt
}

# ---- what a package manager can say ----

deb_missing() {
	have=" $(dpkg-query -W -f '${db:Status-Status} ${Package} ' "$@" 2>/dev/null | sed 's/:[a-z0-9]*//g') "
	for p; do
		case $have in *" installed $p "*) ;; *) echo "$p" ;; esac
	done
}

rpm_missing() {
	for p; do
		rpm -q --quiet --whatprovides "$p" || echo "$p"
	done
}

# apt-cache alone cannot tell "unknown" from "lists never fetched": the lists are refreshed first.
deb_prepare() {
	$sudo apt-get update -q </dev/null >/dev/null || echo "install-deps: apt-get update failed, trying with the old lists" >&2
}
# apt-cache shows packages too that cannot be installed: those of another suite that something refers to, those whose dependencies
# are not there or are in conflict with what is chosen.
deb_installable() { apt-get install -s -q --no-install-recommends "$@" </dev/null >/dev/null 2>&1; }
deb_install() { $sudo env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "$@" </dev/null; }

# RHEL and its rebuilds have the -devel packages in CRB and the scientific ones in EPEL.
rpm_prepare() {
	[ "$family" = rhel ] || return 0
	$sudo dnf install -q -y dnf-plugins-core epel-release </dev/null || true
	$sudo dnf config-manager --set-enabled crb </dev/null 2>/dev/null ||
		$sudo dnf config-manager --set-enabled powertools </dev/null || true
}
rpm_installable() { for p; do dnf -q list --available "$p" </dev/null >/dev/null 2>&1 || return 1; done; }
rpm_install() { $sudo dnf install -q -y --setopt=install_weak_deps=False "$@" </dev/null; }

# ---- main ----

[ -r /etc/os-release ] || fail "cannot read /etc/os-release: which distribution is this? See this script for the list of packages"
. /etc/os-release
family= manager=
for id in ${ID:-} ${ID_LIKE:-}; do
	case $id in
	ubuntu) family=ubuntu manager=deb ;;
	debian) family=debian manager=deb ;;
	fedora) family=fedora manager=rpm ;;
	rhel | centos | rocky | almalinux) family=rhel manager=rpm ;;
	*) continue ;;
	esac
	break
done
[ -n "$family" ] || fail "unknown distribution '${ID:-?}' (known: Debian, Ubuntu, Fedora, RHEL families); \
see this script for the packages"

case $family in
debian) debian_packages ;;
ubuntu) ubuntu_packages ;;
*) fedora_packages ;;
esac
[ $tests = yes ] || wanted=
[ $fuzz = no ] || needed="$needed $fuzzer"

missing=$(${manager}_missing $needed)
missing_wanted=
[ -z "$wanted" ] || missing_wanted=$(${manager}_missing $wanted)
[ -n "$missing$missing_wanted" ] || exit 0

sudo=
if [ "$(id -u)" != 0 ]; then
	command -v sudo >/dev/null || fail "not root and no sudo; to be installed:" $missing $missing_wanted
	sudo=sudo
fi

echo "install-deps: installing" $missing $missing_wanted
${manager}_prepare
if [ -z "$missing_wanted" ] || ${manager}_installable $missing $missing_wanted; then
	missing="$missing $missing_wanted"
else
	for p in $missing_wanted; do
		if ${manager}_installable $missing "$p"; then
			missing="$missing $p"
		else
			echo "install-deps: $p cannot be installed here, the tests that need it will be skipped" >&2
		fi
	done
fi
[ -n "$missing" ] || exit 0
log=$(mktemp) || fail "cannot make a temporary file"
trap 'rm -f "$log"' EXIT
if ! ${manager}_install $missing >"$log" 2>&1; then
	tail -n 5 "$log" >&2
	fail "could not install" $missing
fi
