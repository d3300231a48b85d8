# prop.mk - what the property tests need built.

$(B)/lp_solve: tests/prop/lp_solve.c $(B)/libdavit.a $(B)/flags
	$(call say,TEST,$<)
	$(Q)$(CC) $(CFLAGS) $(CPPFLAGS) -MMD -MP $(LDFLAGS) -o $@ $< $(B)/libdavit.a
