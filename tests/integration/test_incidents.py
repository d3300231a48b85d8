"""Three in the morning: what somebody must know stands in the first three lines of one command.

Each is an incident that somebody had to find out about with two commands or more, or not at all.
"""
import json
import re
import resource
import subprocess

import pytest

from lib import DAVIT, simcloud
from lib.daemon import Daemon
from test_after_faults import fill_up, room
from test_held import meet
from test_loop import T4, faults

CONFIG = """
cluster: night
api: {listen: "127.0.0.1:{port}"%s}
state: "{dir}/davit.db"
limits: {max_nodes: 20, idle_timeout: %s, start_timeout: 10s, think: 0}
providers:
  sim: {state: "{dir}/cloud.json", boot: 300ms, terminate: 200ms}
node_types:
  cpu: {provider: sim, resources: {CPU: 4, memory: 16Gi}, price: 0.2, max: 8}
  t4: {provider: sim, resources: {CPU: 8, memory: 30Gi, GPU: 1}, accelerator_type: T4, price: 0.7, max: %d, zones: [a]%s}
"""


def night(idle="1h", most=4, api="", more=""):
    return CONFIG % (api, idle, most, more)


def first(d, *args, expect=0):
    """The first three lines of a command."""
    lines = d.cli(*args, expect=expect).splitlines()[:3]
    return "\n".join(lines)


def says(text, *words):
    for word in words:
        assert word in text, f"{word!r} is not in the first three lines:\n{text}"


def no_screen_says_that_all_is_well(d):
    """Status, top, the page, /readyz and the metrics: each names a problem."""
    for args in (["status"], ["top", "--once"]):
        says(first(d, *args), "problem")
    assert d.get("/readyz")[1]["problems"] and d.get("/v1/overview")[1]["problems"]
    figures = dict(re.findall(r"^(davit_ready|davit_config_held|davit_journal_ok) (\d)$", d.exchange("GET", "/metrics").text, re.M))
    stops = re.findall(r"^davit_stops\{.*\} [1-9]", d.exchange("GET", "/metrics").text, re.M)
    assert stops or figures["davit_ready"] == "0" or figures["davit_config_held"] == "1" or figures["davit_journal_ok"] == "0", figures


def ask(d, owner, n, bundle=T4):
    return d.post({"owner": owner, "bundles": [{**bundle, "count": n}] if n else []})


def test_a_request_waits_since_an_hour(tmp_path):
    with Daemon(tmp_path, night(most=1)) as d:
        ask(d, "train", 2)
        d.until(lambda: d.ready("t4") == 1)
        since = d.get("/v1/why/train")[1]["owner"]["demands"][0]["since_at"]
        d.clocks.ahead(3600 * 1000)
        d.looks()
        for command in (["why", "train"], ["status"]):
            says(first(d, *command), "1 of 2", "waiting since " + since[11:19], "t4 is at its max of 1")


def test_the_bill_doubled(tmp_path):
    with Daemon(tmp_path, night()) as d:
        ask(d, "ann", 1)
        d.until(lambda: d.ready("t4") == 1)
        d.clocks.ahead(2 * 3600 * 1000)
        d.looks()
        ask(d, "bob", 2)
        d.until(lambda: d.ready("t4") == 3)
        says(first(d, "cost", "--why", "--since", "1h"), "$2.10/h now, $0.70/h", "+$1.40/h by bob")


