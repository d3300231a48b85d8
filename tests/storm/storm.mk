# storm.mk - played worlds: named sequences and random storms.

STORM_OBJS := $(patsubst %.c,$(B)/%.o,$(filter-out tests/storm/test_%.c tests/storm/main.c,$(sort $(wildcard tests/storm/*.c))))
STORM_ALL := $(patsubst %.c,$(B)/%.o,$(sort $(wildcard tests/storm/*.c)))
$(STORM_ALL): private CPPFLAGS += -Iautoscaler
$(STORM_ALL): private CFLAGS += -Wno-conversion
STORM_LIBS = $(B)/libplayed.a $(B)/libdavit.a $(B)/libkit.a

# The daemon's files with rare ways (control/rare.h), compiled with them; they come before the library, of which these are left out then.
RARE_OBJS := $(patsubst %.c,$(B)/rare/%.o,$(sort $(shell grep -rl --include='*.c' '"[./]*rare.h"' autoscaler)))
$(B)/rare/%.o: %.c $(B)/flags | $(GEN_C)
	$(call say,RARE,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) -DDAVIT_RARE $(CPPFLAGS) $(PKG_CFLAGS) -MMD -MP -c -o $@ $<

$(B)/test_sequences: $(B)/tests/storm/test_sequences.o $(B)/tests/storm/test_edits.o $(B)/tests/storm/test_late.o $(B)/tests/storm/test_ids.o $(B)/tests/storm/test_led.o $(B)/tests/storm/test_time.o $(B)/tests/storm/test_vain.o $(B)/tests/storm/test_asked.o $(B)/tests/storm/test_kube.o $(B)/tests/storm/test_kept.o $(STORM_OBJS) $(STORM_LIBS)
	$(call say,LINK,$@)
	$(Q)$(CC) $(LDFLAGS) -o $@ $(filter %.o,$^) $(STORM_LIBS) $(PKG_LIBS) -ldl -lpthread -lm

$(B)/storm: $(B)/tests/storm/main.o $(STORM_OBJS) $(RARE_OBJS) $(STORM_LIBS)
	$(call say,LINK,$@)
	$(Q)$(CC) $(LDFLAGS) -o $@ $(filter %.o,$^) $(STORM_LIBS) $(PKG_LIBS) -ldl -lpthread -lm

# `make storm SECONDS=600`: worlds that nobody has seen, on all cores.  `make
# check` plays a fixed set; STORM_SEEDS=1-50 is another one.
SECONDS ?= 60
STORM_SEEDS ?= 1-2000
.PHONY: storm storm-seeds storm-nth storm-mutants check-storm
storm: $(B)/storm  ## random storms for SECONDS (60) on all cores
	@$(B)/storm --seconds $(SECONDS)

storm-seeds: $(B)/storm
	@$(B)/storm --seeds $(STORM_SEEDS)

storm-nth: $(B)/storm  ## every outside call of twenty scenarios fails once in each of sixteen ways
	@$(B)/storm --nth 1

storm-mutants:  ## is the observer awake: 99 mutants of the loop, at least three a law, that storms must show
	@python3 tests/storm/mutants.py

storm-dimensions:  ## is it the dimension that finds the day: worlds with it show a mutant, the same without it do not
	@python3 tests/storm/dimensions.py

.PHONY: storm-dimensions check-sequences check-found
check-sequences: $(B)/test_sequences  ## named bad days, in played time
	@$(B)/test_sequences

check-found: $(B)/storm  ## worlds that broke a law once
	@$(B)/storm --found $(sort $(wildcard tests/storm/found/*.script))

check-storm: $(B)/storm  ## a fixed set of random worlds
	@$(B)/storm --seeds $(STORM_SEEDS)
