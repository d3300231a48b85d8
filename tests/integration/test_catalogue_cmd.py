"""davit catalogue: what machine: may name."""
import json
import subprocess

import pytest

from lib import DAVIT
from lib.daemon import Daemon


def davit(*args):
    return subprocess.run([DAVIT, "catalogue", *args], capture_output=True, text=True, timeout=20)


def test_all_of_it():
    p = davit("--json")
    machines = json.loads(p.stdout)
    assert p.returncode == 0 and len(machines) >= 120
    by_name = {m["name"]: m for m in machines}
    assert by_name["p2.xlarge"]["resources"] == {"CPU": 4, "GPU": 1, "memory": 61 * 2**30}
    assert by_name["p2.xlarge"]["accelerator"] == "K80" and by_name["p2.xlarge"]["price_per_hour"] == 0.9
    assert by_name["+nvidia-tesla-t4"]["accelerator"] == "T4"
    assert {"aws", "gcp", "azure"} <= {m["cloud"] for m in machines}


def test_search():
    p = davit("--cloud", "aws", "a100")
    rows = p.stdout.splitlines()[1:]
    assert p.returncode == 0 and rows and all(" aws " in r and "A100" in r for r in rows)
    assert davit("no-such-machine").returncode == 1
    assert davit("--file", "/nowhere.yaml").returncode == 3
    assert davit("--nope").returncode == 2


def test_diff(tmp_path):
    """What a file adds and changes, fact by fact; what it repeats is no change."""
    f = tmp_path / "mine.yaml"
    f.write_text("""schema: davit-catalogue/1
machines:
  p5.48xlarge: {cloud: aws, cpu: 192, memory: 2048Gi, gpu: 8, accelerator: H100, price: 50, region: us-east-1, as_of: 2026-07-20, local_ssd: 30400G, network: 3200 Gigabit EFA}
  p2.xlarge: {cloud: aws, cpu: 4, memory: 61Gi, gpu: 1, accelerator: K80, price: 0.90, region: us-east-1, as_of: 2026-07-20}
  box: {cloud: ours, cpu: 8, memory: 32Gi, arch: arm64, sold: [reserved, spot], nvlink: 4}
""")
    p = davit("diff", f)
    lines = p.stdout.splitlines()
    assert p.returncode == 0 and len(lines) == 3, p.stdout
    assert "~ p5.48xlarge: price 55.04 -> 50" in lines
    assert any(x.startswith("+ box: ") and "arch arm64" in x and "sold reserved, spot" in x and "nvlink 4" in x for x in lines)
    assert lines[-1].startswith("1 new, 1 changed, ")
    f.write_text("schema: davit-catalogue/1\nmachines:\n  box: {cpu: 8, memory: 32Gi, arch: ppc}\n")
    p = davit("diff", f)
    assert p.returncode == 3 and ":3:" in p.stderr and "arch must be amd64 or arm64" in p.stderr, p.stderr


@pytest.mark.parametrize("more, told", [("", True), (", market: spot", False), (", market: [spot, on-demand]", True),
                                        (", options: {node_config: {scheduling: {provisioningModel: FLEX_START}}}", False)])
def test_what_is_not_sold_on_demand_is_told(tmp_path, more, told):
    f = tmp_path / "davit.yaml"
    f.write_text(f"""cluster: c
providers: {{gce: {{project: p, image: projects/p/global/images/i}}}}
node_types:
  x: {{provider: gce, machine: a3-highgpu-1g, zones: [us-central1-a]{more}}}
""")
    p = subprocess.run([DAVIT, "validate", f], capture_output=True, text=True, timeout=20)
    assert p.returncode == 0, p.stderr
    assert ("a3-highgpu-1g is not sold on demand (flex-start, spot)" in p.stdout + p.stderr) == told, p.stdout + p.stderr


def test_prices_of_a_region(tmp_path):
    def price(*args):
        [row] = davit("g6.2xlarge", *args).stdout.splitlines()[1:]
        return row.split()[-3:-1]
    assert price() == price("--region", "us-east-1") == ["0.9776", "us-east-1"]
    assert price("--region", "eu-central-1") == ["1.222", "eu-central-1"]
    assert price("--region", "nowhere-1") == ["0.9776", "us-east-1"], "not listed: what it costs where it is"
    [m] = [m for m in json.loads(davit("--json", "g6.2xlarge").stdout)]
    assert m["prices"]["eu-central-1"] == 1.22249
    f = tmp_path / "mine.yaml"
    f.write_text("schema: davit-catalogue/1\nmachines:\n  box: {cpu: 8, memory: 32Gi, prices: {here: 1.5, there: 2}}\n")
    assert "prices {here: 1.5, there: 2}" in davit("diff", f).stdout
    f.write_text("schema: davit-catalogue/1\nmachines:\n  box: {cpu: 8, memory: 32Gi, prices: {here: dear}}\n")
    assert "prices.here must be dollars an hour" in davit("diff", f).stderr


ONE = """cluster: c
state: "{dir}/davit.db"
api: {listen: "127.0.0.1:{port}"}
providers: {sim: {}}
node_types:
  x: {provider: sim, machine: %(machine)s, max: 1%(zones)s}
"""


@pytest.mark.parametrize("machine, zones, price", [
    ("g6.2xlarge", "", {"": 0.9776}),
    ("g6.2xlarge", "[eu-central-1a, us-west-2b, ap-nowhere-1a]", {"eu-central-1a": 1.22249, "us-west-2b": 0.9776, "ap-nowhere-1a": 0.9776}),
    ("g2-standard-8", "[europe-west4-a, us-central1-b]", {"europe-west4-a": 0.897201, "us-central1-b": 0.853624})])
def test_a_type_costs_what_its_region_costs(tmp_path, machine, zones, price):
    text = ONE % {"machine": machine, "zones": f", zones: {zones}" if zones else ""}
    with Daemon(tmp_path, text) as d:
        [t] = d.until(lambda: d.status().get("types"))
        assert {o["zone"]: o["price_per_hour"] for o in t["offers"]} == pytest.approx(price, abs=2e-6)