@pytest.mark.parametrize("kept, words", [
    ("never", ["and its idle_timeout never ends"]),
    ("protected", ["a user protected it"]),
    ("min", ["needed for the node type's min"]),
])
def test_a_node_is_idle_and_is_not_ended(tmp_path, kept, words):
    text = night(idle="never" if kept == "never" else "1s" if kept == "min" else "1h", more=", min: 1" if kept == "min" else "")
    with Daemon(tmp_path, text) as d:
        ask(d, "ann", 1)
        d.until(lambda: d.ready("t4") == 1)
        name = d.nodes("t4")[0]["id"]
        if kept == "protected":
            d.cli("protect", name)
        ask(d, "ann", 0)
        d.later(2)
        d.until(lambda: d.nodes("t4")[0]["use"] == "idle")
        shown = first(d, "why", name)
        says(shown, "is ready", *words)
        assert "may be ended" not in shown, shown
        assert d.ready("t4") == 1
        assert name in d.cli("nodes", "--state", "idle") and words[0] in d.cli("nodes", "--state", "idle")
        assert name not in d.cli("nodes", "--state", "held")


def test_an_end_that_the_cloud_refuses(tmp_path):
    """The cloud's own words, not that it is draining."""
    with Daemon(tmp_path, night(idle="1s")) as d:
        ask(d, "ann", 1)
        d.until(lambda: d.ready("t4") == 1)
        name = d.nodes("t4")[0]["id"]
        faults(d, down=["terminate"])
        ask(d, "ann", 0)
        d.until(lambda: d.nodes("t4")[0]["state"] == "stopping")
        d.later(60)
        says(first(d, "why", name), "stopping", "Its cloud refused to end it at", "(RETRY)")
        says(first(d, "status"), "1 problem", "to be ended and still there")


def test_boots_fail_in_a_circle(tmp_path):
    with Daemon(tmp_path, night()) as d:
        faults(d, fail=4)
        ask(d, "train", 1)
        d.until(lambda: len(d.events("node.failed")) >= 2 or d.clocks.ahead(2000))
        d.until(lambda: any(s["kind"] == "offer_of_no_use" for s in d.status()["stops"]))
        says(first(d, "status"), "problem", "machines of t4 in a row were of no use", "train")
        says(first(d, "why", "train"), "t4", "the next try is at")


def test_machines_vanish(tmp_path):
    with Daemon(tmp_path, night()) as d:
        ask(d, "train", 1)
        for turn in range(3):
            d.until(lambda: d.ready("t4") == 1)
            if turn < 2:
                with simcloud.changed(d.dir / "cloud.json") as c:
                    c["machines"].clear()
                d.until(lambda turn=turn: len(d.events("node.lost")) == turn + 1)
                d.later(45)
        says(first(d, "status"), "problem", "of t4 in a row were of no use")
        says(first(d, "top", "--once"), "problem", "of t4 in a row were of no use")
        assert d.status()["ready"]
        no_screen_says_that_all_is_well(d)


def token(file, name, *rights):
    p = subprocess.run([DAVIT, "token", "new", name, *rights, "--file", file], capture_output=True, text=True)
    assert p.returncode == 0, p.stderr
    return p.stdout.strip()


def test_somebody_cleared_my_request(tmp_path):
    """By the owner's own right, which reads nothing of another owner."""
    file = str(tmp_path / "tokens")
    ops, ann = token(file, "ops", "admin"), token(file, "ann", "request:ann-*")
    with Daemon(tmp_path, night(api=f', tokens: "{file}"'), start=False) as d:
        d.headers = {"Authorization": "Bearer " + ops}
        d.start()
        d.env["DAVIT_TOKEN"] = ann
        ask(d, "ann-1", 1)
        ask(d, "bob-1", 1)
        d.until(lambda: d.ready("t4") == 2)
        assert "It was changed" not in d.cli("why", "ann-1")
        d.call("POST", "/v1/request_resources", {"owner": "ann-1", "bundles": [{"CPU": 1}]}, {"Authorization": "Bearer " + ann})
        d.call("POST", "/v1/request_resources", {"owner": "ann-1", "bundles": [{"CPU": 2}]})
        d.until(lambda: "by ops (token); ann (token) had asked for it" in d.cli("why", "ann-1"))
        for owner in ("ann-1", "bob-1"):
            d.call("DELETE", f"/v1/request_resources/{owner}")
        says(first(d, "why", "ann-1"), "ann-1 asks for nothing now", "it was cleared by ops (token)")
        says(d.cli("events", "--kind", "request.cleared"), "ann-1", "by ops (token)")
        d.cli("why", "bob-1", expect=5)
        assert "bob" not in d.cli("events")


