# Davit.  `make help` lists what there is.
#
# One non-recursive file.  VARIANT=release (default) | debug (ASan + UBSan) |
# tsan | cov | fuzz (CC=clang-14) | demo (quick to build: what `make demo` runs where
# there is no release yet).  V=1 shows the commands.

# No built-in rules: looking for them took two thirds of what a build without changes costs.
MAKEFLAGS += -r

VARIANT ?= release
B := build/$(VARIANT)
VERSION := 0.1.0
CC := gcc
PREFIX ?= /usr/local
PLUGIN_DIR ?= $(PREFIX)/lib/davit

PKGS := libcurl jansson yaml-0.1 openssl libuv sqlite3 libprotobuf-c gnutls zlib
PKG_CFLAGS := $(shell pkg-config --cflags $(PKGS) 2>/dev/null)
PKG_LIBS := $(shell pkg-config --libs $(PKGS) 2>/dev/null)
# libmicrohttpd: the system's where it is new enough, else one that is built once and linked statically.
MHD_VERSION := 1.0.10
ifeq ($(shell pkg-config --atleast-version=$(MHD_VERSION) libmicrohttpd 2>/dev/null && echo yes),yes)
PKG_CFLAGS += $(shell pkg-config --cflags libmicrohttpd)
PKG_LIBS += $(shell pkg-config --libs libmicrohttpd)
else
MHD := $(or $(DAVIT_CACHE),$(HOME)/.cache/davit)/libmicrohttpd-$(MHD_VERSION)
MHD_LIB := $(MHD)/lib/libmicrohttpd.a
PKG_CFLAGS := -I$(MHD)/include $(PKG_CFLAGS)
PKG_LIBS := $(MHD_LIB) $(PKG_LIBS)
endif

WARN := -Wall -Wextra -Wshadow -Wconversion -Wstrict-prototypes -Wvla -Werror
# What the compiler has of these: gcc 12 knows fortify 3, x86 has CET.
takes = $(shell $(CC) -O2 -Werror $(1) -include stdio.h -x c -S -o /dev/null /dev/null 2>/dev/null && echo $(1))
FORTIFY := $(or $(call takes,-D_FORTIFY_SOURCE=3),-D_FORTIFY_SOURCE=2)
HARDEN := $(FORTIFY) -fstack-protector-strong $(call takes,-fstack-clash-protection) $(call takes,-fcf-protection=full)
HARDEN_LINK := -Wl,-z,relro,-z,now,-z,noexecstack,-z,separate-code
CFLAGS.release := -O2 -g -ffile-prefix-map=$(CURDIR)=. $(HARDEN)
CFLAGS.debug := -O1 -g -Wno-format-truncation -fsanitize=address,undefined -fno-omit-frame-pointer -fno-sanitize-recover=undefined
CFLAGS.tsan := -O1 -g -fsanitize=thread
CFLAGS.fuzz := -O1 -g -w -fsanitize=fuzzer-no-link,address,undefined -fno-omit-frame-pointer -fno-sanitize-recover=undefined
CFLAGS.demo := -O1 -Wno-format-truncation
CFLAGS.cov := -O1 -g -Wno-format-truncation --coverage
CFLAGS := -std=c11 -D_GNU_SOURCE -fPIE $(WARN) $(CFLAGS.$(VARIANT)) $(EXTRA_CFLAGS)
# Bettering a plan is bound by what is counted, so its loops are worth more: 4 to 21 % less
# CPU for the same plan (docs/notes/packing.md).
PLAN_CFLAGS.release := -O3
LDFLAGS.release := -pie $(HARDEN_LINK)
LDFLAGS.debug := -pie -fsanitize=address,undefined
LDFLAGS.tsan := -pie -fsanitize=thread
LDFLAGS.demo := -pie
LDFLAGS.fuzz := -fsanitize=address,undefined
LDFLAGS.cov := -pie --coverage
LDFLAGS := $(LDFLAGS.$(VARIANT)) $(EXTRA_LDFLAGS)
CPPFLAGS := -I$(B)/gen -DDAVIT_VERSION='"$(VERSION)"' -DPLUGIN_DIR='"$(PLUGIN_DIR)"' -DCATALOGUE_FILE='"configs/catalogue.yaml"' \
	-DOPENAPI_FILE='"docs/openapi.json"' -DPAGE_FOLDER='"autoscaler/api/page/web"'

Q := $(if $(V),,@)
say = $(if $(V),,@printf '  %-5s %s\n' $(1) $(2))

