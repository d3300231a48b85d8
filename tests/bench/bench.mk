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

$(B)/bench_simulate: tests/bench/bench_simulate.c tests/bench/figures.h $(B)/libdavit.a $(B)/libkit.a $(B)/flags
	$(call say,BENCH,$<)
	$(Q)$(CC) $(CFLAGS) -Wno-conversion $(CPPFLAGS) $(PKG_CFLAGS) $(LDFLAGS) -o $@ $< $(B)/libdavit.a $(B)/libkit.a $(PKG_LIBS) -ldl -lpthread -lm

.PHONY: bench-simulate
bench-simulate: $(B)/bench_simulate  ## a day of a large fleet in played time: NODES= HOURS=
	@$(B)/bench_simulate $(or $(NODES),10000) $(or $(HOURS),24)

.PHONY: bench-rest
bench-rest: cloud-tools  ## calls of a daemon at rest beside 5,000 machines: CLOUD=gce|gke|azurevm|aks|ec2|eks
	@$$(tests/setup.sh clouds)/bin/python tests/bench/bench_rest.py $(or $(CLOUD),gce)

# Other builds in turn: make bench-scale SCALE='--n 1000,10000 --beside DIR/build/release'.
.PHONY: bench-scale
bench-scale: all $(B)/tests/plugins/davit-stamp.so  ## what 1,000, 10,000 and 100,000 machines cost
	@py=$$(tests/setup.sh test) && PATH="$$py/bin:$$PATH" PYTHONPATH=tests $$py/bin/python tests/bench/bench_scale.py $(SCALE)
