"""davit simulate: costs against a calculation of our own, the same answer for
the same seed, mistakes with their place, a picture that is well-formed."""
import json
import pathlib
import random
import subprocess
import xml.dom.minidom

import pytest

from lib import DAVIT
from lib.seeds import seed

HERE = pathlib.Path(__file__).parent
CONFIG = HERE / "sim.yaml"
JOBS = HERE / "jobs.csv"
PODS = HERE / "pods.csv"


def davit(*args, code=0, **kw):
    p = subprocess.run([DAVIT, "simulate", *map(str, args)], capture_output=True, text=True, timeout=120, **kw)
    assert p.returncode == code, (p.returncode, p.stdout, p.stderr)
    return p


def columns(*args, code=0):
    return json.loads(davit("--json", *args, code=code).stdout)["columns"]


# ---- costs


def at_most(machines, end):
    """How many there were at once."""
    events = [(m["launched_s"], 1) for m in machines]
    events += [(m["ended_s"], -1) for m in machines if m["ended_s"] is not None]
    most = now = 0
    for _, change in sorted(events, key=lambda e: (e[0], -e[1])):
        now += change
        most = max(most, now)
    return most


def random_jobs(chance, path, n=60):
    """Of one CPU type only, so that owners' shares do not hang on which machine a task ran."""
    rows, at = [], 0
    for _ in range(n):
        at += chance.choice([0, 0, 5, 60, 600, 3600])
        rows.append((at, chance.randint(1, 7200), chance.randint(1, 16), chance.randint(1, 8), chance.choice("abc")))
    path.write_text("submit,runs,cpus,count,owner\n" + "".join("%d,%d,%d,%d,%s\n" % r for r in rows))
    return rows


def test_costs(tmp_path):
    n = seed()
    chance = random.Random(n)
    price, cpus = 3.6, 16
    (tmp_path / "one.yaml").write_text(
        "cluster: c\nlimits: {max_nodes: 400, idle_timeout: 10m}\nproviders: {sim: {}}\n"
        "node_types:\n  cpu: {provider: sim, resources: {CPU: %d}, price: %g}\n" % (cpus, price))
    rows = random_jobs(chance, tmp_path / "jobs.csv")
    [c] = columns("--seed", n, tmp_path / "one.yaml", tmp_path / "jobs.csv")
    machines = c["machines"]
    billed = sum((m["ended_s"] if m["ended_s"] is not None else c["lasted_s"]) - m["launched_s"] for m in machines)
    assert c["cost"] == pytest.approx(billed * price / 3600, abs=1e-4)
    assert c["offers"][0]["cost"] == c["cost"] and c["offers"][0]["machine_hours"] == pytest.approx(billed / 3600)
    assert c["launches"] == len(machines) and c["ends"] == sum(m["ended_s"] is not None for m in machines)
    assert c["machines_at_most"] == at_most(machines, c["lasted_s"])
    assert c["tasks"] == c["done"] == sum(n for _, _, _, n, _ in rows) and c["never_began"] == 0
    for o in c["owners"]:
        share = sum(runs * need / cpus * n for _, runs, need, n, owner in rows if owner == o["owner"])
        assert o["cost"] == pytest.approx(share * price / 3600, abs=1e-3)
    used = sum(runs * need * n for _, runs, need, n, _ in rows)
    assert c["cpu_use"] == pytest.approx(used / (billed * cpus), rel=1e-3)
    assert c["gpu_use"] is None
    assert c["samples"][-1]["cost"] == pytest.approx(c["cost"], abs=1e-4)


