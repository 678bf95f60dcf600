/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The table of packages whose frames are skipped. The libraries of the layers come from the probe tables.
 */
#include "symbol/packages.h"

#include <fnmatch.h>
#include <string.h>

/* Patterns for a path's last component, or for the whole path if they contain a slash. */
static const char *const patterns[] = {
	/* the C library, some parts of which were separate libraries before glibc 2.34; the dynamic linker */
	"libc.so*", "libc-2.*.so", "libpthread*.so*", "librt*.so*", "libm.so*", "libm-2.*.so", "libdl*.so*", "libanl*.so*",
	"ld-linux*.so*",
	"ld-2.*.so", "ld-musl-*.so*", "libc.musl-*.so*",
	/* run-time libraries of other languages */
	"libgfortran.so*", "libquadmath.so*", "libifcore*.so*", "libifport*.so*", "libimf.so*", "libsvml.so*", "libflang*.so*",
	"libFortran*.so*",
	"libnvf.so*", "libpgf90*.so*", "libstdc++.so*", "libc++*.so*", "libgcc_s.so*", "libgomp.so*", "libiomp*.so*", "libomp.so*",
	"libtbb*.so*", "python[23]*", "libpython*.so*", "libgnat*.so*", "libjulia*.so*", "libjvm.so*", "libjava.so*", "libnio.so*",
	"perl", "libperl.so*",
	/* bindings of layers' libraries, and the parts of MPI libraries */
	"libhdf5_*.so*", "libhdf5hl_*.so*", "libnetcdff.so*", "libnetcdf_c++*.so*", "libnetcdf-cxx*.so*", "libmpi_*.so*",
	"libmpicxx.so*",
	"libmpifort.so*", "libmpichf90.so*", "libmpichcxx.so*", "libopen-rte.so*", "libopen-pal.so*", "libprrte.so*", "libpmix.so*",
	"libevent*.so*",
	"libhwloc.so*", "libuc[pstm].so*", "libfabric.so*", "*/openmpi*/*.so", "*/pmix*/*.so",
	/* Python: its own library, and packages that read and write data */
	"*/lib-dynload/*.so", "*/h5py/*.so", "*/netCDF4/*.so", "*/mpi4py/*.so", "*/numpy/*.so", "*/torch/*.so*", "*/zarr/*.so",
	"*/pandas/*.so",
	"*/numcodecs/*.so",
};

static bool packages_matches(const char *pattern, const char *path, const char *name)
{
	return !fnmatch(pattern, strchr(pattern, '/') ? path : name, 0);
}

bool packages_look_through(const struct table_set *set, const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;

	for (size_t i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++)
		if (packages_matches(patterns[i], path, name))
			return true;
	for (size_t i = 0; i < set->nlayers; i++)
		for (size_t k = 0; k < set->layers[i].nlibraries; k++)
			if (packages_matches(set->layers[i].libraries[k], path, name))
				return true;
	return false;
}
