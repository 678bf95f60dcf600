# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Builds ioprobe and its tests; "make help" lists the targets. Everything that is made goes below build/.

.DELETE_ON_ERROR:
.SUFFIXES:
MAKEFLAGS += --no-builtin-rules
.DEFAULT_GOAL := all

PREFIX ?= /usr/local
DESTDIR ?=
ifeq ($(origin CC),default)
CC := gcc
endif
ifeq ($(origin CXX),default)
CXX := g++
endif
CLANG ?= clang
PKG_CONFIG ?= pkg-config
INSTALL ?= install

# SANITIZE=1 has a tree of objects of its own, so that switching costs no rebuild.
B := build$(if $(SANITIZE),/sanitize)

# V=1 shows the commands.
ifeq ($(V),1)
Q :=
say := @:
else
Q := @
say := @printf '  %-8s %s\n'
endif

# ---- what it is made of ----

# bpftool is in /usr/sbin on Debian; Ubuntu's is a script that wants the tools of the very kernel, so any version's will do.
BPFTOOL ?= $(firstword $(shell PATH="$$PATH:/usr/sbin:/sbin"; \
	for t in bpftool /usr/lib/linux-tools*/*/bpftool /usr/lib/linux-tools-*/bpftool; do \
		command -v $$t >/dev/null 2>&1 && $$t version >/dev/null 2>&1 && command -v $$t && break; done))
BPF_ARCH := $(patsubst x86_64,x86,$(patsubst aarch64,arm64,$(patsubst ppc64le,powerpc,$(shell uname -m))))
BPF_FORMS := 4 0         # of the object, beside the one of ioprobe.skel.h
PACKAGES := libbpf libelf libdw otf2 libzstd zlib jansson sqlite3 libmicrohttpd libsystemd gnutls

PACKAGE_CFLAGS = $(shell $(PKG_CONFIG) --cflags $(PACKAGES) 2>/dev/null)
PACKAGE_LIBS = $(shell $(PKG_CONFIG) --libs $(PACKAGES) 2>/dev/null) $(shell $(PKG_CONFIG) --libs zydis 2>/dev/null || echo -lZydis)
# Expanded once, at the first use: a plain "make help" or "make clean" needs no library.
lazy = $(eval $(1) := $($(1)))$($(1))

CFLAGS ?= -O2 -g
sanitizers := -fsanitize=address,undefined -fno-sanitize-recover=undefined
ALL_CFLAGS = -std=gnu11 -Wall -Wextra $(if $(WERROR),-Werror) $(CFLAGS) $(if $(SANITIZE),$(sanitizers) -fno-omit-frame-pointer)
ALL_CPPFLAGS = -D_GNU_SOURCE -Iinclude -Iuser -I$(B) -Ibuild $(CPPFLAGS)
ALL_LDFLAGS = $(if $(SANITIZE),$(sanitizers)) $(LDFLAGS)
LIBS = -lpthread -lm

