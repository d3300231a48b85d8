# storm.mk - played worlds: named sequences and random storms.

STORM_OBJS := $(patsubst %.c,$(B)/%.o,$(filter-out tests/storm/test_%.c tests/storm/main.c,$(sort $(wildcard tests/storm/*.c))))
STORM_ALL := $(patsubst %.c,$(B)/%.o,$(sort $(wildcard tests/storm/*.c)))
$(STORM_ALL): CPPFLAGS += -Iautoscaler
$(STORM_ALL): CFLAGS += -Wno-conversion
STORM_LIBS = $(B)/libplayed.a $(B)/libdavit.a $(B)/libkit.a

$(B)/test_sequences: $(B)/tests/storm/test_sequences.o $(STORM_OBJS) $(STORM_LIBS)
	$(call say,LINK,$@)
	$(Q)$(CC) $(LDFLAGS) -o $@ $(filter %.o,$^) $(STORM_LIBS) $(PKG_LIBS) -ldl -lpthread -lm

.PHONY: check-storm
check-storm: $(B)/test_sequences  ## the named bad days, in played time
	@$(B)/test_sequences
