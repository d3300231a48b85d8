"""davit catalogue: what machine: may name."""
import json
import subprocess

from lib import DAVIT


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
