# fuzz.mk - one target per parser, run from its seeds and seeded mutations.

$(B)/tests/fuzz_%: tests/fuzz/fuzz_%.c tests/fuzz/replay.c $(B)/libdavit.a $(B)/libkit.a $(B)/flags
	$(call say,TEST,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) -Wno-conversion $(CPPFLAGS) $(PKG_CFLAGS) -Iautoscaler $(LDFLAGS) -o $@ $< $(if $(findstring ray,$*),,tests/fuzz/replay.c) $(B)/libdavit.a $(B)/libkit.a $(CMOCKA_LIBS) $(PKG_LIBS) -ldl -lpthread -lm

.PHONY: check-fuzz build-fuzz
build-fuzz: $(B)/tests/fuzz_config $(B)/tests/fuzz_snapshot $(B)/tests/fuzz_ray $(B)/tests/fuzz_kube
check-fuzz: build-fuzz
	$(B)/tests/fuzz_config configs/*.yaml $(wildcard tests/unit/config/*/*.yaml)
	$(B)/tests/fuzz_snapshot $(wildcard tests/cases/*/*.json tests/golden/*.json tests/golden/*/*.json tests/fuzz/seeds/*.json)
	$(B)/tests/fuzz_ray -n 5000
	$(B)/tests/fuzz_kube $(wildcard tests/fuzz/seeds/kube/*.json)
	@echo "fuzz: 4 passed, 0 failed"
