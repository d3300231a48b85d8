"""What one caller asks for is no harm to the next one, whatever it is."""
import json
import random
import subprocess
import time

import pytest
from test_access import ask, code, token

from lib import PATIENCE, TESTS, crowded, until
from lib.seeds import seed


@pytest.fixture(scope="session")
def colliding(tmp_path_factory):
    """n texts that had one hash in tables with a public one; beside them as many others."""
    folder = tmp_path_factory.mktemp("collide")
    subprocess.run(["gcc", "-O2", "-o", folder / "collide", TESTS / "hostile/collide.c"], check=True)

    def make(n):
        return subprocess.run([folder / "collide", str(n)], check=True, capture_output=True, text=True).stdout.splitlines()
    return make


def plain(n):
    rng = random.Random(n)
    return [f"{rng.getrandbits(60):016d}"[:16] for _ in range(n)]


def asking(values, owner):
    """So many values in conditions of 1,024, in alternatives of 128 conditions."""
    terms = [{"key": f"k{i}", "op": "not_in", "values": values[i:i + 1024]} for i in range(0, len(values), 1024)]
    alts = [{"resources": {"CPU": 1}, "selector": terms[i:i + 128]} for i in range(0, len(terms), 128)]
    return {"owner": owner, "bundles": [{"any_of": alts} if len(alts) > 1 else alts[0]]}


@pytest.fixture
def two(daemon_of, tmp_path):
    """A daemon, with one caller who may ask for ci-*, and another one."""
    from conftest import CONFIG
    file = str(tmp_path / "tokens")
    t = {"mal": token(file, "mal", "request:mal-*"), "good": token(file, "good", "request:good-*"), "ops": token(file, "ops", "admin")}
    d = daemon_of(CONFIG, f", tokens: {file}")
    d.tokens, d.headers = t, {"Authorization": "Bearer " + t["ops"]}
    d.start(wait="/readyz")
    return d


def took(d, who, body):
    began = time.monotonic()
    r = ask(d, who, "POST", "/v1/request_resources", json.dumps(body))
    assert r.code in (200, 202), r.text
    return time.monotonic() - began


@pytest.mark.parametrize("n", [20000, 60000])
def test_colliding_values_cost_what_others_do(two, colliding, n):
    """More than these are no body any more: tests/unit/test_base_hash.c has 131,072."""
    d = two
    bad, good = colliding(n), plain(n)
    took(d, "mal", asking(good, "mal-0"))
    other = min(took(d, "mal", asking(good[1:] + [f"x{i}"], "mal-0")) for i in range(2))
    worst = min(took(d, "mal", asking(bad[1:] + [f"x{i}"], "mal-0")) for i in range(2))
    print(f"{n} values: plain {other:.2f} s, colliding {worst:.2f} s")
    assert worst < 2 * other + 0.5 * crowded()
    assert took(d, "good", {"owner": "good-1", "num_cpus": 1}) < max(1, 2 * other) * crowded()


def test_it_is_up_again_with_them_in_its_journal(two, colliding):
    """60,000 values in 1 MB by one who may ask for his owners only."""
    d = two
    took(d, "mal", asking(colliding(60000), "mal-1"))
    assert took(d, "good", {"owner": "good-1", "num_cpus": 1}) < 2 * crowded()
    d.kill()
    began = time.monotonic()
    d.start(wait="/readyz")
    assert time.monotonic() - began < 15 * crowded()
    assert took(d, "good", {"owner": "good-2", "num_cpus": 1}) < 2 * crowded()
    assert code(d, "mal", "DELETE", "/v1/request_resources/mal-1") == 200
    assert d.stop() == 0


# ---- shares