ROOMS := base model codec plan config wire cloud store control played simulate api cli
SRCS := $(sort $(foreach r,$(ROOMS),$(wildcard autoscaler/$(r)/*.c autoscaler/$(r)/*/*.c autoscaler/$(r)/*/*/*.c)))
MAIN := autoscaler/cli/main.c
.SECONDARY:
GEN_C := $(B)/gen/ray.pb-c.c
LIB_OBJS := $(patsubst %.c,$(B)/%.o,$(filter-out $(MAIN),$(SRCS))) $(GEN_C:.c=.o)
PLUGINS := $(patsubst providers/%/,%,$(sort $(wildcard providers/*/)))
PLUGIN_SOS := $(PLUGINS:%=$(B)/plugins/davit-%.so)

.PHONY: all
all: $(B)/davit $(PLUGIN_SOS)  ## the daemon and its plug-ins (default)
.DEFAULT_GOAL := all

# A changed flag rebuilds everything.
FLAGS_NOW = $(CC) $(CFLAGS) $(PLAN_CFLAGS.$(VARIANT)) $(PLUGIN_CFLAGS) $(CPPFLAGS) $(LDFLAGS)
$(B)/flags: FORCE
	@mkdir -p $(@D); echo '$(subst ','\'',$(FLAGS_NOW))' | cmp -s - $@ || echo '$(subst ','\'',$(FLAGS_NOW))' > $@
.PHONY: FORCE
FORCE:

$(B)/gen/%.pb-c.c $(B)/gen/%.pb-c.h: autoscaler/wire/ray/%.proto
	$(call say,GEN,$@)
	@mkdir -p $(B)/gen
	$(Q)protoc-c --c_out=$(B)/gen --proto_path=autoscaler/wire/ray $<

$(B)/gen/%.o: $(B)/gen/%.c $(B)/flags
	$(call say,CC,$@)
	$(Q)$(CC) $(CFLAGS) -Wno-conversion -Wno-shadow $(CPPFLAGS) $(PKG_CFLAGS) -MMD -MP -c -o $@ $<

$(B)/autoscaler/plan/cover/%.o: CFLAGS += $(PLAN_CFLAGS.$(VARIANT))
$(B)/%.o: %.c $(B)/flags | $(GEN_C)
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(CPPFLAGS) $(PKG_CFLAGS) -MMD -MP -c -o $@ $<

# The reference file as it came; one and three rounds, as in the tables of Python, Ruby and Rust.
$(B)/autoscaler/base/siphash/siphash.o: CFLAGS += -DcROUNDS=1 -DdROUNDS=3 -Wno-conversion
$(B)/autoscaler/config/catalogue_read.o: configs/catalogue.yaml
$(MHD_LIB):
	@CFLAGS='-O2 -g $(HARDEN)' configs/libmicrohttpd.sh $(MHD_VERSION) $(MHD)
$(filter $(B)/autoscaler/api/%,$(LIB_OBJS)): $(MHD_LIB)
$(B)/autoscaler/cli/explain/doc.o: docs/config.md
$(B)/autoscaler/api/page/embed.o: docs/openapi.json $(wildcard autoscaler/api/page/web/*)

$(B)/libdavit.a: $(LIB_OBJS)
	$(call say,AR,$@)
	$(Q)rm -f $@; ar rcs $@ $^

# The whole archive: a name that two rooms use must not pass unseen.
# Of the kit the daemon takes what it shares with plug-ins.
$(B)/davit: $(B)/$(MAIN:.c=.o) $(B)/libdavit.a $(B)/libkit.a
	$(call say,LINK,$@)
	$(Q)$(CC) $(LDFLAGS) -o $@ $< -Wl,--whole-archive $(B)/libdavit.a -Wl,--no-whole-archive $(B)/libkit.a $(PKG_LIBS) -ldl -lpthread -lm

# A plug-in sees provider.h and autoscaler/kit/ only, and links no symbol of ours.
PLUGIN_CFLAGS := $(filter-out -fPIE,$(CFLAGS)) -fPIC -fvisibility=hidden
PLUGIN_LIBS ?= $(shell pkg-config --libs jansson openssl 2>/dev/null) -lpthread
# libkit.a: each plug-in gets what it uses and needs no library of the others.
PLUGIN_LIBS_aws := $(shell pkg-config --libs expat 2>/dev/null)
PLUGIN_LIBS_eks := $(PLUGIN_LIBS_aws)
PLUGIN_LIBS_ec2 := $(PLUGIN_LIBS_aws)
# Google takes a word of AWS for who we are: kit/gcp/federation.c
PLUGIN_LIBS_gke := $(PLUGIN_LIBS_aws)
PLUGIN_LIBS_gce := $(PLUGIN_LIBS_aws)
KIT_OBJS := $(patsubst autoscaler/kit/%.c,$(B)/kit/%.o,$(sort $(wildcard autoscaler/kit/*.c autoscaler/kit/*/*.c)))

