"""any_of with real Ray: a GPU that is sold out, then after its time a CPU type, on which Ray runs the work."""
import time

TYPES = {
    "cpu": {"provider": "local", "resources": {"CPU": 2}, "price": 0.10, "max": 2},
    "gpu": {"provider": "sim", "resources": {"CPU": 1, "GPU": 1}, "accelerator_type": "T4", "price": 0.50, "max": 2,
            "options": {"stockout": "always"}},
}
WORK = """
import ray
ray.init(log_to_driver=False)

@ray.remote(num_cpus=2)
def where():
    return ray.get_runtime_context().get_node_id()

print("RAN", len(ray.get(where.remote(), timeout=150)), flush=True)
"""
AFTER = 8


def reasons(d, owner):
    bundle = d.get(f"/v1/why/{owner}")[1]["owner"]["demands"][0]["bundles"][0]
    return bundle, {o["reason"] for o in bundle["obstacles"]}


def test_a_gpu_request_falls_to_a_cpu_type_after_its_time(ray, start):
    d = start(types=TYPES, providers={"sim": {"state": "cloud.json"}})
    asked = time.monotonic()
    reply = d.request([{"any_of": [{"GPU": 1}, {"CPU": 2, "after": f"{AFTER}s"}]}], owner="book")
    assert reply["feasible"] and not reply["satisfied"], reply
    d.until(lambda: reasons(d, "book")[0]["waiting"] == 1, why="the stockout")
    bundle, why = reasons(d, "book")
    assert {"backoff", "alternative_waits"} <= why, bundle
    assert "STOCKOUT" in bundle["text"], bundle["text"]
    d.hold({}, asked + AFTER - 2 - time.monotonic())  # not before its time
    d.until_nodes({"cpu": 1})
    d.until(lambda: reasons(d, "book")[0]["alternative"] == 1, why="the second alternative")
    assert "RAN" in ray.run(WORK)
    d.hold({"cpu": 1}, 5)                        # longer than the idle timeout: the request keeps it
    assert d.request([], owner="book")["cleared"]
    d.until_nodes({})