def test_one_task_by_hand(tmp_path):
    """Boot, work, idle timeout: what one machine is billed for."""
    (tmp_path / "one.yaml").write_text(
        "cluster: c\nlimits: {idle_timeout: 10m}\nproviders: {sim: {}}\n"
        "node_types:\n  t4: {provider: sim, resources: {CPU: 8, GPU: 1}, price: 36, boot: 100s}\n")
    (tmp_path / "jobs.csv").write_text("submit,runs,gpus\n0,1h,1\n")
    [c] = columns(tmp_path / "one.yaml", tmp_path / "jobs.csv")
    [m] = c["machines"]
    boot = c["offers"][0]["boot_s"]
    assert 75 <= boot <= 125
    assert boot < c["wait_s"]["worst"] < boot + 30  # it joins, and the answers of a cloud take their time
    assert 3600 + 600 + boot < m["ended_s"] - m["launched_s"] < 3600 + 600 + boot + 90
    assert 36 * (4200 + boot) / 3600 < c["cost"] < 36 * (4290 + boot) / 3600
    assert c["owners"][0]["cost"] == pytest.approx(36 * 0.5, abs=0.01)  # all of its GPU, none of its CPUs


def test_longer_idle_timeouts_wait_less_and_cost_more():
    a, b = columns("--set", "limits.idle_timeout=1m,4h", CONFIG, JOBS)
    assert a["cost"] < b["cost"] and a["launches"] > b["launches"]
    wait = [next(o for o in c["owners"] if o["owner"] == "cid")["wait_s"]["worst"] for c in (a, b)]
    assert wait[0] > 60 and wait[1] < 5  # of the machines that ann left
    assert a["label"] == "idle_timeout=1m" and a["set"] == {"limits.idle_timeout": "1m"}


# ---- the same for the same seed


def test_bad_days():
    """All of it is done all the same, later and not for less; the same for the same seed."""
    [good] = columns(CONFIG, JOBS)
    for storm in range(1, 6):
        [bad] = columns("--storm", storm, CONFIG, JOBS)
        assert bad == columns("--storm", storm, CONFIG, JOBS)[0]
        assert bad["done"] == good["done"] == bad["tasks"] and bad["wait_s"]["worst"] >= good["wait_s"]["p50"]
    assert any(columns("--storm", s, CONFIG, JOBS)[0]["faults"] for s in range(1, 6)) and not good["faults"]


def test_the_same_for_the_same_seed():
    first, again, other = (davit("--json", "--seed", s, CONFIG, JOBS).stdout for s in (7, 7, 8))
    assert first == again
    assert first != other


def test_a_column_is_what_it_is_alone():
    """Worlds are played one after the other in one process: nothing is left over."""
    three = columns("--set", "limits.idle_timeout=1m,5m,1h", CONFIG, JOBS)
    [alone] = columns("--set", "limits.idle_timeout=1h", CONFIG, JOBS)
    alone["label"] = three[2]["label"]
    assert alone == three[2]


# ---- traces


def test_pod_list():
    answer = json.loads(davit("--json", CONFIG, PODS).stdout)
    [c] = answer["columns"]
    assert answer["trace"]["kind"] == "pod list" and answer["trace"]["never_ran"] == 1
    assert c["tasks"] == c["done"] == 4
    assert {o["owner"]: o["tasks"] for o in c["owners"]} == {"LS": 2, "BE": 2}
    # 0.46 and 0.3 of a GPU share one; the whole one needs another
    assert [o["launches"] for o in c["offers"] if o["type"] == "t4"] == [2]


def test_from_and_to():
    answer = json.loads(davit("--json", "--from", "1h", "--to", "3h30m", CONFIG, JOBS).stdout)
    assert answer["trace"]["tasks"] == 4 and answer["trace"]["cut"] == 4
    assert "nothing in it that ran between --from and --to" in davit("--from", "9h", CONFIG, JOBS, code=3).stderr


def test_records(tmp_path):
    folder = tmp_path / "records"
    folder.mkdir()
    demand = {"source": "request", "owner": "ann", "bundles": [{"resources": {"CPU": 4}, "count": 3}]}
    for tick, (at, count) in enumerate([(1000, 3), (61000, 5), (121000, 5), (181000, 1)]):
        demand["bundles"][0]["count"] = count
        (folder / f"{tick}-20260101T00{tick:02}00.000.json").write_text(
            json.dumps({"now_ms": 1767225600000 + at, "demands": [demand]}))
    answer = json.loads(davit("--json", "--runs", "10m", CONFIG, folder).stdout)
    assert answer["trace"]["kind"] == "records"
    assert answer["trace"]["jobs"] == 2 and answer["trace"]["tasks"] == 5
    assert answer["columns"][0]["done"] == 5
    assert "--runs TIME is needed" in davit(CONFIG, folder, code=3).stderr


