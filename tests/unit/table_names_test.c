/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The functions that the tables of probes/ name, against the libraries that are installed here: each is exported, and of some
 * families none is missing. Tests of a library that is not installed are skipped.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dlfcn.h>
#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <link.h>
#include <string.h>
#include <unistd.h>

#include "table/table.h"

static struct table_set builtin;

static int load_builtin(void **state)
{
	char err[256] = "";

	(void)state;
	table_set_init(&builtin);
	if (table_parse_builtin(&builtin, err, sizeof(err)))
		fail_msg("%s", err);
	return 0;
}

static int unload_builtin(void **state)
{
	(void)state;
	table_set_deinit(&builtin);
	return 0;
}

/* The first of a NULL-ended list that is installed; skips the test if none is. */
static void *open_library(const char *const *names)
{
	for (const char *const *n = names; *n; n++) {
		void *library = dlopen(*n, RTLD_LAZY | RTLD_LOCAL);

		if (library)
			return library;
	}
	print_message("[  SKIPPED ] %s is not installed\n", names[0]);
	skip();
	return NULL;
}

/* What plan.c reads from the file: "HDF5 library version 1.10.8" has 1.10.8. */
static uint32_t version_of(void *library, const char *layer)
{
	for (size_t i = 0; i < builtin.nlayers; i++) {
		const char *text = strcmp(builtin.layers[i].name, layer) || !builtin.layers[i].version_symbol[0] ? NULL :
				   dlsym(library, builtin.layers[i].version_symbol);

		while (text && (text = strchr(text, ' ')))
			if (table_version(++text))
				return table_version(text);
	}
	return 0;
}

static bool is_parallel(void *library, const char *layer)
{
	for (size_t i = 0; i < builtin.nlayers; i++)
		if (!strcmp(builtin.layers[i].name, layer) && builtin.layers[i].parallel_symbol[0])
			return dlsym(library, builtin.layers[i].parallel_symbol);
	return true;
}

static void check_exported(const char *layer, const char *const *names)
{
	void *library = open_library(names);
	uint32_t version = version_of(library, layer);
	bool parallel = is_parallel(library, layer);
	size_t checked = 0;

	for (size_t i = 0; i < builtin.nrows; i++) {
		const struct table_row *row = &builtin.rows[i];

		if (strcmp(builtin.layers[row->layer].name, layer) || !table_row_expected(row, version, parallel))
			continue;
		if (!dlsym(library, row->name))
			fail_msg("%s: %s is not exported", layer, row->name);
		checked++;
	}
	assert_true(checked > 0);
	dlclose(library);
}

static const char *const netcdf_names[] = { "libnetcdf.so.19", "libnetcdf.so.22", "libnetcdf.so", NULL };
static const char *const netcdf_mpi_names[] = { "libnetcdf_mpi.so.19", "libnetcdf_mpi.so.22", "libnetcdf_mpi.so", NULL };
static const char *const hdf5_names[] = { "libhdf5_serial.so.103", "libhdf5_serial.so.310", "libhdf5.so", NULL };
static const char *const hdf5_mpi_names[] = { "libhdf5_openmpi.so.103", "libhdf5_openmpi.so.310", "libhdf5.so", NULL };
static const char *const mpi_names[] = { "libmpi.so.40", "libmpi.so.12", "libmpi.so", NULL };
static const char *const pnetcdf_names[] = { "libpnetcdf.so.0d", "libpnetcdf.so.4", "libpnetcdf.so", NULL };
static const char *const libc_names[] = { "libc.so.6", NULL };
static const char *const unwind_names[] = { "libgcc_s.so.1", NULL };
static const char *const catch_names[] = { "libstdc++.so.6", NULL };

static void test_exported_netcdf(void **state) { (void)state; check_exported("netCDF", netcdf_names); }
static void test_exported_netcdf_mpi(void **state) { (void)state; check_exported("netCDF", netcdf_mpi_names); }
static void test_exported_hdf5(void **state) { (void)state; check_exported("HDF5", hdf5_names); }
static void test_exported_hdf5_mpi(void **state) { (void)state; check_exported("HDF5", hdf5_mpi_names); }
static void test_exported_mpiio(void **state) { (void)state; check_exported("MPI-IO", mpi_names); }
static void test_exported_pnetcdf(void **state) { (void)state; check_exported("PnetCDF", pnetcdf_names); }
static void test_exported_mpi(void **state) { (void)state; check_exported("MPI", mpi_names); }
static void test_exported_libc(void **state) { (void)state; check_exported("ISOC", libc_names); }
static void test_exported_unwind(void **state) { (void)state; check_exported("unwind", unwind_names); }
static void test_exported_jump(void **state) { (void)state; check_exported("jump", libc_names); }
static void test_exported_catch(void **state) { (void)state; check_exported("catch", catch_names); }