$(B)/kit/%.o: autoscaler/kit/%.c $(B)/flags
	$(call say,KIT,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(PLUGIN_CFLAGS) $(PKG_CFLAGS) -MMD -MP -c -o $@ $<

$(B)/libkit.a: $(KIT_OBJS)
	$(call say,AR,$@)
	$(Q)rm -f $@; ar rcs $@ $^

$(B)/providers/%.o: providers/%.c $(B)/flags
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(PLUGIN_CFLAGS) -Iautoscaler -Iautoscaler/kit $(PKG_CFLAGS) -MMD -MP -c -o $@ $<

define plugin_rule
$(B)/plugins/davit-$(1).so: $(patsubst %.c,$(B)/%.o,$(wildcard providers/$(1)/*.c)) $(B)/libkit.a
	$$(call say,SO,$$@)
	@mkdir -p $$(@D)
	$$(Q)$$(CC) $$(PLUGIN_CFLAGS) -shared -Wl,--no-undefined $$(filter-out -pie,$$(LDFLAGS)) -Wl,--as-needed -o $$@ $$^ $$(PLUGIN_LIBS) $$(PLUGIN_LIBS_$(1))
	$$(Q)chmod go-w $$(@D) $$@
endef
$(foreach p,$(PLUGINS),$(eval $(call plugin_rule,$(p))))

# ---- tests: see tests/tests.mk
include $(wildcard tests/tests.mk)

# What a build is dated with, so that the same sources give the same bytes.
SOURCE_DATE_EPOCH ?= $(or $(shell git log -1 --format=%ct 2>/dev/null),$(shell stat -c %Y CHANGELOG.md))
DATED = SOURCE_DATE_EPOCH=$(SOURCE_DATE_EPOCH)
STAGE = $(DATED) configs/packaging/stage.sh $(B)
# $$in: a folder of this call's own, so that two may run side by side.
IN_A_FOLDER = in=$$(mktemp -d $(B)/stage.XXXXXX) && trap 'rm -rf "$$in"' EXIT

.PHONY: install uninstall
install uninstall: all  ## into PREFIX (/usr/local), DESTDIR honoured; and away again
	@$(IN_A_FOLDER) && $(STAGE) $$in $(PREFIX) $(PLUGIN_DIR) $(VERSION) $(PLUGIN_SOS) && configs/packaging/place.sh $@ $$in $(DESTDIR)

ARCH = $(shell dpkg --print-architecture)
DEB = $(B)/davit_$(VERSION)-1_$(ARCH).deb
.PHONY: deb
deb: all  ## build/release/davit_VERSION_ARCH.deb
	@$(IN_A_FOLDER) && $(STAGE) $$in /usr /usr/lib/davit $(VERSION) $(PLUGIN_SOS) && $(DATED) configs/packaging/deb.sh $$in $(VERSION) $(DEB)
	@echo $(DEB)

# UNPATCHED=told: also with packages that have an update waiting, after they were named.
.PHONY: image
image: all  ## build/release/image: an OCI image layout, made without a container daemon
	@$(IN_A_FOLDER) && $(STAGE) $$in/installed /usr /usr/lib/davit $(VERSION) $(PLUGIN_SOS) && configs/kubernetes/rootfs.sh $$in/installed $$in/root && \
		{ configs/packaging/unpatched.sh $$in/root || [ "$(UNPATCHED)" = told ] || { echo "no image was made; UNPATCHED=told makes it all the same" >&2; false; }; } && \
		$(DATED) configs/packaging/image.py $$in/root configs/kubernetes/Dockerfile $(VERSION) "$$(git rev-parse -q --verify HEAD 2>/dev/null)" $(or $(OUT),$(B)/image)

.PHONY: outdated
outdated:  ## is there a later libmicrohttpd than the one that is linked statically, and what to do
	@$(if $(MHD_LIB),configs/outdated.sh $(MHD_VERSION),echo "libmicrohttpd is the system's: apt has its updates")

.PHONY: sbom
sbom: all  ## build/release/davit.spdx.json: the program, its plug-ins, and the packages they are linked with
	@python3 configs/sbom.py $(VERSION) $(if $(MHD_LIB),--static libmicrohttpd=$(MHD_VERSION)=$(MHD_LIB)) $(B)/davit $(PLUGIN_SOS) > $(B)/davit.spdx.json.new && mv $(B)/davit.spdx.json.new $(B)/davit.spdx.json

.PHONY: clean
clean:  ## removes build/
	rm -rf build

.PHONY: help
help:  ## this list
	@awk -F':.*## ' '/^[a-z -]+:.*## /{printf "  make %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

-include $(shell find $(B) -type f -name '*.d' 2>/dev/null)
