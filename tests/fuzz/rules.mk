# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Fuzzing with libFuzzer (clang): all sources once more, with coverage and sanitizers, in build/fuzz. tests/README.md says more.

F := build/fuzz
FUZZ_TARGETS := $(shell sed -n 's/^\tX(\([a-z]*\)).*/\1/p' tests/fuzz/fuzz.h)
FUZZ_S ?= 600
FUZZ_CFLAGS := -O1 -g -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=undefined \
	-DFUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
FUZZ_OBJECTS := $(patsubst %.c,$(F)/obj/%.o,$(filter-out user/main.c,$(USER_SOURCES))) $(F)/obj/build/builtin_tables.o \
	$(F)/obj/tests/fuzz/common.o

# The same functions without libFuzzer, for the inputs that once failed.
$(B)/tests/fuzz_regression_test: $(FUZZ_TARGETS:%=$(B)/obj/tests/fuzz/%.o) $(B)/obj/tests/fuzz/common.o

.PHONY: fuzz
fuzz:			## fuzz the parsers, FUZZ_S seconds each (FUZZ=NAME: only that one)
	$(Q)tools/install-deps.sh --fuzz
	$(Q)$(MAKE) --no-print-directory all programs $(FUZZ_TARGETS:%=$(F)/%) $(F)/seeds
	$(Q)FUZZ_S=$(FUZZ_S) tests/fuzz/run $(or $(FUZZ),$(filter-out node,$(FUZZ_TARGETS)))

.PHONY: fuzz-long
fuzz-long:		## fuzz each for 10^7 executions or an hour, whichever comes first; the fastest first
	$(Q)FUZZ_RUNS=10000000 $(MAKE) --no-print-directory fuzz FUZZ_S=3600

$(F)/obj/%.o: %.c $(B)/.requirements | build/ioprobe.skel.h build/builtin_tables.c
	$(say) FUZZ $<
	$(Q)mkdir -p $(@D)
	$(Q)$(CLANG) $(ALL_CPPFLAGS) -Itests/fuzz $(call lazy,PACKAGE_CFLAGS) -std=gnu11 $(FUZZ_CFLAGS) -fsanitize=fuzzer-no-link -MMD -MP -c -o $@ $<

$(FUZZ_TARGETS:%=$(F)/%): $(F)/%: $(F)/obj/tests/fuzz/%.o tests/fuzz/main.c $(FUZZ_OBJECTS)
	$(say) LINK $@
	$(Q)$(CLANG) $(FUZZ_CFLAGS) -fsanitize=fuzzer -DFUZZ_TARGET=$* -Itests/fuzz -o $@ $(filter-out %.h,$^) $(call lazy,PACKAGE_LIBS) $(LIBS)

$(F)/seeds: $(F)/obj/tests/fuzz/seeds.o $(FUZZ_OBJECTS)
	$(say) LINK $@
	$(Q)$(CLANG) $(FUZZ_CFLAGS) -o $@ $^ $(call lazy,PACKAGE_LIBS) $(LIBS)
