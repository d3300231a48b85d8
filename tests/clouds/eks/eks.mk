# eks.mk - included by tests.mk: the programs of the EKS tests.

EKS_TOOLS := $(B)/tests/eks_drive $(B)/tests/eks_sigv4

$(B)/tests/eks_drive: tests/clouds/eks/eks_drive.c $(B)/libdavit.a $(B)/flags
	$(call say,TEST,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) -Wno-conversion $(CPPFLAGS) $(PKG_CFLAGS) -Iautoscaler $(LDFLAGS) -o $@ $< $(B)/libdavit.a $(PKG_LIBS) -ldl -lpthread -lm

$(B)/tests/eks_sigv4: tests/clouds/eks/eks_sigv4.c $(B)/libkit.a $(B)/flags
	$(call say,TEST,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) -Wno-conversion $(CPPFLAGS) $(PKG_CFLAGS) -Iautoscaler $(LDFLAGS) -o $@ $< $(B)/libkit.a $(PKG_LIBS) $(PLUGIN_LIBS_eks)

.PHONY: eks-tools
eks-tools: all $(EKS_TOOLS) $(B)/tests/check_provider
