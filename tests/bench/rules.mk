# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# The benchmark's workers and empty probes; included by tests/programs/rules.mk, whose variables it uses.

BENCH := build/bench
BENCHMARKS := $(addprefix $(BENCH)/,calls crowd starts probed otf2_floor layers parallel archive empty empty.bpf.o)

# The serial libraries: both sit behind names of their own where the parallel ones are installed, too.
SERIAL_PC = $(shell for p in hdf5-serial hdf5; do $(PKG_CONFIG) --exists $$p && { echo netcdf $$p; break; }; done)

.PHONY: benchmarks
benchmarks: $(BENCHMARKS)

$(BENCH)/calls $(BENCH)/crowd $(BENCH)/starts $(BENCH)/probed: $(BENCH)/%: tests/bench/%.c tests/bench/worker.h
	$(say) CC $@
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(PROGRAM_CFLAGS) -o $@ $< -lpthread

$(BENCH)/otf2_floor: tests/bench/otf2_floor.c
	$(say) CC $@
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(PROGRAM_CFLAGS) $$(otf2-config --cflags) -o $@ $< $$(otf2-config --libs)

$(BENCH)/layers: tests/bench/layers.c tests/bench/worker.h
	$(say) CC $@
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(PROGRAM_CFLAGS) $$($(PKG_CONFIG) --cflags $(SERIAL_PC)) -o $@ $< $$($(PKG_CONFIG) --libs $(SERIAL_PC))

$(BENCH)/archive: tests/bench/archive.c $(B)/.requirements
	$(say) CC $@
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(PROGRAM_CFLAGS) $$(otf2-config --cflags) -o $@ $< $$(otf2-config --ldflags --libs)

$(BENCH)/parallel: tests/bench/parallel.c tests/bench/worker.h
	$(say) MPICC $@
	$(Q)mkdir -p $(@D)
	$(Q)$(MPICC) $(PROGRAM_CFLAGS) $(call lazy,NETCDF_CFLAGS) -o $@ $< $(call lazy,NETCDF_LIBS)

$(BENCH)/empty: tests/bench/empty.c $(B)/.requirements
	$(say) CC $@
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(PROGRAM_CFLAGS) $$($(PKG_CONFIG) --cflags libbpf) -o $@ $< $$($(PKG_CONFIG) --libs libbpf)

$(BENCH)/empty.bpf.o: tests/bench/empty.bpf.c $(B)/.requirements
	$(say) BPF $@
	$(Q)mkdir -p $(@D)
	$(Q)$(CLANG) -O2 -g -Wall -target bpf -mcpu=v3 -Iinclude -Ibpf -c -o $@ $<
