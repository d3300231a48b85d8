# bench.mk - the planner's bench: CASES=DIR, BUDGET_MS=, OUT=FILE.

$(B)/bench_plan: tests/bench/bench_plan.c tests/bench/figures.h $(B)/libdavit.a $(B)/libkit.a $(B)/flags
	$(call say,BENCH,$<)
	$(Q)$(CC) $(CFLAGS) $(CPPFLAGS) $(PKG_CFLAGS) $(LDFLAGS) -o $@ $< $(B)/libdavit.a $(B)/libkit.a $(PKG_LIBS) -lm

$(B)/bench_round: tests/bench/bench_round.c tests/bench/figures.h $(B)/libdavit.a $(B)/libkit.a $(B)/flags
	$(call say,BENCH,$<)
	$(Q)$(CC) $(CFLAGS) $(CPPFLAGS) $(PKG_CFLAGS) $(LDFLAGS) -o $@ $< $(B)/libdavit.a $(B)/libkit.a $(PKG_LIBS) -lm

.PHONY: bench-plan
bench-plan: $(B)/bench_plan $(B)/bench_round  ## cost, bound and time of plans: CASES=DIR BUDGET_MS= OUT=FILE
	@BENCH_BIN=$(B)/bench_plan ROUND_BIN=$(B)/bench_round CASES='$(CASES)' BUDGET_MS='$(BUDGET_MS)' OUT='$(OUT)' KNOWN='$(KNOWN)' python3 tests/bench/bench_plan.py
