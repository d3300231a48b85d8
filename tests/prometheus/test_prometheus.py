"""Metrics, dashboard and alerts as Prometheus sees them.

A real daemon on the simulated cloud and a played Ray head, and a shadow beside it, scraped by a real Prometheus (Debian's package) that has
loaded the rules.  Every expression of dashboard and rules gives a result there.  Alerts fire: those that need no hours
for real, and every one of them in promtool's played time.
"""
import json
import re
import signal
import sqlite3
import subprocess
import urllib.parse
import urllib.request

import pytest
import yaml

from lib import DAVIT, PATIENCE, ROOT, TESTS, free_port, until, without
from lib.daemon import Daemon
from lib.gcs import Gcs

RULES = ROOT / "configs/prometheus/davit.rules.yaml"
DASHBOARD = ROOT / "configs/grafana/davit.json"
DOC = ROOT / "docs/metrics.md"
CONFIG = """
cluster: prom
head: {ray: {address: "%s"}}
api: {listen: "127.0.0.1:{port}"}
state: "{dir}/davit.db"
limits: {max_nodes: 9, idle_timeout: 1s, start_timeout: 60s, max_cost_per_hour: 2.3}
providers:
  sim: {state: "{dir}/cloud.json", boot: 100ms, terminate: 100ms}
node_types:
  t4: {resources: {CPU: 8, GPU: 1}, price: 0.7, max: 2}
  v100: {resources: {CPU: 8, GPU: 2}, price: 0.5, max: 3}
  gone: {resources: {CPU: 8, TPU: 1}, price: 0.1, max: 1}
  ssd: {resources: {CPU: 1, SSD: 1}, price: 0.01, max: 1}
"""
GPU = {"CPU": 8, "GPU": 1}


@pytest.fixture(scope="session")
def programs():
    got = subprocess.run([TESTS / "setup.sh", "prometheus"], check=True, stdout=subprocess.PIPE, text=True)
    return ROOT / got.stdout.split()[-1]


def rules():
    return [r for g in yaml.safe_load(RULES.read_text())["groups"] for r in g["rules"]]


def dashboard_expressions():
    """(panel, expression), for all Davits."""
    for panel in json.loads(DASHBOARD.read_text())["panels"]:
        for target in panel.get("targets", ()):
            yield panel["title"], target["expr"].replace("$instance", ".*")


# ---- Prometheus and what it scrapes

class Prometheus:
    """Rules wait for nothing here: `for` is a second, and rates look back for less."""

    def __init__(self, programs, directory, *ports):
        text = re.sub(r"^(\s+for): .*$", r"\1: 1s", RULES.read_text(), flags=re.M)
        (directory / "rules.yaml").write_text(text)
        (directory / "prometheus.yml").write_text(f"""
global: {{scrape_interval: 1s, evaluation_interval: 1s}}
rule_files: [rules.yaml]
scrape_configs: [{{job_name: davit, static_configs: [{{targets: {[f"127.0.0.1:{port}" for port in ports]}}}]}}]
""")
        self.port = free_port()
        self.log = open(directory / "log", "w")
        self.p = subprocess.Popen(
            [programs / "prometheus", f"--config.file={directory}/prometheus.yml", f"--storage.tsdb.path={directory}/data",
             f"--web.listen-address=127.0.0.1:{self.port}"], stdout=self.log, stderr=self.log, cwd=directory, env=without())

    def stop(self):
        self.p.send_signal(signal.SIGTERM)
        self.p.wait(PATIENCE)
        self.log.close()

    def get(self, path, **query):
        url = f"http://127.0.0.1:{self.port}/api/v1/{path}?{urllib.parse.urlencode(query)}"
        try:
            with urllib.request.urlopen(url, timeout=PATIENCE) as r:
                return json.load(r)["data"]
        except urllib.error.HTTPError as e:
            raise AssertionError(f"{query}: {e.read().decode()}") from e

    def query(self, expression):
        return self.get("query", query=expression)["result"]

    def up(self):  # it answers 503 first
        try:
            return self.query("davit_build_info")
        except (OSError, AssertionError):
            return None

    def firing(self):
        return {a["labels"]["alertname"]: a for a in self.get("alerts")["alerts"] if a["state"] == "firing"}


def faults(d, **kw):
    """What the simulated cloud does from now on: tests/integration/test_loop.py has the same."""
    path = d.dir / "cloud.json"
    cloud = json.loads(path.read_text())
    cloud.setdefault("faults", {}).update(kw)
    path.with_suffix(".new").write_text(json.dumps(cloud))
    path.with_suffix(".new").replace(path)


