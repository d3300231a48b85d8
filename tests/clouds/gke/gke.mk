# gke.mk - included by tests.mk: the program of the GKE tests.

$(B)/tests/gke_drive: tests/clouds/gke/gke_drive.c $(B)/libdavit.a $(B)/flags
	$(call say,TEST,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) -Wno-conversion $(CPPFLAGS) $(PKG_CFLAGS) -Iautoscaler $(LDFLAGS) -o $@ $< $(B)/libdavit.a $(PKG_LIBS) -ldl -lpthread -lm

.PHONY: gke-tools
gke-tools: all $(B)/tests/gke_drive $(B)/tests/check_provider
