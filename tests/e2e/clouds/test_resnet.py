"""One scenario, three clouds: the ResNet set-up on a bad day.

A CPU pool, a T4 pool that starts at 0 and has a second zone.  Two GPU bundles
are asked by REST; the first zone is sold out, the reply of the raise in the
second is lost, the cloud throttles everything for a while and the daemon is
killed in it, at one of four moments.  Then the demand is cleared: machines are
drained and ended by name.  At the end the cloud holds exactly what the fleet
says, no target is higher, and not one machine more was bought than was needed.
Once more with real Ray: every machine is a raylet, and drained by its head.
"""
import random
import time

import pytest

from lib.seeds import seed

T4 = {"GPU": 1, "accelerator_type": "T4"}
BUYING = ("launch", "launch.failed", "node.failed", "node.lost", "node.adopted", "daemon.started")


def same(d, side):
    """What the fleet says is what is billed, by name, and no target is higher."""
    fleet = {n["cloud_id"] for n in d.nodes() if n["cloud_id"]}
    return fleet == set(side.all_held()) and sum(side.target(p) for p in side.pools()) == len(fleet)


@pytest.mark.parametrize("moment", ["raise sent", "second raise sent", "machines there", "ending", "second raise sent, with Ray"])
def test_the_resnet_set_up(side, davit, moment, request):
    chance = random.Random(seed())
    first, second = side.zones
    side.takes(0.5)
    moment, _, with_ray = moment.partition(", ")
    ray = request.getfixturevalue("head") if with_ray else None
    d = davit(head=ray, start="10m")  # a real raylet on a busy machine is slow; one that is given up on is bought anew
    d.until(lambda: d.ready("cpu") == 1)
    side.sold_out(first)
    side.lose_raise(second)

    def accident():
        """A storm of throttling, and kill -9 in it."""
        time.sleep(chance.uniform(0, 0.4))  # wait: the moment is drawn
        side.storm(3)
        time.sleep(chance.uniform(0, 0.8))  # wait: the moment is drawn
        d.kill()
        time.sleep(chance.uniform(0, 0.8))  # wait: the moment is drawn
        d.start()

    r = d.post({"owner": "resnet", "bundles": [T4, T4]})
    assert r["feasible"] and sum(x["count"] for x in r["launches"]) == 2
    if moment == "raise sent":
        d.until(lambda: side.raised(first))
        accident()
    else:  # a rest is the daemon's memory of a moment: a kill would clear it
        d.until(lambda: [x for x in d.status()["backoffs"] if (x["zone"], x["status"]) == (first, "STOCKOUT")])
        assert not [x for x in d.status()["backoffs"] if x["zone"] == second and x["status"] == "STOCKOUT"]
    if moment == "second raise sent":
        d.until(lambda: side.raised(second))
        accident()
    if moment == "machines there":
        d.until(lambda: side.held(second))
        accident()

    d.until(lambda: d.ready("t4") == 2 and same(d, side), why="two T4 machines are not there")
    assert {n["zone"] for n in d.nodes("t4")} == {second}
    assert side.target(first) == 0 and not side.held(first), "the target of the zone that is sold out was left high"
    side.heal()
    d.stays(lambda: same(d, side) and side.target(first) == 0, 2.5)  # longer than the idle timeout, and there is stock again
    chosen = side.held(second)
    assert len(chosen) == 2

    if ray:
        busy = {n.instance_id for n in ray.nodes() if n.status in ("RUNNING", "IDLE")}
        assert chosen | side.held("cpu") <= busy, "the machines are Ray's nodes"
    side.lose_end()
    earlier = len(d.events())
    d.post({"owner": "resnet", "bundles": []})
    if moment == "ending":
        d.until(lambda: side.ended() & chosen)
        accident()
    d.until(lambda: not d.nodes("t4") and same(d, side), why="the pool is not at 0")
    assert chosen <= side.ended() and not side.ended() & side.held("cpu"), "each was ended by its name, and nothing else"
    if ray:
        kinds = [e["kind"] for e in d.events()[earlier:] if e["kind"].startswith("node.")]
        assert sorted(kinds) == ["node.draining"] * 2 + ["node.ending"] * 2 + ["node.gone"] * 2, kinds
        assert kinds[0] == "node.draining" and kinds[-1] == "node.gone", kinds
        assert not chosen & {n.instance_id for n in ray.nodes() if n.status in ("RUNNING", "IDLE")}
    side.heal()
    d.stays(lambda: side.target(first) == side.target(second) == 0 and not side.held(first) | side.held(second), 1.5)
    assert d.ready("cpu") == 1 == side.target("cpu") and same(d, side)
    assert side.bought() == 3, f"two T4 machines and a CPU one, no more: {[e for e in d.events() if e['kind'] in BUYING]}"


def test_a_pool_of_at_most_one_takes_one_and_says_so_of_the_other(side, davit):
    """The pool of the book is 0-1: two bundles are asked, the second is told why it waits."""
    first, second = side.zones
    side.takes(0.2)
    d = davit(t4_max=1)
    d.until(lambda: d.ready("cpu") == 1)
    side.sold_out(first)
    r = d.post({"owner": "resnet", "bundles": [T4, T4]})
    assert sum(x["count"] for x in r["launches"]) == 1
    d.until(lambda: d.ready("t4") == 1 and same(d, side))
    assert side.held(second) and not side.held(first) and side.target(first) == 0
    text = d.get("/v1/why/resnet")[1]["text"][0]
    assert f"t4 in {first}: " in text and "(STOCKOUT); the next try is at" in text and text.endswith("; t4 is at its max of 1."), text
    d.stays(lambda: sum(side.target(z) for z in side.zones) == 1, 2.5)
    d.post({"owner": "resnet", "bundles": []})
    d.until(lambda: not d.nodes("t4") and same(d, side))
    assert side.target(first) == side.target(second) == 0 and side.bought() == 2