def test_work_that_no_type_holds(tmp_path):
    (tmp_path / "jobs.csv").write_text("submit,runs,gpus\n0,10m,4\n5,10m,1\n")
    p = davit("--json", CONFIG, tmp_path / "jobs.csv", code=1)
    [c] = json.loads(p.stdout)["columns"]
    assert c["never_began"] == 1 and c["done"] == 1
    assert "1 task never began (1 of 2 without an owner): no node type holds them" in p.stderr


HEAD = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time\n"


@pytest.mark.parametrize("text, message", [
    ("", "t.csv:1:1: the file is empty"),
    ("submit,cpus\n0,1\n", 't.csv:1:1: the column "runs" lacks'),
    ("submit,runs,cpu\n", 't.csv:1:13: unknown column "cpu", did you mean "cpus"?'),
    ("submit,runs,cpus\n0,10m,1\nsoon,10m,1\n", "t.csv:3:1: submit must be a time since the beginning"),
    ("submit,runs,cpus\n0,,1\n", "t.csv:2:3: runs must be a time above 0"),
    ("submit,runs,cpus\n0,1m,many\n", "t.csv:2:6: cpus must be a quantity such as 4, 0.5 or 16Gi, got \"many\""),
    ("submit,runs,cpus\n0,1m\n", "t.csv:2:1: 2 fields, the heading has 3"),
    ("submit,runs,cpus\n0,1m,0\n", "t.csv:2:1: one of cpus, memory and gpus must be above 0"),
    ("submit,runs,cpus,together\n\n0,1m,1,perhaps\n", 't.csv:3:8: together must be yes or no, got "perhaps"'),
    ('submit,runs,cpus\n0,"1m,1\n', "t.csv:2:3: a field in quotes does not end with one"),
    ("submit,runs,cpus,count\n0,1m,1,1000000\n", "t.csv:2:8: count must be a whole number from 0 to 100000"),
    ("submit,runs,cpus\n", "t.csv: there is nothing in it that ran"),
    (HEAD.replace("creation_time,", ""), 't.csv:1:1: the column "creation_time" lacks'),
    (HEAD + "p,4000,1,1,1000,,LS,Running,0,-5,0\n", "t.csv:2:31: deletion_time must be a whole number"),
    (HEAD + "p,4000,1,1,1000,,LS,Running,0,5,9\n", "t.csv:2:31: deletion_time is before scheduled_time (9)"),
    (HEAD + "p,4000,1,1,1001,,LS,Running,0,5,9\n", "t.csv:2:12: gpu_milli must be a whole number from 0 to 1000"),
])
def test_mistakes_in_a_trace(tmp_path, text, message):
    (tmp_path / "t.csv").write_text(text)
    p = davit(CONFIG, "t.csv" if "/" in str(CONFIG) else CONFIG, code=3, cwd=tmp_path)
    assert message in p.stderr, p.stderr
    assert p.stdout == ""


def test_ten_mistakes_are_enough(tmp_path):
    (tmp_path / "t.csv").write_text("submit,runs,cpus\n" + "x,y,z\n" * 1000)
    assert len(davit(CONFIG, tmp_path / "t.csv", code=3).stderr.splitlines()) == 10


def test_quotes_and_windows_line_ends(tmp_path):
    (tmp_path / "t.csv").write_bytes(
        b'\xef\xbb\xbfsubmit,runs,cpus,owner\r\n0,"1m",1,"a, ""b"""\r\n2026-01-01T00:00:00Z,1m,1,c\r\n')
    [c] = columns("--to", "1h", CONFIG, tmp_path / "t.csv")
    assert [o["owner"] for o in c["owners"]] == ['a, "b"']


