# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Programs with one planted mistake each, and their clean twins: what "ioprobe report" is tested with.

PLANTED := $(addprefix $(P)/planted_,posix mpi cases) $(if $(filter hdf5_sizes,$(OPTIONAL)),$(P)/planted_hdf5) \
	$(if $(filter netcdf_sizes,$(OPTIONAL)),$(P)/planted_netcdf)
PROGRAMS += $(PLANTED)
programs: $(PLANTED)

$(PLANTED): tests/planted/planted.h
$(P)/planted_mpi $(P)/planted_cases: tests/planted/planted_mpi.h

$(P)/planted_posix: tests/planted/posix.c
	$(say) CC $@
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(PROGRAM_CFLAGS) -Itests/planted -o $@ $<

$(P)/planted_mpi: tests/planted/mpi.c
	$(say) MPICC $@
	$(Q)mkdir -p $(@D)
	$(Q)$(MPICC) $(PROGRAM_CFLAGS) -Itests/planted -o $@ $<

$(P)/planted_cases: tests/planted/cases.c
	$(say) MPICC $@
	$(Q)mkdir -p $(@D)
	$(Q)$(MPICC) $(PROGRAM_CFLAGS) -Itests/planted $(call lazy,HDF5_CFLAGS) -o $@ $< $(call lazy,HDF5_LIBS)

$(P)/planted_hdf5: tests/planted/hdf5.c
	$(say) CC $@
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(PROGRAM_CFLAGS) -Itests/planted $(shell $(PKG_CONFIG) --cflags $(SERIAL_HDF5)) -o $@ $< \
		$(shell $(PKG_CONFIG) --libs $(SERIAL_HDF5))

$(P)/planted_netcdf: tests/planted/netcdf.c
	$(say) CC $@
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(PROGRAM_CFLAGS) -Itests/planted $(shell $(PKG_CONFIG) --cflags netcdf) -o $@ $< $(shell $(PKG_CONFIG) --libs netcdf)
