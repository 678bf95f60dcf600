# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# The golden programs: small programs whose calls are known exactly; each says its counts in its first comment.
# Always built plainly (no sanitizer): they are what is observed, not what is tested.

P := build/programs
# MPICH beside Open MPI, under Debian's name of its compiler.
MPICC_MPICH := $(shell command -v mpicc.mpich)
C_PROGRAMS := writes4000 fork_exec recursion longjmp signals failures dup_inherit already_running deleted mmap copies streams killed churn takeover brief namespaces replaced evil storm forked_streams late_stream byte_writes
C_PROGRAMS += cover_posix cover_isoc cover_aio cover_sockets
C_PROGRAMS += main_ends lookups locks aio numbered numbered_calls many_threads names mapper last_threads
C_PROGRAMS += fd_tables first_use rotation return_probes
C_PROGRAMS += libaio uring sockets device faults memory cpu_time
C_PROGRAMS += coroutines coroutines_bare cancel_points strings standard compat x32_numbers lines
CXX_PROGRAMS := exceptions cancel left in_flight
# Programs on libraries that not every distribution has: the tests of those that are not built are skipped.
SERIAL_HDF5 := $(shell $(PKG_CONFIG) --exists hdf5-serial && echo hdf5-serial || echo hdf5)
OPTIONAL := $(shell $(PKG_CONFIG) --exists netcdf && echo netcdf_sizes nczarr headers) \
	$(shell $(PKG_CONFIG) --exists netcdf $(SERIAL_HDF5) && echo direct_hdf5) \
	$(shell $(PKG_CONFIG) --exists $(SERIAL_HDF5) && echo hdf5_sizes hdf5_objects hdf5_iterated) \
	$(shell $(PKG_CONFIG) --exists pnetcdf && echo pnetcdf cover_pnetcdf)

PROGRAMS := $(addprefix $(P)/,$(C_PROGRAMS) $(CXX_PROGRAMS) dlopen_hdf5 static exceptions_static libnest.so libexchange.so liblate_setsid.so \
	parallel_nc mpiio two_scopes failures_mpi mpiio_f) $(addprefix $(P)/,$(OPTIONAL))
PROGRAMS += $(addprefix $(P)/,collective facts cover_mpiio cover_hdf5 cover_netcdf comms monc)
PROGRAMS += $(addprefix $(P)/,ior mdtest h5bench mpi_sizes hints collective_write crash_inside)
PROGRAMS += $(if $(MPICC_MPICH),$(addprefix $(P)/mpich/,mpi_sizes hints collective_write))
PROGRAMS += $(addprefix $(P)/,mpi_requests mpi_storm coroutines_mpi collectives)
PROGRAMS += $(if $(wildcard /usr/include/boost/context/fiber.hpp),$(P)/coroutines_boost)
PROGRAMS += $(if $(wildcard /usr/include/tbb/task.h),$(P)/coroutines_tbb $(P)/tbb_tasks)

# Of the 32-bit ABIs, where there is a compiler for them.
PROGRAMS += $(if $(shell printf 'int main(void) { return 0; }' | $(CC) -m32 -x c -o /dev/null - 2>/dev/null && echo yes),$(P)/compat_i386)
PROGRAMS += $(if $(shell printf 'int main(void) { return 0; }' | $(CC) -mx32 -x c -o /dev/null - 2>/dev/null && echo yes),$(P)/compat_x32)

# The same programs with musl, dynamic and static.
MUSL := $(addprefix $(P)/musl/,streams strings standard cancel_points lines)
PROGRAMS += $(if $(shell command -v musl-gcc),$(MUSL) $(MUSL:%=%_static))

PROGRAM_CFLAGS := -std=gnu11 -Wall -Wextra -O2 -g -D_GNU_SOURCE -Itests/programs
PROGRAM_CXXFLAGS := -std=gnu++17 -Wall -Wextra -O2 -g -D_GNU_SOURCE -Itests/programs
NEST = -L$(P) -lnest -Wl,-rpath,'$$ORIGIN'

# Debian keeps netcdf_par.h beside the parallel library, RHEL and Fedora load it as a module: both have a pkg-config file.
NETCDF_PC_PATH := $(wildcard /usr/lib64/openmpi/lib/pkgconfig)
NETCDF_PC = PKG_CONFIG_PATH="$(NETCDF_PC_PATH):$$PKG_CONFIG_PATH"; export PKG_CONFIG_PATH; \
	pc=netcdf; $(PKG_CONFIG) --exists netcdf-mpi && pc=netcdf-mpi;
