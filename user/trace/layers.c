/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The layers that the analysis distinguishes, by the names that recorders use for them.
 */
#include "trace/layers.h"

#include <string.h>
#include <strings.h>

static const char *const names[LAYERS] = {
	[LAYER_ADIOS] = "ADIOS",  [LAYER_NETCDF] = "netCDF", [LAYER_PNETCDF] = "PnetCDF", [LAYER_HDF5] = "HDF5",
	[LAYER_MPIIO] = "MPI-IO", [LAYER_ISOC] = "ISOC",     [LAYER_AIO] = "AIO",         [LAYER_POSIX] = "POSIX",
	[LAYER_MPI] = "MPI",      [LAYER_OTHER] = "other",   [LAYER_NONE] = "none",
};

const char *trace_layer_name(enum trace_layer layer)
{
	return names[layer];
}

enum trace_layer layer_by_name(const char *name)
{
	if (!name || !*name)
		return LAYER_NONE;
	for (enum trace_layer l = 0; l < LAYER_OTHER; l++)
		if (!strcasecmp(name, names[l]))
			return l;
	return !strncasecmp(name, "ADIOS", 5) ? LAYER_ADIOS : LAYER_OTHER;
}

/* Regions of other recorders do not name a layer: the function's prefix identifies it. */
enum trace_layer layer_of_function(const char *function, bool io, bool mpi)
{
	static const struct { const char *prefix; enum trace_layer layer; } prefixes[] = {
		{ "MPI_File_", LAYER_MPIIO }, { "MPI_", LAYER_MPI }, { "ncmpi_", LAYER_PNETCDF }, { "nc_", LAYER_NETCDF },
		{ "H5", LAYER_HDF5 },
		{ "adios2_", LAYER_ADIOS }, { "aio_", LAYER_AIO }, { "lio_", LAYER_AIO },
	};
	static const char *const streams[] = { "fopen",   "fclose", "fread",  "fwrite",  "fprintf", "fputs",  "fputc",
					       "fgets",   "fgetc",  "fseek",  "fflush",  "fscanf",  "rewind", "fdopen",
					       "freopen", "puts",   "printf", "fopen64", "fseeko" };

	for (size_t i = 0; function && i < sizeof(prefixes) / sizeof(*prefixes); i++)
		if (!strncmp(function, prefixes[i].prefix, strlen(prefixes[i].prefix)))
			return prefixes[i].layer;
	for (size_t i = 0; function && io && i < sizeof(streams) / sizeof(*streams); i++)
		if (!strcmp(function, streams[i]))
			return LAYER_ISOC;
	return io ? LAYER_POSIX : mpi ? LAYER_MPI : LAYER_NONE;
}
