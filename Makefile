# sandpit: a sandbox that you mount. `make help` lists what can be made.

PREFIX ?= /usr/local
CC ?= gcc
VERSION := 0.1.0

# A variant is a build of its own in a directory of its own: make VARIANT=asan, tsan, clang.
VARIANT ?=
B := build$(if $(VARIANT),/$(VARIANT))

# libarchive and libcrypto are loaded when a checkpoint is made: only their headers are needed here.
PKGS := fuse3 libseccomp json-c sqlite3 inih
CFLAGS ?= -O2 -g
CFLAGS_asan := -O1 -g -fsanitize=address,undefined -fno-omit-frame-pointer -fno-sanitize-recover=undefined
CFLAGS_tsan := -O1 -g -fsanitize=thread -fno-omit-frame-pointer
ifneq ($(filter clang fuzz,$(VARIANT)),)
CC := clang
endif

WARN := -Wall -Wextra -Werror -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith \
	-Wwrite-strings -Wformat=2
BASE_CFLAGS := -std=gnu17 -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 -DSANDPIT_VERSION='"$(VERSION)"' \
	-I. -include common/banned.h $(WARN)
# Asked once, and only when something is compiled: `make deps` works without pkg-config.
PKG_CFLAGS = $(eval PKG_CFLAGS := $(shell pkg-config --cflags $(PKGS)))$(PKG_CFLAGS)
PKG_LIBS = $(eval PKG_LIBS := $(shell pkg-config --libs $(PKGS)))$(PKG_LIBS)
ALL_CFLAGS = $(BASE_CFLAGS) $(CFLAGS) $(CFLAGS_$(VARIANT)) $(PKG_CFLAGS) -MMD -MP
ALL_LIBS = $(PKG_LIBS) -pthread -lm

# The init program is static, small and never instrumented: it runs inside every sandbox.
INIT_CFLAGS := $(BASE_CFLAGS) -Os -g0 -static -ffunction-sections -fdata-sections -Wl,--gc-sections -MMD -MP

LIB_SRC := $(wildcard common/*.c runner/*.c runner/checkpoint/*.c)
FS_SRC := $(filter-out fs/main.c,$(wildcard fs/*.c))
INIT_SRC := $(wildcard runner/init/*.c)
LIB_OBJ := $(LIB_SRC:%.c=$(B)/obj/%.o) $(B)/obj/runner/init_image.o
FS_OBJ := $(FS_SRC:%.c=$(B)/obj/%.o)

all: $(B)/sandpit

$(B)/sandpit: $(B)/obj/fs/main.o $(FS_OBJ) $(LIB_OBJ)
	$(CC) $(CFLAGS_$(VARIANT)) $(LDFLAGS) -o $@ $^ $(ALL_LIBS)

$(B)/obj/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -c -o $@ $<

$(B)/sandpit-init: $(INIT_SRC)
	@mkdir -p $(@D)
	$(CC) $(INIT_CFLAGS) -MF $@.d -o $@ $(INIT_SRC)
	strip $@

$(B)/obj/runner/init_image.o: runner/init_image.S $(B)/sandpit-init
	@mkdir -p $(@D)
	$(CC) -DINIT_PATH='"$(B)/sandpit-init"' -c -o $@ $<

include tests/tests.mk

# Debian's packages: to build, to run, to test.
DEPS := gcc make pkg-config libc6-dev libfuse3-dev libseccomp-dev libjson-c-dev libsqlite3-dev \
	libinih-dev libarchive-dev libssl-dev fuse3 uidmap passt slirp4netns \
	bats libcmocka-dev clang libclang-rt-14-dev clang-format mandoc bubblewrap strace jq perl python3 nodejs git vim \
	curl attr acl procps util-linux

# Installs what is missing, as root or through sudo.
deps:
	@missing=; for package in $(DEPS); do \
		dpkg-query -W -f '$${db:Status-Status}\n' $$package 2>/dev/null | grep -qx installed || \
			missing="$$missing $$package"; \
	done; \
	if [ -z "$$missing" ]; then echo "deps: all packages are installed"; exit 0; fi; \
	echo "deps: installing$$missing"; \
	as=; [ $$(id -u) -eq 0 ] || as=sudo; \
	$$as apt-get -q update && \
	$$as env DEBIAN_FRONTEND=noninteractive apt-get -qy install --no-install-recommends $$missing

# A tour of a sandbox, mounted in a temporary directory.
demo: deps
	@+$(MAKE) --no-print-directory all
	@tests/demo.sh $(B)/sandpit

# mount(8) looks for helpers in /sbin only, whatever the prefix.
MOUNT_HELPER := $(DESTDIR)/sbin/mount.fuse.sandpit
SHARE := $(DESTDIR)$(PREFIX)/share
COMPLETION := $(SHARE)/bash-completion/completions/sandpit

install: $(B)/sandpit
	install -D -m 755 $(B)/sandpit $(DESTDIR)$(PREFIX)/bin/sandpit
	install -D -m 644 docs/sandpit.1 $(SHARE)/man/man1/sandpit.1
	install -D -m 644 docs/sandpit.ini.5 $(SHARE)/man/man5/sandpit.ini.5
	install -D -m 644 docs/sandpit.7 $(SHARE)/man/man7/sandpit.7
	install -D -m 644 docs/sandpit.ini $(SHARE)/doc/sandpit/sandpit.ini
	install -D -m 644 docs/sandpit.bash $(COMPLETION)
	install -d $(dir $(MOUNT_HELPER))
	ln -sfn $(PREFIX)/bin/sandpit $(MOUNT_HELPER)

uninstall:
	rm -f $(DESTDIR)$(PREFIX)/bin/sandpit $(SHARE)/man/man1/sandpit.1 \
		$(SHARE)/man/man5/sandpit.ini.5 $(SHARE)/man/man7/sandpit.7 \
		$(SHARE)/doc/sandpit/sandpit.ini $(COMPLETION) $(MOUNT_HELPER)
	-rmdir $(SHARE)/doc/sandpit 2>/dev/null

help:
	@echo 'make             builds $(B)/sandpit'
	@echo 'make deps        installs the Debian packages that are needed to build, run and test'
	@echo 'make demo        deps, build, and a tour of a sandbox'
	@echo 'make test        deps, build, and all tests'
	@echo 'make bench       measures'
	@echo 'make install     installs below PREFIX=$(PREFIX), under DESTDIR= if given'
	@echo 'make uninstall   takes it away again'
	@echo 'make clean       removes what was built'
	@echo 'VARIANT=asan, tsan or clang builds in a directory of its own'

clean:
	rm -rf build

-include $(shell find $(B) -name '*.d' 2>/dev/null)

.PHONY: all clean demo deps help install uninstall