NETCDF_CFLAGS = $(shell $(NETCDF_PC) echo -I$$($(PKG_CONFIG) --variable=prefix $$pc)/include $$($(PKG_CONFIG) --cflags $$pc))
NETCDF_LIBS = $(shell $(NETCDF_PC) $(PKG_CONFIG) --libs $$pc)
HDF5_PC = pc=hdf5; for p in hdf5-openmpi hdf5-mpich; do $(PKG_CONFIG) --exists $$p && { pc=$$p; break; }; done;
HDF5_CFLAGS = $(shell $(HDF5_PC) $(PKG_CONFIG) --cflags $$pc)
HDF5_LIBS = $(shell $(HDF5_PC) $(PKG_CONFIG) --libs $$pc)
MPIF90 ?= $(firstword $(shell command -v mpif90 || ls /usr/lib64/openmpi/bin/mpif90 2>/dev/null) mpif90)

PROGRAMS += $(addprefix $(P)/,call_sites call_sites_nopie call_sites_static call_sites_static_pie call_sites_bare call_sites_cxx libsites_first.so libsites_second.so random_chains stack_witness)
PROGRAMS += $(if $(shell command -v gfortran),$(P)/call_sites_fortran)
# HDF5's Fortran library, with the compiler's module files beside the headers.
HDF5_MODULES := $(firstword $(wildcard /usr/include/hdf5/serial/hdf5.mod /usr/lib64/gfortran/modules/hdf5.mod))
PROGRAMS += $(if $(and $(HDF5_MODULES),$(shell command -v gfortran)),$(P)/call_sites_hdf5)
PROGRAMS += $(if $(wildcard /usr/include/boost/context/fiber.hpp),$(P)/call_sites_boost)

.PHONY: programs
programs: $(PROGRAMS)	## the golden programs of tests/programs

$(P)/libnest.so: tests/programs/nest.c tests/programs/nest.h
	$(say) CC $@
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(PROGRAM_CFLAGS) -fPIC -shared -fexceptions -Wl,-soname,libnest.so -o $@ $<

$(P)/libexchange.so: tests/programs/exchange.c
	$(say) CC $@
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(PROGRAM_CFLAGS) -fPIC -shared -o $@ $< -ldl

$(P)/liblate_setsid.so: tests/programs/late_setsid.c
	$(say) CC $@
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(PROGRAM_CFLAGS) -fPIC -shared -o $@ $< -ldl

$(addprefix $(P)/,$(C_PROGRAMS)): $(P)/%: tests/programs/%.c tests/programs/golden.h $(P)/libnest.so
	$(say) CC $@
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(PROGRAM_CFLAGS) -o $@ $< $(if $(shell grep -l 'nest\.h' $<),$(NEST)) -lpthread

$(P)/compat_i386: tests/programs/compat.c tests/programs/golden.h
	$(say) CC $@
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(PROGRAM_CFLAGS) -m32 -o $@ $<

$(P)/compat_x32: tests/programs/compat.c tests/programs/golden.h
	$(say) CC $@
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(PROGRAM_CFLAGS) -mx32 -o $@ $<

$(MUSL) $(MUSL:%=%_static): $(P)/musl/%: tests/programs/golden.h tests/programs/nest.c
	$(say) MUSL $@
	$(Q)mkdir -p $(@D)
	$(Q)musl-gcc $(PROGRAM_CFLAGS) $(if $(filter %_static,$@),-static) -o $@ tests/programs/$(*:_static=).c \
		$(if $(filter cancel_points%,$*),tests/programs/nest.c) -lpthread

$(addprefix $(P)/,$(CXX_PROGRAMS)): $(P)/%: tests/programs/%.cc tests/programs/nest.h $(P)/libnest.so
	$(say) CXX $@
	$(Q)mkdir -p $(@D)
	$(Q)$(CXX) $(PROGRAM_CXXFLAGS) -o $@ $< $(NEST) -lpthread

# Without optimisation of calls into jumps: a function that jumps is not on the stack. bare: no unwind information at all.
SITES_CFLAGS := $(PROGRAM_CFLAGS) -fno-optimize-sibling-calls