def live(gcs, d):
    """A short life in which everything happens that has a metric of its own."""
    d.post({"owner": "alice", "bundles": [{"GPU": 100}]})    # too large for every type
    gcs.tasks([(GPU, 2)])
    first = d.until(lambda: len(d.nodes("v100", "starting")) == 2 and d.nodes("v100", "starting"), why="no launch")
    gcs.tasks([])
    # one vanishes, the other one joins and is idle: drained and ended
    faults(d, kill=[first[0]["cloud_id"]])
    gcs.join(first[1]["cloud_id"], "v100", {"CPU": 8, "GPU": 2})
    gcs.idle(first[1]["cloud_id"], 60000)
    d.until(lambda: d.events("node.lost"), why="none is lost")
    d.until(lambda: [e for e in d.events("node.ending") if e["subject"] == first[1]["id"]], why="it is not ended")
    # more than the limits allow, and a type that cannot be had
    d.post({"owner": "bob", "bundles": [GPU] * 12 + [{"TPU": 1}]})
    d.until(lambda: d.events("launch.failed") and len(d.nodes("v100", "starting")) == 3, why="no launch, or none that fails")
    for n in d.nodes("v100", "starting")[1:]:  # one stays on its way
        gcs.join(n["cloud_id"], "v100", {"CPU": 8, "GPU": 2})
    # and then no right to launch
    faults(d, auth=["launch"])
    d.post({"owner": "carol", "bundles": [{"SSD": 1}]})
    d.until(lambda: d.status()["stops"], why="nothing is stopped")
    d.write((CONFIG % gcs.address).replace("max: 2", "max: two"))
    d.p.send_signal(signal.SIGHUP)
    d.until(lambda: d.events("config.refused"))


@pytest.fixture(scope="module")
def world(programs, tmp_path_factory):
    here = tmp_path_factory.mktemp("world")
    text = CONFIG.replace("boot: 100ms", 'boot: 100ms, stockout: ["gone"]')
    for folder in ("daemon", "shadow", "prometheus"):
        (here / folder).mkdir()
    with Gcs() as gcs, Daemon(here / "daemon", text % gcs.address) as d, \
            Daemon(here / "shadow", CONFIG % gcs.address, args=["--shadow"]) as shadow:
        p = Prometheus(programs, here / "prometheus", d.port, shadow.port)
        try:
            until(p.up, why=lambda: (here / "prometheus/log").read_text()[-2000:])
            live(gcs, d)
            yield p, d
        finally:
            p.stop()


# ---- what Prometheus says

def test_scrape_is_clean(world, programs):
    """promtool's lint, but for names that are Ray's and OpenCost's."""
    p, d = world
    got = subprocess.run([programs / "promtool", "check", "metrics"], input=d.exchange("GET", "/metrics").text,
                         capture_output=True, text=True)
    assert [line for line in (got.stdout + got.stderr).splitlines()
            if not line.startswith(("autoscaler_", "node_gpu_count "))] == []


def test_dashboard_has_data(world):
    p, _ = world
    wanted = list(dashboard_expressions())
    assert len(wanted) > 30
    for panel, expression in wanted:
        def got(expression=expression):
            return p.query(expression)
        until(got, PATIENCE, f"{panel}: no result of {expression}")


def selectors(expression):
    """Its metrics, each with its labels: where each has series the whole has data when it is true."""
    return set(re.findall(r"\b(?:davit|process|up)_\w+(?:\{[^}]*\})?", expression))


def test_rules_have_data(world):
    """An alert has no result most of the time: what it looks at has."""
    p, _ = world
    for rule in rules():
        names = selectors(rule["expr"])
        assert names, rule
        for name in names:
            until(lambda name=name: p.query(name), 20, f"{rule['alert']}: no series {name}")


REAL = {"DavitDemandInfeasible", "DavitDemandWaits", "DavitTypeAtMax", "DavitConfigRefused", "DavitOfferBackoff",
        "DavitStopped", "DavitNotReady"}


def test_alerts_fire_for_real(world):
    p, _ = world
    until(lambda: REAL <= set(p.firing()), 60, lambda: f"not yet: {REAL - set(p.firing())}")
    for name in REAL:
        alert = p.firing()[name]
        for text in alert["annotations"].values():
            assert text and "<no value>" not in text and "{{" not in text, alert


# ---- all alerts, in played time

def series(name, bad, good="0", bad_from=5, until_=40):
    return {"series": name, "values": f"{good}x{bad_from - 1} {bad}x{until_}"}


