# random.mk - random worlds judged by the real kube-scheduler: tests/k8s/random/storm.py says what they are.

.PHONY: storm-k8s
storm-k8s:  ## random worlds on a real control plane for SECONDS (60): what is bought is what kube-scheduler uses
	@py=$$(tests/setup.sh test) && DAVIT_K8S_BINS=$$(tests/setup.sh k8s) && export DAVIT_K8S_BINS && $(MAKE) -s all && \
		PATH="$$py/bin:$$PATH" PYTHONPATH=tests tests/netns.sh $$py/bin/python tests/k8s/random/storm.py --save --seconds $(SECONDS)
