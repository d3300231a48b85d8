# clouds.mk - included by tests.mk: the programs of the clouds' tests.

CLOUD_TOOLS := $(B)/tests/drive $(B)/tests/eks_sigv4

$(B)/tests/drive: tests/clouds/drive.c $(B)/libdavit.a $(B)/libkit.a $(B)/flags
	$(call say,TEST,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) -Wno-conversion $(CPPFLAGS) $(PKG_CFLAGS) -Iautoscaler $(LDFLAGS) -o $@ $< $(B)/libdavit.a $(B)/libkit.a $(PKG_LIBS) -ldl -lpthread -lm

$(B)/tests/eks_sigv4: tests/clouds/eks/eks_sigv4.c $(B)/libkit.a $(B)/flags
	$(call say,TEST,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) -Wno-conversion $(CPPFLAGS) $(PKG_CFLAGS) -Iautoscaler $(LDFLAGS) -o $@ $< $(B)/libkit.a $(PKG_LIBS) $(PLUGIN_LIBS_eks)

.PHONY: cloud-tools
cloud-tools: all $(CLOUD_TOOLS) $(B)/tests/check_provider