# What makes it fire: (series, minutes until it must) after five minutes of good values.
PLAYED = {
    "DavitAbsent": ([{"series": "davit_build_info", "values": "1x4 _x40"}], 16),
    "DavitLoopStands": ([{"series": "davit_last_plan_timestamp_seconds", "values": "0+60x4 240x40"}], 14),
    "DavitNotReady": ([series("davit_ready", "0", "1")], 12),
    "DavitJournalFails": ([series("davit_journal_ok", "0", "1")], 8),
    "DavitJournalFills": ([series("davit_journal_configmaps_used_percent", "85", "30")], 12),
    "DavitConfigRefused": ([series("davit_config_refused", "1"), {"series": "davit_config_held", "values": "0x50"}], 12),
    "DavitStopped": ([series('davit_stops{kind="k",subject="s"}', "1")], 17),
    "DavitSlow": ([{"series": 'davit_tick_seconds_bucket{le="1"}', "values": "0x60"},
                   {"series": 'davit_tick_seconds_bucket{le="5"}', "values": "0x4 0+60x50"},
                   {"series": 'davit_tick_seconds_bucket{le="+Inf"}', "values": "0x4 0+60x50"}], 30),
    "DavitDemandWaits": ([series('davit_bundles{source="pod",place="waiting"}', "3")], 22),
    "DavitDemandInfeasible": ([series('davit_bundles{source="pod",place="infeasible"}', "3")], 22),
    "DavitTypeAtMax": ([series('davit_bundles{source="pod",place="waiting"}', "3"),
                        {"series": 'davit_type_max{type="t4"}', "values": "2x60"},
                        {"series": 'davit_nodes{type="t4",state="ready"}', "values": "1x60"},
                        {"series": 'davit_nodes{type="t4",state="starting"}', "values": "1x60"}], 22),
    "DavitSourceDown": ([series("davit_source_ok", "0", "1")], 12),
    "DavitProviderDown": ([series('davit_provider_ready{provider="p"}', "0", "1")], 12),
    "DavitProviderSlow": ([{"series": 'davit_provider_call_seconds_bucket{provider="p",operation="list",le="30"}', "values": "0x60"},
                           {"series": 'davit_provider_call_seconds_bucket{provider="p",operation="list",le="60"}', "values": "0x4 0+9x50"},
                           {"series": 'davit_provider_call_seconds_bucket{provider="p",operation="list",le="+Inf"}', "values": "0x4 0+9x50"}], 30),
    "DavitLaunchesFail": ([{"series": "davit_launch_failures_total", "values": "0x4 0+1x50"}], 14),
    "DavitOfferBackoff": ([{"series": 'davit_offer_backoff_seconds{provider="p",type="t4",zone="",market="spot",reason="stockout"}',
                            "values": "_x4 60x60"}], 38),
    "DavitNodeLate": ([{"series": 'davit_oldest_node_seconds{type="t4",state="starting"}', "values": "0x4 0+60x50"}], 25),
    "DavitDrainLate": ([{"series": 'davit_oldest_node_seconds{type="t4",state="draining"}', "values": "0x4 0+60x90"}], 80),
    "DavitEndLate": ([{"series": 'davit_oldest_node_seconds{type="t4",state="stopping"}', "values": "0x4 0+60x50"}], 25),
    "DavitDevicesMissing": ([series('davit_nodes_lacking{type="t4"}', "1")], 17),
    "DavitNodesFail": ([{"series": 'davit_nodes_failed_total{type="t4",provider="p",reason="BROKEN"}', "values": "0x4 0+1x50"}], 14),
    "DavitNodesLost": ([{"series": "davit_lost_total", "values": "0x4 1x50"}], 7),
    "DavitCostNearLimit": ([series("davit_cost_per_hour_dollars", "95", "50"),
                            {"series": "davit_max_cost_per_hour_dollars", "values": "100x60"}], 22),
    "DavitIdleCost": ([series("davit_idle_cost_per_hour_dollars", "30", until_=80),
                       {"series": "davit_cost_per_hour_dollars", "values": "50x90"}], 70),
    "DavitCostJump": ([{"series": "davit_cost_per_hour_dollars", "values": "20x1443 60x60"}], 1480),
}


def played(name, values, minutes):
    """A unit test of promtool: quiet for five minutes, firing then.  (The day before the jump is long.)"""
    def check(at, n):
        return {"expr": f'count(ALERTS{{alertname="{name}",alertstate="firing"}})', "eval_time": f"{at}m",
                "exp_samples": [{"value": n, "labels": "{}"}] if n else []}
    return {"interval": "1m", "input_series": values, "promql_expr_test": [check(minutes - min(minutes - 4, 40), 0), check(minutes, 1)]}


def test_every_alert_fires_in_played_time(programs, tmp_path):
    assert {r["alert"] for r in rules()} == set(PLAYED)
    (tmp_path / "alerts.yaml").write_text(json.dumps({
        "rule_files": [str(RULES)], "evaluation_interval": "1m",
        "tests": [played(name, *how) for name, how in PLAYED.items()]}))
    got = subprocess.run([programs / "promtool", "test", "rules", tmp_path / "alerts.yaml"], capture_output=True, text=True)
    assert got.returncode == 0, got.stdout + got.stderr


# ---- the files themselves

