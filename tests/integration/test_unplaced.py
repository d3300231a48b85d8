"""Events of demand that waits carry the reason as a code."""
import pathlib
import re

from lib import ROOT
from lib.daemon import Daemon
from test_loop import T4, config

CODES = set(re.findall(r"^ +X\(\w+, \"(\w+)\"", (pathlib.Path(ROOT) / "autoscaler/model/reason.h").read_text(), re.M))
STATUS = {"", "RETRY", "THROTTLED", "STOCKOUT", "QUOTA", "AUTH", "INVALID", "BROKEN", "NOT_FOUND", "CANCELLED", "UNSUPPORTED"}


def told(d, owner):
    return [(e["kind"], e["reason"]) for e in d.events() if e["kind"].startswith("demand.") and e["subject"] == owner]


def test_who_waits_is_told_once_with_the_code(tmp_path):
    with Daemon(tmp_path, config()) as d:
        d.post({"owner": "fits", "bundles": [{"CPU": 1}]})
        d.post({"owner": "many", "bundles": [{**T4, "count": 6}]})
        d.post({"owner": "huge", "bundles": [{"GPU": 64}]})
        d.until(lambda: told(d, "many") and told(d, "huge"))
        assert told(d, "many") == [("demand.waits", "max_of_type")]
        assert told(d, "huge") == [("demand.infeasible", "lacks_resource")]
        text = [e["text"] for e in d.events("demand.waits") if e["subject"] == "many"]
        assert text[0].startswith("2 bundles: ") and "t4 is at its max of 4" in text[0], text
        d.post({"owner": "many", "bundles": [{**T4, "count": 4}]})
        d.until(lambda: told(d, "many")[-1:] == [("demand.placed", "")])
        # what flickers is not told again within a minute
        d.post({"owner": "many", "bundles": [{**T4, "count": 6}]})
        d.later(3)
        assert len(told(d, "many")) == 2 and len(told(d, "huge")) == 1 and not told(d, "fits")


def test_every_reason_of_an_event_is_a_code(tmp_path):
    with Daemon(tmp_path, config("stockout: [t4@a], fail: {nth: [2]}")) as d:
        d.post({"owner": "a", "bundles": [{**T4, "count": 5}, {"GPU": 8}, {"CPU": 40}]})
        d.until(lambda: {k for k, _ in told(d, "a")} >= {"demand.waits", "demand.infeasible"})
        d.post({"owner": "a", "bundles": []})
        d.until(lambda: d.events("node.gone"))
        reasons = {e["reason"] for e in d.events()}
        assert reasons <= CODES | STATUS and len(CODES) > 40, reasons - CODES
