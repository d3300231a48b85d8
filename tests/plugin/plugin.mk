# plugin.mk - included by tests.mk: the ABI's tests are plug-ins.

TEST_PLUGINS := $(patsubst tests/plugin/%.c,%,$(wildcard tests/plugin/*.c))
TEST_SOS := $(TEST_PLUGINS:%=$(B)/tests/plugins/davit-%.so)

# undefined.c is meant not to link cleanly.
$(B)/tests/plugins/davit-%.so: tests/plugin/%.c tests/plugin/misfit.h autoscaler/provider.h $(B)/flags
	$(call say,SO,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(PLUGIN_CFLAGS) -Iautoscaler -shared $(filter -fsanitize%,$(LDFLAGS)) -o $@ $< -lpthread
	$(Q)chmod go-w $(@D) $@

.PHONY: plugins-test
plugins-test: $(TEST_SOS)
