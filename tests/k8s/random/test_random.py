"""Random worlds judged by the real kube-scheduler: a fixed set, and those that broke a law once.

`make storm-k8s SECONDS=600` draws others; tests/k8s/random/storm.py --seed N plays one again.
"""
import json
import pathlib
from types import SimpleNamespace

import pytest

import world as worlds
from judge import Broken, Play, judge

FOUND = sorted(pathlib.Path(__file__).with_name("found").glob("*.json"))
SEEDS = range(1, 6)  # three minutes; `make storm-k8s` plays more


@pytest.mark.parametrize("seed", SEEDS)
def test_a_world(plane, tmp_path, seed):
    judge(plane, worlds.draw(seed), brute=seed % 4 == 0, keep=tmp_path)


@pytest.mark.parametrize("path", FOUND, ids=lambda p: p.stem)
def test_a_world_that_broke_a_law(plane, tmp_path, path):
    judge(plane, json.loads(path.read_text()), keep=tmp_path)


def test_no_pod_has_a_constraint_twice():
    """Those of one key and one way out: the API server takes no such pod, and the world would be none."""
    for seed in (*range(910000, 911000), *range(1310000, 1311000)):
        for load in worlds.draw(seed)["loads"]:
            all_of = [(c["topologyKey"], c["whenUnsatisfiable"]) for c in worlds.workload(load)["spec"]["template"]["spec"].get("topologySpreadConstraints", [])]
            assert len(set(all_of)) == len(all_of), (seed, load)


class Told(Play):
    """Of a cluster that is written down: a machine of 2 CPUs, `late` is the DaemonSet's pod for it."""

    def __init__(self, bound_at, each="1", made_at="2026-11-30T01:00:05Z", says="0/3 nodes are available: 1 Insufficient cpu."):
        super().__init__(SimpleNamespace(client=self), {"daemons": [{"name": "agent"}], "loads": [{"name": "web", "replicas": 2}]})
        self.all = [self.pod(f"web-{i}", "web", each, node="m1", at=at) for i, at in enumerate(bound_at)]
        self.all += [self.pod("late", "agent", "100m", made_at=made_at, says=says)]

    @staticmethod
    def pod(name, app, cpu, node=None, at=None, made_at="2026-11-30T01:00:00Z", says=""):
        to = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["m1"]}]}
        return {"metadata": {"name": name, "labels": {"app": app}, "creationTimestamp": made_at},
                "spec": {"containers": [{"resources": {"requests": {"cpu": cpu}}}], **({"nodeName": node} if node else {}),
                         "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [to]}}}},
                "status": {"conditions": [{"type": "PodScheduled", "status": "True" if node else "False", "lastTransitionTime": at, "message": says}]}}

    def pods(self):
        return self.all

    def get(self, path):
        assert path == "/api/v1/nodes/m1"
        return {"metadata": {"name": "m1"}, "status": {"allocatable": {"cpu": "2"}}}


def test_whom_the_scheduler_has_not_tried():
    """Davit's first look is at all that waits: world 910049 had four of five pods of a load in it, and a machine stayed empty for want of the fifth."""
    play = Told([])
    play.all = [play.pod("bound", "web", "1", node="m1"), play.pod("refused", "web", "1"), play.pod("new", "web", "1")]
    play.all[2]["status"] = {}
    assert play.untried() == ["new"]


EARLY, LATER = "2026-11-30T01:00:03Z", "2026-11-30T01:00:07Z"


@pytest.mark.parametrize("play, n", [
    (Told([EARLY, EARLY]), 1),                      # one of both leaves room
    (Told([EARLY] * 4, each="500m"), 1),
    (Told([EARLY, LATER]), 1),
    (Told([LATER, LATER]), 0),                      # the scheduler knew of it
    (Told([EARLY]), 0),                             # there is room: something else is in its way
    (Told([EARLY, EARLY], says="node(s) didn't match"), 0)])
def test_who_overtook_is_counted(play, n):
    """As many machines without a pod are excused, and not one more."""
    assert play.overtaken() == n
    assert play.idle(["m1", "m2"][:1 + n]) == []
    assert "m3" in play.idle(["m1", "m2", "m3"] if n else ["m1", "m3"])


class Tried(Told):
    """So many pods have a place, by the number of machines."""

    def __init__(self, *places):
        super().__init__([])
        self.places = places

    def most(self, machines, enough):
        return self.places[len(machines)]


ONE, TWO, LATE = ({"id": f"m{i}", "created_ms": at} for i, at in ((1, 1000), (2, 1100), (3, 9000)))


@pytest.mark.parametrize("play, law", [
    (Tried(0, 1, 2), None),        # it was of use: another pod took the place of who should lie there
    (Tried(0, 2, 2), "empty"),     # it was not: one does as well
    (Tried(0, 1, 2, 2), None)])    # what was bought later does not count
def test_a_machine_without_a_pod_was_of_use(play, law):
    if law:
        with pytest.raises(Broken, match="m2 bought for nothing: 2 pods have a place without m2, 2 with it"):
            play.empty(["m2"], [ONE, TWO])
    else:
        play.empty(["m2"], [ONE, TWO, LATE])