def test_a_configuration_is_held(tmp_path):
    with Daemon(tmp_path, night(most=8)) as d:
        ask(d, "train", 8)
        d.until(lambda: d.ready("t4") == 8)
        d.write(night(most=1))
        d.call("POST", "/v1/reload")
        d.until(lambda: d.status()["config"]["held"])
        says(first(d, "status"), "1 problem", "the newest configuration was held", "davit apply")
        no_screen_says_that_all_is_well(d)
        d.stays(lambda: d.ready("t4") == 8, 3)
        d.stop()
        d.start()
        d.until(lambda: d.status()["config"]["held"] and d.status()["ready"])
        says(first(d, "status"), "problem", "would end 7 machines", "davit apply")
        d.stays(lambda: d.ready("t4") == 8, 3)


def test_a_quota_is_used_up(tmp_path):
    with Daemon(tmp_path, night()) as d:
        faults(d, quota={"T4": 2})
        ask(d, "train", 4)
        d.until(lambda: d.ready("t4") == 2)
        for command in (["why", "train"], ["status"]):
            d.until(lambda command=command: "quota" in first(d, *command), why=lambda: d.cli("status"))
            says(first(d, *command), "the quota of 2 T4 is used up")


def test_a_wrong_accelerator_name(tmp_path):
    with Daemon(tmp_path, night()) as d:
        ask(d, "train", 1, {"GPU": 1, "accelerator_type": "T44"})
        for command in (["why", "train"], ["status"]):
            says(first(d, *command), "can never be placed", "did you mean T4?")
        ask(d, "eval", 1, {"GPU": 1, "accelerator_type": "H100"})  # a product of its own
        assert "did you mean" not in d.cli("why", "eval")
    (tmp_path / "typo.yaml").write_text((tmp_path / "davit.yaml").read_text().replace("accelerator_type: T4", "accelerator_type: T-4"))
    p = subprocess.run([DAVIT, "validate", tmp_path / "typo.yaml"], capture_output=True, text=True)
    says("\n".join((p.stderr + p.stdout).splitlines()[:3]), "accelerator_type T-4", "did you mean T4?")


def test_two_daemons_of_one_name(tmp_path):
    """Whichever is asked: another one is there."""
    (tmp_path / "second").mkdir()
    with Daemon(tmp_path, night()) as d:
        ask(d, "ann", 2)
        d.until(lambda: d.ready("t4") == 2)
        other_text = night().replace("{dir}/cloud.json", str(tmp_path / "cloud.json"))
        with Daemon(tmp_path / "second", other_text) as other:
            other.until(lambda: len(other.nodes()) == 2)
            meet(d, other)  # the second has launched nothing
            for one in (d, other):
                says(first(one, "status"), "problem", "another daemon of cluster night is at work")
                says(first(one, "top", "--once"), "problem", "another daemon of cluster night is at work")
                no_screen_says_that_all_is_well(one)


def test_the_disk_is_full(tmp_path):
    with Daemon(tmp_path, night()) as d:
        ask(d, "train", 1)
        d.until(lambda: d.ready("t4") == 1)
        fill_up(d)
        d.until(lambda: not d.status()["ready"])
        says(first(d, "status"), "not ready", "the journal cannot be written", "davit.db")
        no_screen_says_that_all_is_well(d)
        shown = json.dumps(d.get("/readyz")[1]["problems"])
        assert "davit.db" in shown and "satisfied" not in first(d, "status")
        room(d, resource.RLIM_INFINITY)
        d.until(lambda: d.get("/readyz")[0] == 200)
