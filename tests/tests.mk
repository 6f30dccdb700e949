# What tests need and the targets that run them; included by the Makefile.

ESCAPES := $(wildcard tests/lib/escape_*.c)
HELPER_PARTS := tests/lib/nfs3_wire.c tests/lib/p9_wire.c $(ESCAPES)
TEST_HELPERS := $(patsubst tests/lib/%.c,build/tests/%,$(filter-out $(HELPER_PARTS),$(wildcard tests/lib/*.c)))
UNIT_TESTS := $(patsubst tests/%.c,$(B)/tests/%,$(wildcard tests/unit/test_*.c))
FUZZERS := $(patsubst tests/fuzz/%.c,%,$(wildcard tests/fuzz/fuzz_*.c))
FUZZ_REPLAYS := $(FUZZERS:fuzz_%=$(B)/tests/fuzz/replay_%)
FUZZ_BINARIES := $(FUZZERS:%=$(B)/tests/fuzz/%)
FUZZ_SECONDS ?= 20
BENCHES := $(patsubst tests/bench/%.c,build/tests/bench/%,$(wildcard tests/bench/*.c))

CFLAGS_fuzz := -O1 -g -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=undefined \
	-fno-omit-frame-pointer

# All but main, so that a test links what it needs.
$(B)/sandpit.a: $(FS_OBJ) $(LIB_OBJ) $(B)/obj/kernels/jupyter/jupyter_message.o
	@rm -f $@
	ar rcsT $@ $^

# Helpers are static: some of them run inside a sandbox, whatever its tree. Not so the NFS clients, the
# file system, and what is preloaded.
HELPER_LIBS := -static
build/tests/nfs4_compound build/tests/nfs3_calls build/tests/nfs_client: HELPER_LIBS := -lnfs
build/tests/failing_alloc: HELPER_LIBS := -shared -fPIC -fno-builtin
build/tests/faulty_fs: HELPER_LIBS = $(shell $(PKG_CONFIG) --cflags --libs fuse3)
build/tests/nfs3_calls: tests/lib/nfs3_wire.c tests/lib/nfs3_wire.h
build/tests/escape: $(ESCAPES) tests/lib/escape.h
build/tests/p9_client: tests/lib/p9_wire.c tests/lib/p9_wire.h
build/tests/%: tests/lib/%.c
	@mkdir -p $(@D)
	$(CC) $(BASE_CFLAGS) -O1 -o $@ $(filter %.c,$^) $(HELPER_LIBS)

build/tests/bench/%: tests/bench/%.c
	@mkdir -p $(@D)
	$(CC) $(BASE_CFLAGS) -O2 -o $@ $<

# The library's own example of a file system like files/, to compare with: where its source is at hand.
HP_SOURCE := $(wildcard build/libfuse/src/fuse3-*/example/passthrough_hp.cc)
HP := $(if $(HP_SOURCE),$(if $(shell command -v g++),build/tests/bench/passthrough_hp))
build/tests/bench/passthrough_hp: $(HP_SOURCE)
	@mkdir -p $(@D)
	g++ -O2 -std=c++17 -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 -DHAVE_UTIMENSAT -Ibuild/libfuse/src/build \
		-I$(dir $<)../lib $$($(PKG_CONFIG) --cflags fuse3) -o $@ $< $$($(PKG_CONFIG) --libs fuse3)

# With a kernel that is made up.
$(B)/tests/unit/test_files_missed: private LDFLAGS += \
	-Wl,--wrap=fuse_session_fd,--wrap=fuse_lowlevel_notify_inval_inode
$(B)/tests/unit/%: $(B)/obj/tests/unit/%.o $(B)/sandpit.a
	@mkdir -p $(@D)
	$(CC) $(CFLAGS_$(VARIANT)) $(LDFLAGS) -o $@ $^ -lcmocka $(ALL_LIBS)

# A fuzz target's corpus is replayed without a fuzzer, in every variant.
$(B)/tests/fuzz/replay_%: $(B)/obj/tests/fuzz/fuzz_%.o $(B)/obj/tests/fuzz/replay.o $(B)/sandpit.a
	@mkdir -p $(@D)
	$(CC) $(CFLAGS_$(VARIANT)) $(LDFLAGS) -o $@ $^ $(ALL_LIBS)

$(B)/tests/fuzz/fuzz_%: $(B)/obj/tests/fuzz/fuzz_%.o $(B)/sandpit.a
	@mkdir -p $(@D)
	$(CC) $(CFLAGS_$(VARIANT)) -fsanitize=fuzzer $(LDFLAGS) -o $@ $^ $(ALL_LIBS)

.SECONDARY: $(UNIT_TESTS:$(B)/%=$(B)/obj/%.o)

# The tests of the tests of escapes: a build whose protections can be left off, one at a time.
ifneq ($(VARIANT),unsafe)
build/unsafe/sandpit: $(FS_SRC) $(LIB_SRC) $(INIT_SRC) cmd/main.c $(wildcard */*.h */*/*.h)
	$(MAKE) VARIANT=unsafe build/unsafe/sandpit
endif

test-binaries: $(if $(VARIANT),,build/unsafe/sandpit) $(B)/sandpit drivers $(TEST_HELPERS) $(UNIT_TESTS) $(FUZZ_REPLAYS)

test: deps
	@+$(MAKE) --no-print-directory check
check: test-binaries ## all tests, without installing packages first
	tests/run --unit $(if $(VARIANT),--variant $(VARIANT)) $(TEST_ARGS)
unit: $(UNIT_TESTS) $(FUZZ_REPLAYS)
	tests/run --only-unit $(if $(VARIANT),--variant $(VARIANT))

bench: $(B)/sandpit drivers $(BENCHES) $(HP)
	tests/bench/bench $(BENCH_ARGS)
	tests/bench/files $(BENCH_ARGS_FILES)
	tests/bench/code $(BENCH_ARGS_CODE)
	tests/bench/ports
	if [ -d kernels/browser/node_modules ]; then tests/bench/browser; fi

# Each fuzz target for FUZZ_SECONDS; what it finds new goes to build/, never to the corpus.
ifeq ($(VARIANT),fuzz)
fuzz: $(FUZZ_BINARIES)
	tests/fuzz/run $(FUZZ_SECONDS) $(FUZZ_BINARIES)
else
fuzz:
	$(MAKE) VARIANT=fuzz fuzz
endif

ALL_C := $(wildcard common/*.[ch] runner/*.[ch] runner/*/*.[ch] kernels/*.[ch] kernels/*/*.[ch] \
	fs/*.[ch] fs/*/*.[ch] cmd/*.[ch] tests/*/*.[ch])

format-check:
	clang-format --dry-run -Werror $(ALL_C)

lint: $(B)/obj/lint/headers
	tests/lint $(filter-out tests/%,$(filter %.c,$(ALL_C))) -- \
		$(BASE_CFLAGS) $(shell $(PKG_CONFIG) --cflags $(PKGS))

# Every header compiles alone.
$(B)/obj/lint/headers: $(filter %.h,$(ALL_C))
	@mkdir -p $(@D)
	@for header in $^; do \
		$(CC) $(BASE_CFLAGS) $(shell $(PKG_CONFIG) --cflags $(PKGS)) -x c -fsyntax-only \
			-include $$header /dev/null || exit 1; \
	done
	@touch $@

.PHONY: test check unit bench fuzz lint format-check test-binaries