USER_SOURCES := $(sort $(shell find user -name '*.c' -not -path 'user/report/advice/*' -not -path 'user/mpi/*'))
MPICC ?= $(firstword $(shell command -v mpicc || ls /usr/lib64/openmpi/bin/mpicc 2>/dev/null) mpicc)
HAVE_MPI := $(shell command -v $(MPICC))
USER_OBJECTS := $(USER_SOURCES:%.c=$(B)/obj/%.o) $(B)/obj/builtin_tables.o
LIBRARY_OBJECTS := $(filter-out $(B)/obj/user/main.o,$(USER_OBJECTS))
PROBE_TABLES := $(sort $(wildcard probes/*.probes probes/optional/*.probes))

UNIT_TESTS := $(patsubst tests/unit/%.c,$(B)/tests/%,$(sort $(wildcard tests/unit/*_test.c)))
UNIT_HELPERS := $(patsubst tests/unit/%.c,$(B)/obj/tests/unit/%.o, \
	$(sort $(wildcard tests/unit/*_builder.c tests/unit/*_fixture.c)))

# ---- targets ----

.PHONY: all
all: $(B)/ioprobe $(if $(HAVE_MPI),$(B)/ioprobe-mpi)	## build/ioprobe and, where MPI is, build/ioprobe-mpi (default)

.PHONY: check
check:			## install what the tests need, run all tests (end-to-end tests need root)
	$(Q)tools/install-deps.sh --tests
	$(Q)$(MAKE) --no-print-directory -j"$$(nproc)" all unit-tests programs
	$(Q)IOPROBE=$(B)/ioprobe BUILD=$(B) tests/run

.PHONY: check-faults
check-faults:		## faults at 200 random moments (FAULTS=n, SEED=n), full disks and the like (root; takes 15 to 45 minutes)
	$(Q)tools/install-deps.sh --tests
	$(Q)$(MAKE) --no-print-directory all programs
	$(Q)IOPROBE=$(B)/ioprobe BUILD=$(B) tests/faults/run

.PHONY: check-call-sites
check-call-sites:	## the top call sites of nccopy, cdo, LAMMPS, meep and PostgreSQL against gdb's backtraces at the same calls (root)
	$(Q)tools/install-deps.sh --tests
	$(Q)$(MAKE) --no-print-directory all programs
	$(Q)IOPROBE=$(B)/ioprobe BUILD=$(B) ALL_SITES=1 tests/run e2e/gdb_sites

.PHONY: check-browser
check-browser:		## reports in Chromium at two widths and printed; pictures in build/browser (root)
	$(Q)tools/install-deps.sh --tests
	$(Q)$(MAKE) --no-print-directory all programs
	$(Q)IOPROBE=$(B)/ioprobe BUILD=$(B) IMAGES=$(CURDIR)/$(B)/browser tests/run e2e/report_page

.PHONY: check-distributions
check-distributions:	## builds, demo and tests in fresh Debian 12, 13 and sid (DISTRIBUTIONS="debian12 ..."); an hour (root)
	$(Q)tests/distributions/run $(DISTRIBUTIONS)

.PHONY: check-kernels
check-kernels: all programs	## Debian's kernels in qemu: counts, streams, exceptions, attach (SERIES='6.1 7.2', RUNS=n, CPUS=n; root)
	$(Q)tests/kernels/run

.PHONY: check-servers
check-servers:		## Prometheus and VictoriaMetrics scrape a recording; queries of the dashboards (root)
	$(Q)tools/install-deps.sh --tests
	$(Q)$(MAKE) --no-print-directory all
	$(Q)IOPROBE=$(B)/ioprobe tests/servers/run

.PHONY: check-stream
check-stream: all	## followers, reader and collector that are killed or stall, of 4 nodes with 100000 files each (FILES, NODES, KILLS, SEED=n; root)
	$(Q)dir=$$(mktemp -d) && trap 'rm -rf "$$dir"' EXIT && IOPROBE=$(CURDIR)/$(B)/ioprobe FILES=$${FILES:-100000} NODES=$${NODES:-4} KILLS=$${KILLS:-8} \
		/usr/bin/python3 tests/lib/follow_many.py $$dir

.PHONY: demo
demo:			## install what the demo needs, trace a parallel netCDF program and show the result
	$(Q)tools/install-deps.sh
	$(Q)$(MAKE) --no-print-directory all build/programs/parallel_nc
	$(Q)tools/demo.sh

.PHONY: bench
bench: all benchmarks programs	## what tracing costs on this machine (root)
	$(Q)IOPROBE=$(B)/ioprobe tests/bench/run

.PHONY: bench-merge
bench-merge: all programs	## what merging costs, up to 1024 nodes of 128 ranks (root)
	$(Q)IOPROBE=$(B)/ioprobe /usr/bin/python3 tests/bench/merge.py

.PHONY: bench-follow
bench-follow: all	## what following a recording costs: CPU, memory, lag (root)
	$(Q)IOPROBE=$(B)/ioprobe /usr/bin/python3 tests/bench/follow.py

.PHONY: unit-tests
unit-tests: $(UNIT_TESTS)	## the executables of tests/unit

include tests/programs/rules.mk
include tests/planted/rules.mk
include tests/fuzz/rules.mk

.PHONY: manuals
manuals: all		## the manual pages, in build/man
	$(Q)tools/manual $(B)/ioprobe build/man

.PHONY: completion
completion: all		## of bash and zsh, in build/completion
	$(Q)mkdir -p build/completion
	$(Q)tools/completion $(B)/ioprobe bash > build/completion/ioprobe
	$(Q)tools/completion $(B)/ioprobe zsh > build/completion/_ioprobe

.PHONY: install
install: all manuals completion	## to $(DESTDIR)$(PREFIX)
	$(say) INSTALL $(DESTDIR)$(PREFIX)
	$(Q)$(INSTALL) -D -m 755 $(B)/ioprobe $(DESTDIR)$(PREFIX)/bin/ioprobe
	$(Q)test ! -e $(B)/ioprobe-mpi || $(INSTALL) -m 755 $(B)/ioprobe-mpi $(DESTDIR)$(PREFIX)/bin/ioprobe-mpi
	$(Q)$(INSTALL) -d $(DESTDIR)$(PREFIX)/share/ioprobe/probes $(DESTDIR)$(PREFIX)/share/doc/ioprobe
	$(Q)$(INSTALL) -m 644 $(PROBE_TABLES) $(wildcard probes/README.md) $(DESTDIR)$(PREFIX)/share/ioprobe/probes
	$(Q)$(INSTALL) -m 644 LICENSE $(wildcard README.md) $(DESTDIR)$(PREFIX)/share/doc/ioprobe
	$(Q)$(INSTALL) -d $(DESTDIR)$(PREFIX)/share/man/man1 $(DESTDIR)$(PREFIX)/share/man/man5
	$(Q)$(INSTALL) -m 644 build/man/*.1 $(DESTDIR)$(PREFIX)/share/man/man1
	$(Q)$(INSTALL) -m 644 build/man/*.5 $(DESTDIR)$(PREFIX)/share/man/man5
	$(Q)$(INSTALL) -D -m 644 build/completion/ioprobe $(DESTDIR)$(PREFIX)/share/bash-completion/completions/ioprobe
	$(Q)$(INSTALL) -D -m 644 build/completion/_ioprobe $(DESTDIR)$(PREFIX)/share/zsh/site-functions/_ioprobe
	$(Q)$(INSTALL) -d $(DESTDIR)$(PREFIX)/share/ioprobe/slurm $(DESTDIR)$(PREFIX)/lib/systemd/system
	$(Q)$(INSTALL) -m 644 tools/slurm/README.md tools/slurm/policy.md $(DESTDIR)$(PREFIX)/share/ioprobe/slurm
	$(Q)for f in slurm/prolog slurm/epilog; do sed 's|@PREFIX@|$(PREFIX)|' tools/$$f > $(DESTDIR)$(PREFIX)/share/ioprobe/$$f && \
		chmod 755 $(DESTDIR)$(PREFIX)/share/ioprobe/$$f || exit 1; done
	$(Q)$(INSTALL) -D -m 644 -t $(DESTDIR)$(PREFIX)/share/ioprobe/grafana tools/grafana/*.json
	$(Q)$(INSTALL) -m 644 tools/slurm/policy.example $(DESTDIR)$(PREFIX)/share/ioprobe/slurm/policy.example
	$(Q)for f in ioprobe.service ioprobe.socket ioprobe-collect.service; do \
		sed 's|@PREFIX@|$(PREFIX)|' tools/systemd/$$f > $(DESTDIR)$(PREFIX)/lib/systemd/system/$$f || exit 1; done

.PHONY: uninstall
uninstall:		## remove what install put there
	$(Q)rm -f $(DESTDIR)$(PREFIX)/bin/ioprobe $(DESTDIR)$(PREFIX)/bin/ioprobe-mpi $(DESTDIR)$(PREFIX)/lib/systemd/system/ioprobe.service \
		$(DESTDIR)$(PREFIX)/lib/systemd/system/ioprobe.socket $(DESTDIR)$(PREFIX)/lib/systemd/system/ioprobe-collect.service
	$(Q)rm -f $(DESTDIR)$(PREFIX)/share/man/man1/ioprobe.1 $(DESTDIR)$(PREFIX)/share/man/man1/ioprobe-*.1 \
		$(DESTDIR)$(PREFIX)/share/man/man5/ioprobe.*.5 $(DESTDIR)$(PREFIX)/share/bash-completion/completions/ioprobe \
		$(DESTDIR)$(PREFIX)/share/zsh/site-functions/_ioprobe
	$(Q)rm -rf $(DESTDIR)$(PREFIX)/share/ioprobe $(DESTDIR)$(PREFIX)/share/doc/ioprobe

# The analyzer's path-sensitive rules do not see that a negative errno is not zero, nor through uthash's macros: excluded, like rules that
# the house style does not follow.
TIDY := -*,bugprone-*,clang-analyzer-deadcode.*,clang-analyzer-security.*,clang-analyzer-unix.API,clang-analyzer-unix.cstring.*
TIDY := $(TIDY),-bugprone-easily-swappable-parameters,-bugprone-narrowing-conversions,-bugprone-reserved-identifier
TIDY := $(TIDY),-bugprone-assignment-in-if-condition,-bugprone-sizeof-expression,-bugprone-suspicious-string-compare
TIDY := $(TIDY),-bugprone-signed-char-misuse,-bugprone-implicit-widening-of-multiplication-result
TIDY := $(TIDY),-clang-analyzer-security.insecureAPI.DeprecatedOrUnsafeBufferHandling,-clang-analyzer-security.insecureAPI.strcpy

# cppcheck gets simple definitions of uthash's loops: it cannot follow the expanded macros. Nor does it get generated headers: it does
# not get through the skeletons' strings of a megabyte in 15 minutes.
.PHONY: lint
lint: $(B)/ioprobe build/ioprobe.skel.h build/guard.skel.h build/store_sql.h build/page_files.h build/advice_files.h build/known_layers_text.h build/builtin_tables.c	## structure; cppcheck and clang-tidy, where installed
	$(Q)tools/structure/check-includes
	$(Q)tools/structure/call-cycles $(B)/obj/user/model
	$(Q)tools/structure/call-cycles $(B)/obj/user/replay
	$(Q)tools/structure/check-documents $(B)/ioprobe
	$(Q)tools/structure/check-lines
	$(Q)tools/structure/check-names
	$(Q)if command -v cppcheck >/dev/null; then cppcheck --quiet --std=c11 --enable=warning,performance,portability \
		-j "$$(nproc)" '-DHASH_ITER(hh,head,el,tmp)=while((el=(head)))' '-DLIBBPF_OPTS(type,name,...)=struct type name' \
		'-Dbpf_object__for_each_program(program,object)=while((program=(object)))' -D__x86_64__ \
		--suppress=missingIncludeSystem --suppress=internalAstError --suppress=uninitdata --suppress=uninitStructMember \
		--suppress=uninitvar --error-exitcode=1 $(filter-out -Ibuild,$(ALL_CPPFLAGS)) $(USER_SOURCES); \
		else echo 'lint: cppcheck is not installed, skipped'; fi
	$(Q)if command -v clang-tidy >/dev/null; then printf '%s\n' $(USER_SOURCES) | xargs -P "$$(nproc)" -n 4 \
		sh -c 'clang-tidy --quiet --warnings-as-errors="*" --checks="$(TIDY)" "$$@" -- -std=gnu11 $(ALL_CPPFLAGS) \
			$(call lazy,PACKAGE_CFLAGS)' sh; \
		else echo 'lint: clang-tidy is not installed, skipped'; fi

.PHONY: format
format:			## what .clang-format would change in the lines that differ from BASE=main
	$(Q)git clang-format --diff $(or $(BASE),main) -- bpf include user tests

# A tarball has no history: its version is in .version.
.PHONY: dist
dist:			## build/ioprobe-VERSION.tar.gz of the last commit
	$(Q)mkdir -p build/dist && tools/version > build/dist/.version
	$(Q)version=$$(cat build/dist/.version) && git archive --format=tar --prefix="ioprobe-$$version/" -o "build/ioprobe-$$version.tar" HEAD && \
		tar -rf "build/ioprobe-$$version.tar" -C build/dist --owner=0 --group=0 --transform="s|^|ioprobe-$$version/|" .version && \
		gzip -nf "build/ioprobe-$$version.tar" && echo "build/ioprobe-$$version.tar.gz"

.PHONY: clean
clean:			## remove build/
	$(Q)rm -rf build

.PHONY: help
help:			## this list
	@echo 'Targets:'
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  \1|\2/p' $(MAKEFILE_LIST) | awk -F'|' '{ printf "%-12s %s\n", $$1, $$2 }'
	@echo 'Variables: V=1 (show commands), SANITIZE=1 (address and undefined behaviour, in build/sanitize), WERROR=1,'
	@echo '           PREFIX=/usr/local, DESTDIR=, CC, CLANG, BPFTOOL, CFLAGS, LDFLAGS'

# ---- rules ----

# One clear line instead of a hundred errors where a library is missing.
$(B)/.requirements: Makefile
	$(Q)mkdir -p $(B)
	$(Q)for p in $(PACKAGES); do $(PKG_CONFIG) --exists $$p || missing="$$missing $$p"; done; \
	for t in $(CC) $(CLANG); do command -v $$t >/dev/null || missing="$$missing $$t"; done; \
	test -n "$(BPFTOOL)" || missing="$$missing bpftool"; \
	test -z "$$missing" || { echo "make: not found:$$missing; install with: sudo tools/install-deps.sh" >&2; exit 1; }
	$(Q)touch $@

$(B)/ioprobe: $(USER_OBJECTS) $(B)/obj/version.o
	$(say) LINK $@
	$(Q)$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) -o $@ $^ $(call lazy,PACKAGE_LIBS) $(LIBS)

$(B)/ioprobe-mpi: $(B)/obj/user/mpi/ioprobe_mpi.o $(LIBRARY_OBJECTS) $(B)/obj/version.o
	$(say) LINK $@
	$(Q)$(MPICC) $(ALL_CFLAGS) $(ALL_LDFLAGS) -o $@ $^ $(call lazy,PACKAGE_LIBS) $(LIBS)

$(B)/obj/user/mpi/%.o: user/mpi/%.c $(B)/.requirements
	$(say) MPICC $<
	$(Q)mkdir -p $(@D)
	$(Q)$(MPICC) $(ALL_CPPFLAGS) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<

$(B)/obj/%.o: %.c $(B)/.requirements | build/ioprobe.skel.h build/guard.skel.h build/store_sql.h build/page_files.h build/advice_files.h build/known_layers_text.h
	$(say) CC $<
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CPPFLAGS) $(call lazy,PACKAGE_CFLAGS) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<

$(B)/obj/builtin_tables.o: build/builtin_tables.c $(B)/.requirements
	$(say) CC $<
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CPPFLAGS) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<

# Written only when it changes: one link for a commit.
.PHONY: FORCE
build/version.c: FORCE
	$(Q)mkdir -p build
	$(Q)echo 'extern const char ioprobe_version[]; const char ioprobe_version[] = "$(shell tools/version)";' > $@.new
	$(Q)if cmp -s $@.new $@; then rm $@.new; else mv $@.new $@; fi

$(B)/obj/version.o: build/version.c $(B)/.requirements
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) -c -o $@ $<

build/builtin_tables.c: $(PROBE_TABLES) tools/embed.sh
	$(say) EMBED $@
	$(Q)mkdir -p build
	$(Q)tools/embed.sh tables $@ $(PROBE_TABLES)

# Files that the program contains, as C strings: NAME=FILE is the array NAME.
build/store_sql.h: user/stream/store.sql tools/embed.sh
	$(say) EMBED $@
	$(Q)tools/embed.sh strings $@ store_sql=$<

build/known_layers_text.h: probes/known.layers tools/embed.sh
	$(say) EMBED $@
	$(Q)tools/embed.sh strings $@ known_layers_text=$<

PAGE := user/view/page
build/page_files.h: $(wildcard $(PAGE)/*) tools/embed.sh
	$(say) EMBED $@
	$(Q)tools/embed.sh strings $@ page_html=$(PAGE)/page.html page_css=$(PAGE)/page.css page_js=$(PAGE)/page.js

ADVICE := $(sort $(foreach type,c f90 py sh,$(wildcard user/report/advice/*.$(type))))
build/advice_files.h: $(ADVICE) tools/embed.sh
	$(say) EMBED $@
	$(Q)tools/embed.sh advice $@ $(ADVICE)

# v3: atomic compare and exchange of 32 bits (kernel 5.12). In three forms, see bpf/wait.bpf.h; user/bpf/skeleton.c chooses.
build/ioprobe-%.bpf.o: bpf/ioprobe.bpf.c $(B)/.requirements
	$(say) BPF $@
	$(Q)$(CLANG) -O2 -g -Wall -target bpf -mcpu=v3 -D__TARGET_ARCH_$(BPF_ARCH) -DIOP_TASK_WORK=$* -Iinclude -Ibpf -MMD -MP -c -o $@ $<

build/ioprobe-%.skel.h: build/ioprobe-%.bpf.o
	$(say) SKEL $@
	$(Q)$(BPFTOOL) gen skeleton $< name ioprobe_bpf_$* > $@

build/ioprobe.skel.h: build/ioprobe-5.bpf.o $(BPF_FORMS:%=build/ioprobe-%.skel.h)
	$(say) SKEL $@
	$(Q)$(BPFTOOL) gen skeleton $< name ioprobe_bpf > $@

build/guard.bpf.o: bpf/guard.bpf.c $(B)/.requirements
	$(say) BPF $@
	$(Q)$(CLANG) -O2 -g -Wall -target bpf -mcpu=v3 -D__TARGET_ARCH_$(BPF_ARCH) -Iinclude -Ibpf -MMD -MP -c -o $@ $<

build/guard.skel.h: build/guard.bpf.o
	$(say) SKEL $@
	$(Q)$(BPFTOOL) gen skeleton $< name guard_bpf > $@

$(B)/tests/kafka_test: LIBS += -lrdkafka
# Thin: the objects stay where they are. A test is linked with the objects that it needs, not with all of them.
$(B)/libioprobe.a: $(LIBRARY_OBJECTS)
	$(say) AR $@
	$(Q)rm -f $@ && ar rcsT $@ $^

$(B)/tests/%_test: $(B)/obj/tests/unit/%_test.o $(UNIT_HELPERS) $(B)/libioprobe.a
	$(say) LINK $@
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) -o $@ $(filter %.o,$^) $(filter %.a,$^) $(call lazy,PACKAGE_LIBS) -lcmocka $(LIBS)

# Kept: without this make takes the tests' objects for intermediate files and removes them.
.SECONDARY:

-include $(shell find build -path build/distributions -prune -o -name '*.d' -type f -print 2>/dev/null)
