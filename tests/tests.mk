# tests.mk - included by the Makefile: every test there is, by name.

UNIT_SRCS := $(sort $(wildcard tests/unit/test_*.c))
UNIT_BINS := $(UNIT_SRCS:tests/unit/%.c=$(B)/tests/%)
# -lcmocka only for tests
CMOCKA_LIBS := $(shell pkg-config --libs cmocka 2>/dev/null)

$(B)/tests/%: tests/unit/%.c $(B)/libdavit.a $(B)/flags
	$(call say,TEST,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) -Wno-conversion $(CPPFLAGS) $(PKG_CFLAGS) -Iautoscaler -MMD -MP $(LDFLAGS) -o $@ $< $(B)/libdavit.a $(CMOCKA_LIBS) $(PKG_LIBS) -ldl -lpthread -lm

.PHONY: check-unit
check-unit: all $(UNIT_BINS)  ## unit tests (VARIANT=debug: under ASan and UBSan)
	@tests/unit/run.sh $(B) $(UNIT_BINS)
