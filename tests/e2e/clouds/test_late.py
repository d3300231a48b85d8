"""A machine that comes late is adopted or ended, never left to itself."""
import time

T4 = {"GPU": 1, "accelerator_type": "T4"}


def t4(side):
    return {i for z in side.zones for i in side.held(z)}


def targets(side):
    return sum(side.target(z) for z in side.zones)


def test_it_comes_when_nobody_wants_it_any_more(side, davit):
    """Given up on as too slow, and the demand is gone, too."""
    side.takes(0.2)
    d = davit(start="3s")
    d.until(lambda: d.ready("cpu") == 1)
    side.takes(7)
    d.post({"owner": "late", "bundles": [T4]})
    d.until(lambda: targets(side) >= 1)
    d.post({"owner": "late", "bundles": []})
    d.until(lambda: not t4(side) and targets(side) == 0 and not d.nodes("t4"), why="a machine was left, or its target")
    time.sleep(7)  # wait: so long the cloud takes to bring what was asked for, and its time is its own
    d.stays(lambda: not t4(side) and targets(side) == 0, 8)  # not later on, either


def test_it_is_adopted_by_a_daemon_that_lost_its_memory(side, davit):
    side.takes(0.2)
    d = davit(idle="6s")
    d.until(lambda: d.ready("cpu") == 1)
    side.takes(3)
    d.post({"owner": "late", "bundles": [T4]})
    d.until(lambda: targets(side) == 1)
    d.kill()
    for path in d.dir.glob("davit.db*"):
        path.unlink()
    d.start()
    d.until(lambda: d.ready("t4") == 1)
    assert {n["cloud_id"] for n in d.nodes("t4")} == t4(side)
    d.post({"owner": "late", "bundles": [T4]})
    d.until(lambda: d.get("/v1/request_resources/late")[1].get("satisfied"))
    d.stays(lambda: d.ready("t4") == 1 and targets(side) == 1, 3)
    assert side.bought() == 2, "it was bought a second time"
    assert d.call("POST", "/v1/adopt")[0] == 200  # it has the earlier journal's mark
    d.post({"owner": "late", "bundles": []})
    d.until(lambda: not t4(side) and targets(side) == 0 and not d.nodes("t4"))
