/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * What is known of layers by their name (probes/known.layers).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "table/known_layers.h"

static void layers_are_in_the_order_of_the_stack(void **state)
{
	static const char *const order[] = { "netCDF", "PnetCDF", "a site's own", "HDF5", "MPI-IO", "MPI", "ISOC", "AIO", "POSIX",
					     "SOCKET" };

	(void)state;
	for (size_t i = 1; i < sizeof(order) / sizeof(*order); i++)
		assert_true(known_layer_place(order[i - 1]) < known_layer_place(order[i]));
	assert_int_equal(known_layer_place("ADIOS"), known_layer_place("MPIX"));
}

static void mpi_is_known_by_its_name(void **state)
{
	(void)state;
	assert_true(known_layer_is_mpi("MPI") && known_layer_is_mpi("MPI-IO"));
	assert_false(known_layer_is_mpi("HDF5") || known_layer_is_mpi("OMPIO") || known_layer_is_mpi(""));
}

static size_t driver(const char *layer, const char *name)
{
	return known_layer_driver(layer, name, strlen(name));
}

static void drivers_are_names_before_a_colon(void **state)
{
	(void)state;
	assert_int_equal(driver("MPI-IO", "ufs:/data/x"), 4);
	assert_int_equal(driver("MPI-IO", "quobyte:x"), 8);
	assert_int_equal(driver("MPI-IO", "pvfs2:x"), 6);
	assert_int_equal(driver("MPI-IO", "pvfs:x"), 5);
	assert_int_equal(driver("MPI-IO", "/data/ufs:x"), 0);
	assert_int_equal(driver("MPI-IO", "uf:x"), 0);
	assert_int_equal(driver("MPI-IO", "ufs nfs:x"), 0);
	assert_int_equal(driver("MPI-IO", "MPI-IO:x"), 0);
	assert_int_equal(driver("MPI-IO", "ufs:"), 0);          /* no name is left */
	assert_int_equal(driver("MPI-IO", ":x"), 0);
	assert_int_equal(driver("POSIX", "ufs:/data/x"), 0);
	assert_true(known_layer_has_addresses("netCDF"));
	assert_false(known_layer_has_addresses("PnetCDF"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(layers_are_in_the_order_of_the_stack),
		cmocka_unit_test(mpi_is_known_by_its_name),
		cmocka_unit_test(drivers_are_names_before_a_colon),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
