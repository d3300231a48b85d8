# tests.mk - included by the Makefile: every test there is, by name.

include tests/storm/storm.mk tests/real/real.mk tests/fuzz/fuzz.mk tests/prop/prop.mk tests/plugin/plugin.mk tests/contract/contract.mk tests/exec/exec.mk tests/bench/bench.mk tests/clouds/clouds.mk tests/k8s/random/random.mk

UNIT_SRCS := $(sort $(wildcard tests/unit/test_*.c))
UNIT_BINS := $(UNIT_SRCS:tests/unit/%.c=$(B)/tests/%)
CMOCKA_LIBS = $(shell pkg-config --libs cmocka 2>/dev/null)

# What simulations play besides autoscaler/played/.
PLAYED_OBJS := $(patsubst %.c,$(B)/%.o,$(sort $(wildcard tests/played/*.c)))
$(PLAYED_OBJS): private CPPFLAGS += -Iautoscaler

$(B)/libplayed.a: $(PLAYED_OBJS)
	$(call say,AR,$@)
	$(Q)rm -f $@; ar rcs $@ $^

$(B)/tests/%: tests/unit/%.c $(B)/libplayed.a $(B)/libdavit.a $(B)/libkit.a $(B)/flags
	$(call say,TEST,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) -Wno-conversion $(CPPFLAGS) $(PKG_CFLAGS) -Iautoscaler -MMD -MP $(LDFLAGS) -o $@ $< $(B)/libplayed.a $(B)/libdavit.a $(B)/libkit.a $(CMOCKA_LIBS) $(PKG_LIBS) -ldl -lpthread -lm

$(B)/tests/test_control_lists: LDFLAGS += -Wl,--wrap=strcmp

.PHONY: check-unit build-unit
build-unit: all $(UNIT_BINS) $(TEST_SOS)
check-unit: build-unit  ## unit tests (VARIANT=debug: under ASan and UBSan)
	@tests/unit/run.sh $(B) $(UNIT_BINS)

# Set-up is part of every target that needs it; a second time it does nothing.
.PHONY: setup setup-test
setup:
	@tests/setup.sh build

# What suites build in build/release is built before they start side by side.
.PHONY: test-tools
test-tools: all $(B)/test_sequences $(B)/storm $(B)/bench_plan $(B)/lp_solve $(B)/bench_simulate $(TEST_SOS) $(CHECK_PROVIDER) $(CLOUD_TOOLS)

# Suites in two lanes build in build/debug: what both need is there before.
check: BUILT_TWICE = $(BUILD) VARIANT=debug build-contract &&

# What was compiled before is taken from ~/.cache/davit, by its content: three variants of all are built.
CACHED = export CCACHE_DIR=$${DAVIT_CACHE:-$$HOME/.cache/davit}/ccache CCACHE_MAXSIZE=2G CCACHE_NOHASHDIR=1 PATH="/usr/lib/ccache:$$PATH"
K8S = tests/setup.sh test >/dev/null && DAVIT_K8S_BINS=$$(tests/setup.sh k8s) && export DAVIT_K8S_BINS
BUILD = $(MAKE) -s $(if $(filter -j%,$(MAKEFLAGS)),,-j$$(nproc))
CHECK = py=$$(tests/setup.sh test) && $(CACHED) && clouds=$$(tests/setup.sh clouds) && tests/setup.sh types >/dev/null && DAVIT_AXE=$$(tests/setup.sh page) && export DAVIT_AXE && $(BUILD) test-tools && $(BUILT_TWICE) DAVIT_PYTHON=$$py/bin/python DAVIT_CLOUDS_PYTHON=$$clouds/bin/python PATH="$$py/bin:$$PATH" $$py/bin/python tests/check.py

.PHONY: check check-long check-fast check-ray check-k8s check-clouds
check:  ## everything, real Ray and a real Kubernetes control plane included, set-up too
	@$(K8S) && $(CHECK)

.PHONY: check-near check-cost
check-long:  ## for a release: `make check`, then long storms, all mutants, more worlds; hours
	@$(MAKE) check && $(K8S) && $(CHECK) --long

# Another base or time: make check-near NEAR='--base HEAD~3 --seconds 300'.
check-near:  ## what the change since origin/main can have broken, in three minutes; says what it left out
	@py=$$(tests/setup.sh test) && $(CACHED) && PATH="$$py/bin:$$PATH" $$py/bin/python tests/near/near.py $(NEAR)

.PHONY: cut-mutants
cut-mutants:  ## is a fault still told where tests were cut: tests/cuts/README.md
	@py=$$(tests/setup.sh test) && $(CACHED) && PATH="$$py/bin:$$PATH" $$py/bin/python tests/cuts/mutants.py

# SUITES: those alone.  The counters of the others are those of their last run.
check-cost:  ## the dearest tests of the last `make check`; runs all on VARIANT=cov and says which lines each suite alone reaches (two hours)
	@$(K8S) && py=$$(tests/setup.sh test) && $(CACHED) && clouds=$$(tests/setup.sh clouds) && DAVIT_AXE=$$(tests/setup.sh page) && export DAVIT_AXE && \
		export DAVIT_PYTHON=$$py/bin/python DAVIT_CLOUDS_PYTHON=$$clouds/bin/python PATH="$$py/bin:$$PATH" && \
		$(BUILD) VARIANT=cov test-tools build-contract build-unit build-fuzz && $$py/bin/python tests/near/reach.py run $(SUITES) && $$py/bin/python tests/near/reach.py cost

check-fast:  ## what only computes: lint, unit, fuzz, prop with fewer worlds, cases; two minutes on two cores
	@py=$$(tests/setup.sh test) && $(CACHED) && $(BUILD) all $(B)/bench_plan $(B)/lp_solve && $(BUILD) VARIANT=debug build-unit build-fuzz && DAVIT_PYTHON=$$py/bin/python PATH="$$py/bin:$$PATH" $$py/bin/python tests/check.py --fast

check-k8s:  ## the tests on a real Kubernetes control plane, built first: once, ten to fifteen minutes
	@$(K8S) && $(CHECK) k8s k8s-pods

check-ray:  ## the end-to-end tests with real Ray
	@$(CHECK) e2e

$(B)/tests/plugins/davit-stamp.so: tests/bench/stamp.c autoscaler/provider.h $(B)/flags
	$(call say,SO,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(PLUGIN_CFLAGS) -Iautoscaler -shared -o $@ $< -lpthread

.PHONY: format
format:  ## the C tree as clang-format 14 has it; tests/lint/format.sh asks
	@git ls-files '*.[ch]' ':!autoscaler/base/siphash' | xargs clang-format-14 -i --style=file

.PHONY: bench
bench:  ## latency, memory and rate of the daemon, with real Ray
	@py=$$(tests/setup.sh test) && $(MAKE) -s all $(B)/tests/plugins/davit-stamp.so && PATH="$$py/bin:$$PATH" PYTHONPATH=tests tests/netns.sh $$py/bin/python tests/bench/bench_loop.py

.PHONY: reproducible
reproducible: deb  ## builds what is committed again, in another folder, and compares the packages byte for byte
	@in=$$(mktemp -d) && trap 'rm -rf "$$in"' EXIT && git archive HEAD | tar -x -C "$$in" && \
		CCACHE_DISABLE=1 $(MAKE) -s -C "$$in" SOURCE_DATE_EPOCH=$(SOURCE_DATE_EPOCH) deb >/dev/null && cmp "$$in/$(DEB)" $(DEB) && sha256sum $(DEB)

.PHONY: hostile
hostile:  ## ten minutes of each kind of hostile client (HOSTILE_S=600), side by side, and the rest of tests/hostile; a table
	@$(K8S) && py=$$(tests/setup.sh test) && $(MAKE) -s all && PATH="$$py/bin:$$PATH" tests/netns.sh $$py/bin/python tests/hostile/long.py --k8s

check-clouds:  ## the clouds' plug-ins against moto and servers judged by the vendors' schemas
	@$(CHECK) clouds-eks clouds-gke clouds-aks e2e-eks e2e-gke e2e-aks

.PHONY: first-node
first-node:  ## a stop-watch from a bare Debian 12 to the first node, three times (as root; a quarter of an hour)
	@py=$$(tests/setup.sh first) && DAVIT_K8S_BINS=$$(tests/setup.sh k8s) $$py/bin/python tests/first/first_node.py

.PHONY: demo demo-ray
demo:  ## installs what is missing, builds, and shows Davit at work on a simulated cloud
	@tests/setup.sh build && v=$$([ -x build/release/davit ] && echo release || echo demo) && \
		$(BUILD) VARIANT=$$v build/$$v/davit build/$$v/plugins/davit-sim.so && DAVIT_BUILD=build/$$v tests/demo/demo.sh

.PHONY: pictures
pictures:  ## docs/page.png and docs/top.png, which README shows
	@tests/setup.sh page >/dev/null && py=$$(tests/setup.sh test) && $(BUILD) all && "$$py/bin/python" tests/page/pictures.py --docs

demo-ray:  ## the same with a real Ray cluster and two GPU actors
	@py=$$(tests/setup.sh test) && $(BUILD) all && PATH="$$py/bin:$$PATH" tests/netns.sh tests/demo/demo_ray.sh