$(P)/call_sites: tests/programs/call_sites.c
	$(say) CC $@
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(SITES_CFLAGS) -o $@ $< -ldl -lpthread

$(P)/call_sites_nopie: tests/programs/call_sites.c
	$(say) CC $@
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(SITES_CFLAGS) -fno-pie -no-pie -o $@ $< -ldl -lpthread

$(P)/call_sites_static: tests/programs/call_sites.c
	$(say) CC $@
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(SITES_CFLAGS) -static -w -o $@ $< -ldl -lpthread

$(P)/call_sites_static_pie: tests/programs/call_sites.c
	$(say) CC $@
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(SITES_CFLAGS) -fPIE -static-pie -w -o $@ $< -ldl -lpthread

$(P)/call_sites_bare: tests/programs/call_sites.c
	$(say) CC $@
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(SITES_CFLAGS) -g0 -fno-asynchronous-unwind-tables -fno-unwind-tables -o $@ $< -ldl -lpthread

$(P)/call_sites_cxx: tests/programs/call_sites.cc
	$(say) CXX $@
	$(Q)mkdir -p $(@D)
	$(Q)$(CXX) $(PROGRAM_CXXFLAGS) -fno-optimize-sibling-calls -o $@ $<

$(P)/call_sites_fortran: tests/programs/call_sites.f90
	$(say) FC $@
	$(Q)mkdir -p $(@D)
	$(Q)gfortran -O2 -g -fno-optimize-sibling-calls -J $(@D) -o $@ $<

$(P)/call_sites_hdf5: tests/programs/call_sites_hdf5.f90
	$(say) FC $@
	$(Q)mkdir -p $(@D)/call_sites_hdf5.modules
	$(Q)gfortran -O2 -g -fno-optimize-sibling-calls -J $(@D)/call_sites_hdf5.modules -I$(dir $(HDF5_MODULES)) -o $@ $< \
		$(if $(findstring serial,$(HDF5_MODULES)),-lhdf5_serial_fortran,-lhdf5_fortran) $(shell $(PKG_CONFIG) --libs $(SERIAL_HDF5))

$(P)/call_sites_boost: tests/programs/call_sites_boost.cc
	$(say) CXX $@
	$(Q)mkdir -p $(@D)
	$(Q)$(CXX) $(PROGRAM_CXXFLAGS) -fno-optimize-sibling-calls -o $@ $< -lboost_context

# Stripped: its places are offsets then.
$(P)/random_chains: tests/programs/random_chains.c
	$(say) CC $@
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(SITES_CFLAGS) -g0 -s -o $@ $<

$(P)/stack_witness: tests/programs/stack_witness.c
	$(say) CC $@
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(PROGRAM_CFLAGS) -o $@ $< -ldw

$(P)/libsites_first.so $(P)/libsites_second.so: $(P)/libsites_%.so: tests/programs/call_sites_library.c
	$(say) CC $@
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(SITES_CFLAGS) $(if $(filter second,$*),-DSECOND) -fPIC -shared -o $@ $<

# The unwinder inside the program itself, not in libgcc_s.
$(P)/exceptions_static: tests/programs/exceptions.cc tests/programs/nest.h $(P)/libnest.so
	$(say) CXX $@
	$(Q)$(CXX) $(PROGRAM_CXXFLAGS) -static-libgcc -static-libstdc++ -o $@ $< $(NEST) -lpthread

$(P)/coroutines_boost: tests/programs/coroutines.cc tests/programs/nest.h $(P)/libnest.so
	$(say) CXX $@
	$(Q)mkdir -p $(@D)
	$(Q)$(CXX) $(PROGRAM_CXXFLAGS) -o $@ $< $(NEST) -lboost_context -lpthread

$(P)/coroutines_tbb $(P)/tbb_tasks: tests/programs/coroutines_tbb.cc tests/programs/nest.h $(P)/libnest.so
	$(say) CXX $@
	$(Q)mkdir -p $(@D)
	$(Q)$(CXX) $(PROGRAM_CXXFLAGS) $(if $(filter %/tbb_tasks,$@),-DPLAIN) -o $@ $< $(NEST) -ltbb -lpthread

$(P)/dlopen_hdf5: tests/programs/dlopen_hdf5.c tests/programs/golden.h
	$(say) CC $@
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(PROGRAM_CFLAGS) -o $@ $< -ldl

