# sandpit: a sandbox that you mount. `make help` lists what can be made.

PREFIX ?= /usr/local
CC ?= gcc
VERSION := 0.1.0

# A variant is a build of its own in a directory of its own: make VARIANT=asan, tsan, clang.
VARIANT ?=
B := build$(if $(VARIANT),/$(VARIANT))

PKGS := fuse3 libseccomp json-c sqlite3 inih
CFLAGS ?= -O2 -g
CFLAGS_asan := -O1 -g -fsanitize=address,undefined -fno-omit-frame-pointer -fno-sanitize-recover=undefined
CFLAGS_tsan := -O1 -g -fsanitize=thread -fno-omit-frame-pointer
ifeq ($(VARIANT),clang)
CC := clang
endif

WARN := -Wall -Wextra -Werror -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith \
	-Wwrite-strings -Wformat=2
BASE_CFLAGS := -std=gnu17 -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 -DSANDPIT_VERSION='"$(VERSION)"' \
	-I. -include common/banned.h $(WARN)
ALL_CFLAGS := $(BASE_CFLAGS) $(CFLAGS) $(CFLAGS_$(VARIANT)) $(shell pkg-config --cflags $(PKGS)) -MMD -MP
ALL_LIBS := $(shell pkg-config --libs $(PKGS)) -pthread -lm

# The init program is static, small and never instrumented: it runs inside every sandbox.
INIT_CFLAGS := $(BASE_CFLAGS) -Os -g0 -static -ffunction-sections -fdata-sections -Wl,--gc-sections -MMD -MP

LIB_SRC := $(wildcard common/*.c runner/*.c)
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
	$(CC) $(INIT_CFLAGS) -MF $@.d -o $@ $^
	strip $@

$(B)/obj/runner/init_image.o: runner/init_image.S $(B)/sandpit-init
	@mkdir -p $(@D)
	$(CC) -DINIT_PATH='"$(B)/sandpit-init"' -c -o $@ $<

clean:
	rm -rf build

-include $(shell find $(B) -name '*.d' 2>/dev/null)

.PHONY: all clean
