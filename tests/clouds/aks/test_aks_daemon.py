"""The real daemon on the test cloud: what tests/e2e/clouds does not show of all
three.  At the end the cloud holds what the fleet says.
"""
import sys
import time

import pytest

from aks_rig import config, environment  # also puts the integration tests on the path
from lib import daemon, until

ZONES = "zones: [westeurope-1, westeurope-2], options: {pools: {westeurope-1: gpu, westeurope-2: gpu2}}"
OPTIONS = "poll: 100ms, wait: 1s, reads: {every: 0}, writes: {every: 0}"
T4 = {"GPU": 1, "accelerator_type": "T4"}


@pytest.fixture
def davit(driver, server, tmp_path):
    made = []

    def make(t4=ZONES, options=OPTIONS):
        text = config(server, options, t4).replace("limits: {max_nodes: 2000}",
                                                   "limits: {max_nodes: 20, idle_timeout: 1s, start_timeout: 60s}")
        d = daemon.Daemon(tmp_path, text, start=False, env=environment())
        made.append(d)
        return d.start()
    yield make
    for d in made:
        d.stop()
        text = d.text()
        assert "Sanitizer" not in text and "eyTOKEN" not in text, text[-3000:]


def agree(d, cloud):
    """The cloud holds exactly what the fleet says."""
    mine = sorted(n["cloud_id"] for n in d.nodes() if n["cloud_id"])
    return mine == cloud.machines() and sum(cloud.targets().values()) == len(mine)


def test_the_first_zone_is_out_of_stock(davit, cloud):
    cloud.op_s = 0.4
    cloud.pools["gpu"].stock = 0
    d = davit()
    d.post({"owner": "a", "bundles": [T4, T4]})
    d.until(lambda: d.ready("t4") == 2)
    # a machine that failed is there until two lists have said so
    d.until(lambda: [m["zone"] for m in d.nodes("t4")] == ["westeurope-2"] * 2)
    aside = d.status()["backoffs"]
    assert [(x["type"], x["zone"], x["status"]) for x in aside] == [("t4", "westeurope-1", "STOCKOUT")], aside
    d.until(lambda: cloud.targets() == {"gpu": 0, "gpu2": 2, "cpu": 0})
    assert cloud.pools["gpu"].grew == [] and cloud.pools["gpu2"].grew == [2]


def test_half_of_it_is_had(davit, cloud):
    cloud.op_s = 0.3
    cloud.pools["gpu"].stock = 1
    d = davit()
    d.post({"owner": "a", "bundles": [T4, T4]})
    d.until(lambda: d.ready("t4") == 2 and cloud.targets() == {"gpu": 1, "gpu2": 1, "cpu": 0})
    d.until(lambda: agree(d, cloud))
    d.post({"owner": "a", "bundles": []})
    d.until(lambda: cloud.machines() == [] and not d.nodes())
    assert cloud.targets() == {"gpu": 0, "gpu2": 0, "cpu": 0}


def test_a_daemon_without_memory_cleans_up_a_failed_raise(davit, cloud):
    """The journal is lost: what failed is found in the pool's tags."""
    cloud.op_s = 3
    cloud.pools["gpu"].stock = cloud.pools["gpu2"].stock = 1
    d = davit()
    d.post({"owner": "a", "bundles": [T4] * 3})
    d.until(lambda: cloud.targets()["gpu"] == 3)
    d.kill()
    for path in d.dir.glob("davit.db*"):
        path.unlink()
    until(lambda: all(time.monotonic() >= op["end"] for op in cloud.ops.values()))
    assert cloud.targets()["gpu"] == 3  # it would buy two more whenever Azure has them
    d.start()
    d.until(lambda: len(d.events("node.held")) == 3)  # another journal's, until a person says otherwise
    assert d.call("POST", "/v1/adopt")[0] == 200
    d.until(lambda: cloud.machines() == [] and not d.nodes())
    assert cloud.targets() == {"gpu": 0, "gpu2": 0, "cpu": 0} and cloud.pools["gpu"].grew == [1]


def test_quiet_days_stay_within_the_published_limits(davit, cloud):
    """The defaults: 60 reads at once and one a second; 20 changes, one a minute."""
    cloud.op_s = 0.3
    d = davit(options="poll: 100ms, wait: 1s")
    d.post({"owner": "a", "bundles": [T4]})
    d.until(lambda: d.ready("t4") == 1)
    asked = len(cloud.log)
    d.until(lambda: d.clocks.ahead(50) or len(cloud.log) > asked + 3)
    d.post({"owner": "a", "bundles": []})
    d.until(lambda: not d.nodes())
    reads = [e["at"] for e in cloud.log if e["method"] == "GET" and "/subscriptions/" in e["path"]]
    for i, at in enumerate(reads):
        within = sum(1 for x in reads[i:] if x <= at + 10)
        assert within <= 60 + 10 + 1, within
    span = reads[-1] - reads[0]
    print(f"{len(reads)} reads and {sum(e['method'] == 'PUT' for e in cloud.log)} changes in {span:.1f} s", file=sys.stderr)


def test_a_node_type_that_is_taken_out_leaves_no_machine_behind(davit, cloud):
    """Its pool is nobody's in the configuration then; its machine is paid for all the same."""
    cloud.op_s = 0.3
    d = davit()
    d.post({"owner": "a", "bundles": [T4]})
    d.until(lambda: d.ready("t4") == 1)
    assert len(cloud.machines()) == 1
    text = d.path.read_text()
    rest = "".join(line for line in text.splitlines(True) if not line.lstrip().startswith("t4:"))
    assert rest != text
    d.kill()
    d.write(rest)
    d.start()
    d.until(lambda: cloud.machines() == [] and not d.nodes(), why="nobody ends it")
    assert not d.events("node.lost")
    assert sum(cloud.targets().values()) == 0