$(P)/static: tests/programs/streams.c tests/programs/golden.h
	$(say) CC $@
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(PROGRAM_CFLAGS) -static -o $@ $<

$(addprefix $(P)/cover_,posix isoc aio sockets mpiio hdf5 netcdf pnetcdf): tests/programs/cover.h tests/programs/golden.h

$(P)/parallel_nc $(P)/failures_mpi $(P)/cover_netcdf $(P)/monc: $(P)/%: tests/programs/%.c
	$(say) MPICC $@
	$(Q)mkdir -p $(@D)
	$(Q)$(MPICC) $(PROGRAM_CFLAGS) $(call lazy,NETCDF_CFLAGS) -o $@ $< $(call lazy,NETCDF_LIBS)

$(P)/cover_hdf5 $(P)/coroutines_mpi $(P)/collective $(P)/facts $(P)/h5bench: $(P)/%: tests/programs/%.c
	$(say) MPICC $@
	$(Q)mkdir -p $(@D)
	$(Q)$(MPICC) $(PROGRAM_CFLAGS) $(call lazy,HDF5_CFLAGS) $(if $(filter collective facts,$(@F)),$(call lazy,NETCDF_CFLAGS)) -o $@ $< \
		$(call lazy,HDF5_LIBS) $(if $(filter collective facts,$(@F)),$(call lazy,NETCDF_LIBS))

$(P)/mdtest $(P)/mpi_sizes $(P)/hints $(P)/mpiio $(P)/two_scopes $(P)/cover_mpiio $(P)/comms $(P)/mpi_requests $(P)/mpi_storm $(P)/collectives $(P)/collective_write $(P)/crash_inside: $(P)/%: tests/programs/%.c
	$(say) MPICC $@
	$(Q)mkdir -p $(@D)
	$(Q)$(MPICC) $(PROGRAM_CFLAGS) -o $@ $<

$(P)/mpich/mpi_sizes $(P)/mpich/hints $(P)/mpich/collective_write: $(P)/mpich/%: tests/programs/%.c
	$(say) MPICC $@
	$(Q)mkdir -p $(@D)
	$(Q)$(MPICC_MPICH) $(PROGRAM_CFLAGS) -o $@ $<

$(P)/ior: tests/programs/ior.c
	$(say) MPICC $@
	$(Q)mkdir -p $(@D)
	$(Q)$(MPICC) $(PROGRAM_CFLAGS) $(call lazy,HDF5_CFLAGS) $(shell $(PKG_CONFIG) --exists pnetcdf && echo -DHAVE_PNETCDF \
		$$($(PKG_CONFIG) --cflags pnetcdf)) -o $@ $< $(call lazy,HDF5_LIBS) $(shell $(PKG_CONFIG) --libs pnetcdf 2>/dev/null)

$(P)/mpiio_f: tests/programs/mpiio.f90
	$(say) MPIF90 $@
	$(Q)mkdir -p $(@D)
	$(Q)$(MPIF90) -O2 -g -Wall -J$(@D) -o $@ $<

$(P)/netcdf_sizes $(P)/nczarr $(P)/headers: LIBRARY = netcdf
$(P)/direct_hdf5: LIBRARY = netcdf $(SERIAL_HDF5)
$(P)/hdf5_sizes $(P)/hdf5_objects $(P)/hdf5_iterated: LIBRARY = $(SERIAL_HDF5)
$(P)/netcdf_sizes $(P)/nczarr $(P)/headers $(P)/hdf5_sizes $(P)/hdf5_objects $(P)/hdf5_iterated $(P)/direct_hdf5: $(P)/%: tests/programs/%.c tests/programs/golden.h
	$(say) CC $@
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(PROGRAM_CFLAGS) $(shell $(PKG_CONFIG) --cflags $(LIBRARY)) -o $@ $< $(shell $(PKG_CONFIG) --libs $(LIBRARY))

$(P)/pnetcdf $(P)/cover_pnetcdf: $(P)/%: tests/programs/%.c
	$(say) MPICC $@
	$(Q)mkdir -p $(@D)
	$(Q)$(MPICC) $(PROGRAM_CFLAGS) $(shell $(PKG_CONFIG) --cflags pnetcdf) -o $@ $< $(shell $(PKG_CONFIG) --libs pnetcdf)

include tests/bench/rules.mk
