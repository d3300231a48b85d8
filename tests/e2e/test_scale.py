"""Machines come for what Ray asks, hold while they are needed, and go."""

ACTORS = """
import ray, time
ray.init(log_to_driver=False)

@ray.remote(num_gpus=1{more})
class Worker:
    def where(self):
        return ray.get_gpu_ids(), ray.get_runtime_context().get_node_id()

workers = [Worker.remote() for _ in range({n})]
print(ray.get([w.where.remote() for w in workers], timeout=150), flush=True)
time.sleep({stay})
print("END", time.time(), flush=True)
"""

SDK = """
import ray
from ray.autoscaler.sdk import request_resources
ray.init(log_to_driver=False)
request_resources(bundles={bundles})
"""


def test_1_two_actors_two_nodes_and_none_again(ray, start):
    d = start()
    assert d.count() == {}
    out = ray.run(ACTORS.format(n=2, more="", stay=1))
    assert out.count("[0]") == 2 or out.count("[0],") == 2, out
    d.until_nodes({})
    assert d.started() == {"k80": 2}
    assert not d.ray_nodes()
    ended = d.logged("node.ending")
    assert len(ended) == 2 and all("idle" in e["text"] for e in ended)
    busy_until = float(out.split("END ")[1])
    assert min(e["at"] for e in ended) - busy_until > 2.5, "ended before its idle timeout of 3 s"


def test_2_requests_hold_nodes_until_cleared(ray, start):
    """By Ray's SDK and by REST; requests of different owners add up."""
    d = start()
    ray.run(SDK.format(bundles=[{"GPU": 1}] * 2))
    d.until_nodes({"k80": 2})
    d.hold({"k80": 2}, 7)  # more than twice the idle timeout, with no work
    reply = d.request([{"GPU": 1}], owner="rest")
    assert reply["feasible"] and sum(x["count"] for x in reply["launches"]) == 1
    d.until_nodes({"k80": 3})
    ray.run(SDK.format(bundles=[]))
    d.until(lambda: d.count() == {"k80": 1}, why="two of three to go")
    d.hold({"k80": 1}, 5)
    kept = [n for n in d.get("/v1/nodes")[1]["nodes"] if not n["head"]]
    assert kept[0]["why"]["reason"] == "needed_by_request" and kept[0]["for"][0]["owner"] == "rest"
    assert d.request([], owner="rest")["cleared"]
    d.until_nodes({})


def test_3_accelerator_types_are_matched(ray, start):
    d = start()
    v100 = ray.spawn(ACTORS.format(n=1, more=', accelerator_type="V100"', stay=60))
    out = ray.run(ACTORS.format(n=1, more=', accelerator_type="T4"', stay=0))
    assert "[0]" in out
    assert d.started() == {"t4": 1}, "K80 is cheaper, but no T4"
    assert v100.poll() is None, "nobody has a V100"

    reply = d.request([{"GPU": 1, "accelerator_type": "V100"}, {"GPU": 1, "accelerator_type": "T4"}])
    assert not reply["feasible"]
    assert len(reply["infeasible"]) == 1 and "V100" in reply["infeasible"][0]["text"]
    assert reply["placed"] + reply["launched"] == 1, "the other one is served"
    for owner in ("default", "ray"):
        why = d.cli("why", owner)
        assert "V100" in why and ("infeasible" in why or "never" in why), why
    ray.wait(lambda: "V100" in ray.status().partition("Infeasible")[2], 150, "V100 as infeasible in ray status")


def test_4_cpu_tasks_bring_cpu_nodes_only(ray, start):
    d = start()
    out = ray.run("""
import ray, time
ray.init(log_to_driver=False)
@ray.remote(num_cpus=2)
def work():
    time.sleep(3)  # wait: work, which is to take a while
    return ray.get_runtime_context().get_node_id()
print(len(set(ray.get([work.remote() for _ in range(3)], timeout=150))), flush=True)
""")
    assert set(d.started()) == {"cpu"}
    assert out.strip().endswith(("1", "2", "3")), out


def test_4_fractions_share_two_devices(ray, start):
    d = start()
    ray.run("""
import ray
ray.init(log_to_driver=False)
@ray.remote(num_gpus=0.25, num_cpus=0)
class Quarter:
    def where(self):
        return ray.get_runtime_context().get_node_id()
all = [Quarter.remote() for _ in range(8)]
nodes = ray.get([q.where.remote() for q in all], timeout=150)
assert sorted(nodes.count(n) for n in set(nodes)) == [4, 4], nodes
""")
    assert d.started() == {"k80": 2}


GROUP = """
import ray
from ray.util.placement_group import placement_group, placement_group_table
ray.init(log_to_driver=False)
group = placement_group({bundles}, strategy="{strategy}")
ray.get(group.ready(), timeout=150)
nodes = placement_group_table(group)["bundles_to_node_id"].values()
print("nodes", len(set(nodes)), flush=True)
"""


def test_4_strict_spread_gives_three_nodes(ray, start):
    d = start()
    out = ray.run(GROUP.format(bundles=[{"GPU": 1}] * 3, strategy="STRICT_SPREAD"))
    assert "nodes 3" in out
    assert d.started() == {"k80": 3}


def test_4_strict_pack_gives_one_large_node(ray, start):
    types = {"k80": {"resources": {"CPU": 1, "GPU": 1}, "price": 0.30, "max": 4},
             "two": {"resources": {"CPU": 1, "GPU": 2}, "price": 2.00, "max": 2}}
    d = start(types=types)
    out = ray.run(GROUP.format(bundles=[{"GPU": 1}] * 2, strategy="STRICT_PACK"))
    assert "nodes 1" in out
    assert d.started() == {"two": 1}


def test_4_a_group_of_more_nodes_than_may_start_at_once(ray, start):
    """Two by two.  The first two are idle for longer than their timeout of 3 s while the others start, and stay."""
    d = start(max_launching=2)
    out = ray.run(GROUP.format(bundles=[{"GPU": 1}] * 4, strategy="STRICT_SPREAD"))
    assert "nodes 4" in out
    assert d.started() == {"k80": 4}
    d.until_nodes({})


GROUPS = """
import ray
from ray.util.placement_group import placement_group, placement_group_table
ray.init(log_to_driver=False)
groups = [placement_group([{"GPU": 1}] * 2, strategy="STRICT_SPREAD") for _ in range(2)]
print("asked", flush=True)
ray.get([g.ready() for g in groups], timeout=150)
print("nodes", [len(set(placement_group_table(g)["bundles_to_node_id"].values())) for g in groups], flush=True)
"""


def test_4_groups_share_machines(ray, start):
    """Each of two groups alone would have two small machines; both share two larger ones, which cost less."""
    types = {"k80": {"resources": {"CPU": 1, "GPU": 1}, "price": 0.30, "max": 4},
             "two": {"resources": {"CPU": 2, "GPU": 2}, "price": 0.50, "max": 4}}
    both = ray.spawn(GROUPS)
    ray.wait(lambda: "asked" in both.log.read_text(), 60, "both groups to be asked for")
    d = start(types=types)
    ray.wait(lambda: both.poll() is not None, 150, "both groups to be placed")
    assert "nodes [2, 2]" in both.log.read_text()
    assert d.started() == {"two": 2}
    d.until_nodes({})
