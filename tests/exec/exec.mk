# exec.mk - included by tests.mk: providers that are child processes.

TEST_EXEC := $(B)/tests/test_exec

$(TEST_EXEC): tests/exec/test_exec.c tests/unit/cloud_rig.h tests/lib/until.h $(B)/libdavit.a $(B)/libkit.a $(B)/flags
	$(call say,TEST,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) -Wno-conversion $(CPPFLAGS) $(PKG_CFLAGS) -Iautoscaler -MMD -MP $(LDFLAGS) -o $@ $< $(B)/libdavit.a $(B)/libkit.a $(CMOCKA_LIBS) $(PKG_LIBS) -ldl -lpthread -lm

.PHONY: check-exec
check-exec: all $(TEST_EXEC) $(CHECK_PROVIDER)  ## providers that are child processes (VARIANT=debug: under ASan and UBSan)
	@DAVIT_BUILD=$(B) tests/exec/run.sh