def test_all_names_of_resources_by_one(two):
    """2,708 bytes that took every name that there may be, for good."""
    d = two
    body = {"owner": "mal-1", "bundles": [{f"r{i}": 1} for i in range(256)]}
    assert len(json.dumps(body, separators=(",", ":"))) < 3000
    took(d, "mal", body)
    took(d, "good", {"owner": "good-1", "num_cpus": 1})
    r = ask(d, "mal", "POST", "/v1/request_resources", {"owner": "mal-2", "bundles": [{"another": 1}]})
    assert r.code == 429 and "more than your share" in r.text, r.text
    audit = ask(d, "ops", "GET", "/v1/audit?after=0").json["entries"]
    assert [e["code"] for e in audit if e["subject"] == "mal-2"] == [429], "a refusal for want of room is in the audit"
    # whose share it is outlives a restart
    d.kill()
    d.start(wait="/readyz")
    took(d, "good", {"owner": "good-2", "bundles": [{"CPU": 1, "mine": 1}]})
    assert ask(d, "mal", "POST", "/v1/request_resources", {"owner": "mal-3", "bundles": [{"third": 1}]}).code == 429


def test_all_shapes_by_one(two):
    d = two
    for part in range(2):
        took(d, "mal", {"owner": f"mal-{part}", "bundles": [{"CPU": 1, "memory": part * 2500 + i + 1} for i in range(2500)]})
    took(d, "good", {"owner": "good-1", "bundles": [{"CPU": 2, "memory": 7 * i + 3} for i in range(100)]})
    assert ask(d, "mal", "POST", "/v1/request_resources", {"owner": "mal-9", "bundles": [{"CPU": 3}]}).code == 429


def test_many_tolerations_are_many_shapes(two):
    """Each of them is another shape, and counted as one."""
    d = two
    body = {"owner": "mal-1", "bundles": [{"resources": {"CPU": 1}, "tolerations": [{"key": f"k{i}", "operator": "Exists"}]} for i in range(5001)]}
    r = ask(d, "mal", "POST", "/v1/request_resources", body)
    assert r.code == 429 and "5001 different shapes" in r.text, r.text


def test_a_good_one_beside_a_hostile_one(two):
    """Whatever the one asks for, the other one is served each time."""
    d, rng = two, random.Random(seed())
    for i in range(12):
        n = rng.randrange(1, 4000)
        bundles = [{"resources": {rng.choice(["CPU", "GPU", f"r{rng.randrange(400)}"]): rng.randrange(1, 10000)},
                    "count": rng.choice([1, 1, 1000])} for _ in range(n)]
        r = ask(d, "mal", "POST", "/v1/request_resources", json.dumps({"owner": f"mal-{rng.randrange(4)}", "bundles": bundles}))
        assert r.code in (200, 202, 400, 429), r.text
        took(d, "good", {"owner": f"good-{i % 3}", "bundles": [{"CPU": rng.randrange(1, 9)}, {"GPU": 1}]})
    until(lambda: d.get("/healthz")[0] == 200, PATIENCE)


# ---- what a cloud says

PROVIDER = """import json, sys
for line in sys.stdin:
    r = json.loads(line)
    for i in range(%d if r["op"] == "list" else 0):
        print('{"id":%%d,"machine":{"id":"m-%%d","request_id":"r-%%d","type":"t","zone":"","phase":"running"}}' %% (r["id"], i, i))
    print(json.dumps({"id": r["id"], "status": "OK" if r["op"] in ("hello", "list") else "UNSUPPORTED"}), flush=True)
"""


def cpu(d):
    with open(f"/proc/{d.p.pid}/stat") as f:
        fields = f.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / 100


def test_a_list_of_machines_that_nobody_knows(daemon_of):
    """20,000 of them took 36 s."""
    n = 20000
    d = daemon_of("""
cluster: it
api: {listen: "127.0.0.1:{port}"API}
state: davit.db
providers: {mine: {plugin: exec, command: [python3, "{dir}/cloud.py"]}}
node_types: {t: {provider: mine, resources: {CPU: 4}, price: 0.2, max: 8}}
""")
    (d.dir / "cloud.py").write_text(PROVIDER % n)
    d.start(wait="/healthz")
    d.until(lambda: f" m-{n - 1}: t: found in mine" in d.text())
    took = cpu(d)
    assert d.get("/healthz")[0] == 200
    d.kill()
    assert took < 12, took