# ---- settings


@pytest.mark.parametrize("args, message", [
    (["--set", "limits.idle_timout=1m"], 'unknown key "idle_timout" in limits; did you mean "idle_timeout"?'),
    (["--set", "limits.idle_timeout=1x"], "limits.idle_timeout"),
    (["--set", "limits"], "--set limits: PATH=VALUE is needed"),
    (["--set", "node_types.t4.price=-1"], "price"),
    (["--set", "cluster.name.x=1"], "cluster.name.x: there is no such setting"),
    (["--set", "limits.idle_timeout=" + ",".join(f"{n}m" for n in range(1, 10))], "more than 8 combinations"),
])
def test_mistakes_in_settings(args, message):
    assert message in davit(*args, CONFIG, JOBS, code=3).stderr


def test_combinations_and_compare(tmp_path):
    (tmp_path / "b.yaml").write_text(CONFIG.read_text().replace("price: 0.7", "price: 7"))
    got = columns("--set", "limits.idle_timeout=1m,1h", "--set", "node_types.cpu.max=19,20", "--compare", tmp_path / "b.yaml",
                  CONFIG, JOBS)
    assert len(got) == 8 and len({c["label"] for c in got}) == 8
    assert got[0]["cost"] < got[4]["cost"]  # its T4 are ten times as dear
    assert got[1]["set"] == {"limits.idle_timeout": "1m", "node_types.cpu.max": "20"}


def test_lists_are_one_value():
    [c] = columns("--set", "limits.end_order=[spot, oldest]", CONFIG, JOBS)
    assert c["set"] == {"limits.end_order": "[spot, oldest]"}


def test_the_configuration_as_it_would_run_is_left_alone(tmp_path):
    """A head, a token, a cloud's plug-in: none of them is needed or touched."""
    (tmp_path / "real.yaml").write_text(
        "cluster: real\nstate: /nonexistent/davit.db\nhead: {ray: {address: \"10.0.0.1:6379\"}}\n"
        "providers: {gke: {project: p, location: us-central1, cluster: c}}\n"
        "node_types:\n  t4: {provider: gke, pool: gpu, machine: n1-standard-8+t4, price: 0.9}\n")
    [c] = columns(tmp_path / "real.yaml", PODS)
    assert c["done"] == 4 and c["offers"][0]["cost"] == c["cost"] > 0


def test_no_file_is_left(tmp_path):
    for p in (CONFIG, JOBS):
        (tmp_path / p.name).write_bytes(p.read_bytes())
    davit(CONFIG.name, JOBS.name, cwd=tmp_path)
    assert sorted(p.name for p in tmp_path.iterdir()) == [JOBS.name, CONFIG.name]


# ---- for people


def test_table():
    out = davit("--set", "limits.idle_timeout=1m,1h", CONFIG, JOBS).stdout
    assert "16 tasks" in out and "idle_timeout=1m" in out and "idle_timeout=1h" in out
    for word in ("cost, dollars", "waited", "GPUs in use", "launches", "cost by owner", "price an hour"):
        assert word in out


def test_svg(tmp_path):
    """Well-formed whatever a file is called, a panel for each column."""
    odd = tmp_path / 'a&<b>".yaml'
    odd.write_text(CONFIG.read_text())
    davit("--svg", tmp_path / "out.svg", "--compare", odd, CONFIG, JOBS)
    doc = xml.dom.minidom.parse(str(tmp_path / "out.svg"))
    texts = ["".join(n.data for n in t.childNodes) for t in doc.getElementsByTagName("text")]
    assert sum(t == "machines" for t in texts) == 2
    assert any('a&<b>".yaml' in t for t in texts)
    assert "davit simulate: /nonexistent/x.svg" in davit("--svg", "/nonexistent/x.svg", CONFIG, JOBS, code=5).stderr
