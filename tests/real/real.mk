# real.mk - storms of the real daemon: tests/real/storm.py says what they are.

REAL = @py=$$(tests/setup.sh test) && $(MAKE) -s all && PATH="$$py/bin:$$PATH" PYTHONPATH=tests tests/netns.sh $$py/bin/python tests/real

.PHONY: storm-real storm-ray storm-real-mutants storm-ray-mutants
storm-real:  ## the real daemon in a played cloud, with kill -9 and faults of all kinds, for SECONDS (60)
	$(REAL)/storm.py --seconds $(SECONDS)

storm-ray:  ## the same with real Ray: no task with max_retries=0 on a healthy node is lost
	$(REAL)/ray_storm.py --seconds $(SECONDS)

storm-real-mutants:  ## is its judge awake: mutants of the daemon that it must catch
	$(REAL)/mutants.py

storm-ray-mutants:  ## likewise, with real Ray
	$(REAL)/mutants.py --ray
