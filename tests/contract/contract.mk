# contract.mk - included by tests.mk: the suite every provider passes.

CHECK_PROVIDER := $(B)/tests/check_provider

$(CHECK_PROVIDER): $(wildcard tests/contract/*.c) tests/contract/contract.h $(B)/libdavit.a $(B)/libkit.a $(B)/flags
	$(call say,TEST,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) -Wno-conversion $(CPPFLAGS) $(PKG_CFLAGS) -Iautoscaler -Itests/contract $(LDFLAGS) -o $@ $(filter %.c,$^) $(B)/libdavit.a $(B)/libkit.a $(PKG_LIBS) -ldl -lpthread -lm

.PHONY: check-provider build-contract check-contract
check-provider: all $(CHECK_PROVIDER)  ## PLUGIN=x.so ARGS='-t gpu -r GPU=1 ...': does a plug-in keep the contract?
	@$(CHECK_PROVIDER) $(PLUGIN) $(ARGS)

build-contract: all $(CHECK_PROVIDER) $(TEST_SOS)
check-contract: build-contract  ## the contract suite on the plug-ins we can run anywhere
	@DAVIT_BUILD=$(B) tests/contract/run.sh