/* Every exported function whose name begins so must be in the layer's table, but for the NULL-ended exceptions. */
static size_t check_symbols(Elf *elf, Elf_Scn *section, const char *layer, const char *begin, const char *const *except)
{
	Elf_Data *data = elf_getdata(section, NULL);
	GElf_Shdr header;
	GElf_Sym symbol;
	size_t found = 0;

	assert_non_null(gelf_getshdr(section, &header));
	for (int i = 0; gelf_getsym(data, i, &symbol); i++) {
		const char *name = elf_strptr(elf, header.sh_link, symbol.st_name);
		const char *const *e = except;

		if (GELF_ST_TYPE(symbol.st_info) != STT_FUNC || symbol.st_shndx == SHN_UNDEF || !name ||
		    strncmp(name, begin, strlen(begin)))
			continue;
		while (*e && strcmp(*e, name))
			e++;
		if (!*e && !table_find(&builtin, layer, name))
			fail_msg("%s is exported and not in the table of %s", name, layer);
		found++;
	}
	return found;
}

static void check_complete(const char *layer, const char *const *names, const char *begin, const char *const *except)
{
	void *library = open_library(names);
	struct link_map *map;
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	size_t found = 0;
	Elf *elf;
	int fd;

	assert_int_equal(dlinfo(library, RTLD_DI_LINKMAP, &map), 0);
	fd = open(map->l_name, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	assert_non_null(elf);
	while ((section = elf_nextscn(elf, section)))
		if (gelf_getshdr(section, &header) && header.sh_type == SHT_DYNSYM)
			found += check_symbols(elf, section, layer, begin, except);
	assert_true(found > 0);
	elf_end(elf);
	close(fd);
	dlclose(library);
}

static void test_complete_mpiio(void **state)
{
	static const char *const except[] = { "MPI_File_c2f", "MPI_File_f2c", "MPI_File_fromint", "MPI_File_toint", NULL };

	(void)state;
	check_complete("MPI-IO", mpi_names, "MPI_File_", except);
}

static void test_complete_netcdf(void **state)
{
	/* settings in memory */
	static const char *const except[] = { "nc_get_var_chunk_cache", "nc_get_var_chunk_cache_ints", NULL };
	static const char *const inner[] = { "nc_def_user_format", "nc_def_var_chunking_ints", NULL };

	(void)state;
	check_complete("netCDF", netcdf_names, "nc_put_var", except);
	check_complete("netCDF", netcdf_names, "nc_get_var", except);
	check_complete("netCDF", netcdf_names, "nc_put_att", except);
	check_complete("netCDF", netcdf_names, "nc_get_att", except);
	check_complete("netCDF", netcdf_names, "nc_def_", inner);
	check_complete("netCDF", netcdf_mpi_names, "nc_open", inner);
	check_complete("netCDF", netcdf_mpi_names, "nc_create", inner);
	check_complete("netCDF", netcdf_mpi_names, "nc_rename", inner);
}

static void test_complete_hdf5(void **state)
{
	static const char *const none[] = { NULL };
	static const char *const prefixes[] = { "H5Fopen",  "H5Fcreate", "H5Fclose",  "H5Fflush", "H5Dcreate",
						"H5Dopen",  "H5Dread",   "H5Dwrite",  "H5Dclose", "H5Gcreate",
						"H5Gopen",  "H5Gclose",  "H5Acreate", "H5Aopen",  "H5Aread",
						"H5Awrite", "H5Aclose",  "H5Oopen",   "H5Oclose", "H5Lcreate" };

	(void)state;
	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
		check_complete("HDF5", hdf5_names, prefixes[i], none);
}

static void test_complete_pnetcdf(void **state)
{
	static const char *const prefixes[] = { "ncmpi_put_",   "ncmpi_get_var", "ncmpi_get_att", "ncmpi_iput_", "ncmpi_iget_",
						"ncmpi_bput_",  "ncmpi_mput_",   "ncmpi_mget_",   "ncmpi_def_",  "ncmpi_open",
						"ncmpi_create", "ncmpi_wait",    "ncmpi_inq_var" };
	static const char *const except[] = { "ncmpi_inq_var_fill", "ncmpi_inq_varnatts", "ncmpi_inq_varoffset", NULL };

	(void)state;
	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
		check_complete("PnetCDF", pnetcdf_names, prefixes[i], except);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_exported_netcdf), cmocka_unit_test(test_exported_netcdf_mpi),
		cmocka_unit_test(test_exported_hdf5), cmocka_unit_test(test_exported_hdf5_mpi),
		cmocka_unit_test(test_exported_mpiio), cmocka_unit_test(test_exported_mpi), cmocka_unit_test(test_exported_libc),
		cmocka_unit_test(test_exported_unwind), cmocka_unit_test(test_exported_jump), cmocka_unit_test(test_exported_catch),
		cmocka_unit_test(test_exported_pnetcdf),
		cmocka_unit_test(test_complete_mpiio), cmocka_unit_test(test_complete_netcdf), cmocka_unit_test(test_complete_hdf5),
		cmocka_unit_test(test_complete_pnetcdf),
	};

	return cmocka_run_group_tests(tests, load_builtin, unload_builtin);
}