def test_rules_are_whole(programs):
    subprocess.run([programs / "promtool", "check", "rules", RULES], check=True, stdout=subprocess.DEVNULL)
    for rule in rules():
        assert rule["labels"]["severity"] in ("critical", "warning", "info"), rule
        assert set(rule["annotations"]) == {"summary", "description", "command"}, rule
        program, word = rule["annotations"]["command"].split()[:2]
        assert program == "davit"
        subprocess.run([DAVIT, "help", word], check=True, stdout=subprocess.DEVNULL)
        assert f"`{rule['alert']}`" in DOC.read_text(), f"docs/metrics.md lacks {rule['alert']}"


def test_dashboard_is_whole():
    d = json.loads(DASHBOARD.read_text())
    ids = [p["id"] for p in d["panels"]]
    assert len(set(ids)) == len(ids)
    at = set()
    for p in d["panels"]:
        g = p["gridPos"]
        cells = {(x, y) for x in range(g["x"], g["x"] + g["w"]) for y in range(g["y"], g["y"] + g["h"])}
        assert not at & cells and g["x"] + g["w"] <= 24, p["title"]
        at |= cells
        for t in p.get("targets", ()):
            assert t["datasource"]["uid"] == "${datasource}"


# ---- the documents

def described():
    """{metric: (kind, labels)} of the tables in docs/metrics.md."""
    rows = re.findall(r"^\| `(\w+)(?:\{([\w,]*)\})?` \| (counter|gauge|histogram) \|", DOC.read_text(), re.M)
    found = {name: (kind, set(filter(None, labels.split(",")))) for name, labels, kind in rows}
    assert len(found) == len(rows), "a metric is there twice"
    return found


def served(text):
    """The same of a scrape; labels of the series that there are."""
    kinds = dict(re.findall(r"^# TYPE (\S+) (\S+)$", text, re.M))
    labels = {}
    for name, inside in re.findall(r"^(\w+)(?:\{(.*)\})? \S+$", text, re.M):
        base = next((name.removesuffix(s) for s in ("_bucket", "_sum", "_count") if name.removesuffix(s) in kinds), name)
        labels[base] = set(re.findall(r'(\w+)="', inside)) - {"le"} | labels.get(base, set())
    return {name: (kind, labels.get(name)) for name, kind in kinds.items()}


def test_documents_agree(world):
    _, d = world
    here, there = served(d.exchange("GET", "/metrics").text), described()
    assert set(here) == set(there), set(here) ^ set(there)
    for name, (kind, labels) in here.items():
        assert kind == there[name][0], name
        assert labels in (None, there[name][1]), (name, labels, there[name][1])


# ---- dollars

def value(d, name):
    found = re.findall(rf"^{re.escape(name)} (\S+)$", d.exchange("GET", "/metrics").text, re.M)
    return float(found[0]) if found else 0.0


def test_dollars_are_kept_and_add_up(tmp_path):
    text = re.sub(r"^head:.*\n", "", CONFIG, flags=re.M).replace("idle_timeout: 1s", "idle_timeout: 1h")
    offer = 'davit_spent_dollars_total{type="v100",provider="sim",market="on-demand"}'
    with Daemon(tmp_path, text) as d:
        d.post({"owner": "alice", "bundles": [{"GPU": 1, "CPU": 2}]})
        d.until(lambda: d.ready("v100") == 1)
        # half of the node is alice's, at half a dollar an hour
        d.until(lambda: value(d, 'davit_owner_cost_per_hour_dollars{owner="alice"}') == 0.25)
        assert value(d, "davit_idle_cost_per_hour_dollars") == 0.25
        d.post({"owner": "bob", "bundles": [{"CPU": 8}]})     # and all of its CPUs
        d.until(lambda: value(d, offer) > 0)
        d.stop()
        first = sqlite3.connect(tmp_path / "davit.db").execute("SELECT value FROM value WHERE key = 'spent'").fetchone()[0]
        first = {tuple(line.split("\t")[:-1]): int(line.split("\t")[-1]) for line in first.splitlines()}
        d.start()
        d.until(lambda: value(d, offer) * 1e9 > first["0", "v100", "sim", "on-demand"] > 0, why="it begins anew")
        assert value(d, 'davit_owner_spent_dollars_total{owner="alice"}') * 1e9 >= first["1", "alice"] > 0
        # what owners bear and what is idle is what is spent
        scrape = d.exchange("GET", "/metrics").text
        spent, owners, idle = (sum(map(float, re.findall(rf"^{name}(?:\{{.*\}})? (\S+)$", scrape, re.M))) for name in (
            "davit_spent_dollars_total", "davit_owner_spent_dollars_total", "davit_idle_spent_dollars_total"))
        assert abs(spent - owners - idle) < 1e-6 and spent > 0
