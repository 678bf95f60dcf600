/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Chooses snippets: never one of a library that the program did not use on the file, and those of Lustre only on Lustre.
 */
#include "report/advice.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

static const struct advice all[] = {
#include "advice_files.h"
};
#define COUNT (sizeof(all) / sizeof(*all))

enum language { LANGUAGE_C, LANGUAGE_FORTRAN, LANGUAGE_PYTHON };

/* Names of interfaces in the names of files. */
static const struct { const char *interface, *name; } names[] = {
	{ "posix", "POSIX" }, { "isoc", "ISO C" }, { "mpiio", "MPI-IO" }, { "hdf5", "HDF5" }, { "netcdf", "netCDF" },
	{ "netcdf_fortran", "netCDF-Fortran" }, { "pnetcdf", "PnetCDF" }, { "h5py", "h5py" },
	{ "netcdf4_python", "netCDF4-python" }, { "romio", "ROMIO" }, { "ompio", "OMPIO" }, { "lustre", "Lustre" },
};

static const struct { enum trace_layer layer; enum language language; const char *interface; } interfaces[] = {
	{ LAYER_NETCDF, LANGUAGE_FORTRAN, "netcdf_fortran" }, { LAYER_NETCDF, LANGUAGE_PYTHON, "netcdf4_python" },
	{ LAYER_NETCDF, LANGUAGE_C, "netcdf" }, { LAYER_HDF5, LANGUAGE_PYTHON, "h5py" }, { LAYER_HDF5, LANGUAGE_C, "hdf5" },
	{ LAYER_PNETCDF, LANGUAGE_C, "pnetcdf" }, { LAYER_MPIIO, LANGUAGE_C, "mpiio" }, { LAYER_ISOC, LANGUAGE_C, "isoc" },
	{ LAYER_POSIX, LANGUAGE_C, "posix" },
};

static bool uses_layer(const struct analysis *a, uint32_t file, enum trace_layer layer)
{
	const struct file_layer *f = file_layer_find(a, file, layer);

	return f && f->sum->calls;
}

/* The highest layer that the program used on the finding's first file, or that of its first call. */
static enum trace_layer advice_layer_of(const struct analysis *a, const struct finding *f)
{
	for (enum trace_layer l = 0; f->nfiles && l <= LAYER_POSIX; l++)
		if (uses_layer(a, f->files[0].file, l))
			return l;
	return f->ncalls && f->calls[0].region < a->trace->regions.n ? a->trace->regions.v[f->calls[0].region].layer : LAYER_NONE;
}

static bool ends_with(const char *text, const char *end)
{
	size_t n = strlen(text), m = strlen(end);

	return n >= m && !strcasecmp(text + n - m, end);
}

static enum language language_of_file(const char *file)
{
	static const char *const fortran[] = { ".f", ".for", ".ftn", ".f77", ".f90", ".f95", ".f03", ".f08" };

	for (size_t i = 0; i < sizeof(fortran) / sizeof(*fortran); i++)
		if (ends_with(file, fortran[i]))
			return LANGUAGE_FORTRAN;
	return ends_with(file, ".py") ? LANGUAGE_PYTHON : LANGUAGE_C;
}

/* From the source of the calls; without call sites from the command. */
static enum language language_of(const struct analysis *a, const struct finding *f)
{
	const char *command = a->trace->command;

	for (unsigned i = 0; i < f->ncalls; i++) {
		const struct trace_site *site = site_source(a->trace, f->calls[i].site);

		if (site && site->file && site->line)
			return language_of_file(site->file);
	}
	return command && (strstr(command, "python") || strstr(command, ".py")) ? LANGUAGE_PYTHON : LANGUAGE_C;
}

static bool has_snippet(const char *topic, const char *interface)
{
	for (size_t i = 0; topic && i < COUNT; i++)
		if (!strcmp(all[i].topic, topic) && !strcmp(all[i].interface, interface) && strcmp(all[i].language, "sh"))
			return true;
	return false;
}

/* The binding that the program used; the library itself where there is no snippet for the binding. */
static const char *interface_of(const struct analysis *a, const struct finding *f)
{
	enum trace_layer layer = advice_layer_of(a, f);
	enum language language = language_of(a, f);

	for (size_t i = 0; i < sizeof(interfaces) / sizeof(*interfaces); i++)
		if (interfaces[i].layer == layer && interfaces[i].language == language &&
		    has_snippet(f->topic, interfaces[i].interface))
			return interfaces[i].interface;
	for (size_t i = 0; i < sizeof(interfaces) / sizeof(*interfaces); i++)
		if (interfaces[i].layer == layer && interfaces[i].language == LANGUAGE_C)
			return interfaces[i].interface;
	return "";
}

static bool environment_fits(const struct analysis *a, const struct finding *f, const char *interface)
{
	uint32_t file = f->nfiles ? f->files[0].file : TRACE_NONE;
	const char *type = file < a->trace->files.n ? trace_mount_of(&a->trace->files.v[file])->fs_type : NULL;

	if (!strcmp(interface, "lustre"))
		return type && !strcmp(type, "lustre");
	if (!strcmp(interface, "hdf5"))
		return uses_layer(a, file, LAYER_HDF5);
	return uses_layer(a, file, LAYER_MPIIO);
}

size_t advice_of_finding(const struct analysis *a, const struct finding *f, const struct advice *list[ADVICE_MAX])
{
	const char *interface = interface_of(a, f);
	size_t n = 0;

	if (!f->topic)
		return 0;
	for (int environment = 1; environment >= 0; environment--)
		for (size_t i = 0; i < COUNT && n < ADVICE_MAX; i++) {
			bool sh = !strcmp(all[i].language, "sh");

			if (strcmp(all[i].topic, f->topic) || sh != (environment == 1))
				continue;
			if (sh ? environment_fits(a, f, all[i].interface) : !strcmp(all[i].interface, interface))
				list[n++] = &all[i];
		}
	return n;
}

const struct advice *advice_next(const char *topic, const struct advice *behind)
{
	for (size_t i = behind ? behind - all + 1 : 0; topic && i < COUNT; i++)
		if (!strcmp(all[i].topic, topic))
			return &all[i];
	return NULL;
}

void advice_title(const struct advice *advice, char *text, size_t len)
{
	const char *begin = advice->text + strspn(advice->text, "/*!# "), *end = strchr(begin, '\n');

	while (end > begin && strchr(" */", end[-1]))
		end--;
	snprintf(text, len, "%.*s", (int)(end - begin), begin);
}

const char *advice_interface_name(const struct advice *advice)
{
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strcmp(names[i].interface, advice->interface))
			return names[i].name;
	return advice->interface;
}
