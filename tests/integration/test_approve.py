"""What is held, and what a request would buy, is shown before anything is done: davit approve, davit request --dry-run."""
import json
import os
import sqlite3
import subprocess

from lib import DAVIT, PATIENCE, simcloud
from lib.daemon import Daemon
from test_held import ask, lose_journal, many, started
from test_loop import cloud, faults


def test_a_configuration_shows_its_lines_its_machines_and_its_dollars(tmp_path):
    with started(tmp_path, 7, many(8)) as d:
        d.write(many(2))
        d.call("POST", "/v1/reload")
        d.until(lambda: d.status()["config"]["held"])
        shown = d.cli("approve", "config", expect=1)
        assert "it changes node_types.t4.max from 8 to 2" in shown and "5 machines, $3.50/h in all, would be ended" in shown, shown
        ends = d.status()["config"]["ends"]
        assert len(ends) == 5 and all(name in shown for name in ends), (ends, shown)
        assert "asked for by default" in shown and d.ready("t4") == 7
        d.cli("approve", "config", "--yes")
        d.until(lambda: [n["state"] for n in d.nodes()] == ["ready"] * 2)  # by one reading
        assert not set(ends) & {n["id"] for n in d.nodes()}, "others went than it said"
        assert "no configuration is held" in d.cli("approve", "config", expect=1)
        assert d.status()["config"]["ends"] == []


def test_a_start_on_another_file_shows_its_machines(tmp_path):
    with started(tmp_path, 7, many(8)) as d:
        d.stop()
        d.write(many(2))
        d.start()
        d.until(lambda: d.status()["config"]["held"])
        shown = d.cli("approve", "config", expect=1)
        assert "5 machines, $3.50/h in all, would be ended" in shown, shown
        d.cli("approve", "config", "--yes")
        d.until(lambda: len(d.nodes()) == 2)


def test_ends_that_are_held_are_shown(tmp_path):
    """The brake holds what a start would end, of which nothing says that the file is another."""
    with started(tmp_path, 6, many(8)) as d:
        d.stop()
        with sqlite3.connect(tmp_path / "davit.db") as db:
            assert db.execute("delete from value where key = 'config/digest'").rowcount == 1
        db.close()
        d.write(many(2))
        d.start()
        d.until(lambda: d.events("ends.held") and len(d.nodes()) == 5)
        d.until(lambda: [s for s in d.status()["stops"] if s["kind"] == "ends_held"])
        shown = d.cli("approve", "ends", expect=1)
        assert "3 machines, $2.10/h in all, would be ended" in shown, shown
        named = {n["id"] for n in d.nodes() if n["id"] in shown}
        assert len(named) == 3
        d.cli("approve", "ends", "--yes")
        d.until(lambda: len(d.nodes()) == 2)
        assert not named & {n["id"] for n in d.nodes()}, "others went than it said"


def test_nothing_is_held(tmp_path):
    with Daemon(tmp_path, many(4)) as d:
        d.until(lambda: d.answers("/readyz"))
        for what in ("config", "ends", "machines"):
            d.cli("approve", what, expect=1)
        assert "did you mean" in d.cli("approve", "machine", expect=2, stream="stderr")


def test_a_dry_run_buys_nothing_and_says_what_would_be(tmp_path):
    types = many(2) + "  v100: {provider: east, resources: {CPU: 8, GPU: 1}, accelerator_type: V100, price: 2.5, max: 4, boot: 90s}\n" \
        "  cpu: {provider: east, resources: {CPU: 8}, price: 0.1, max: 4}\n"
    with Daemon(tmp_path, types) as d:
        d.until(lambda: d.answers("/readyz"))
        shown = d.cli("request", "--dry-run", "GPU=1*3")
        lines = [line.split() for line in shown.splitlines() if line.startswith("  ")]
        rows = {line[1 if line[0].isdigit() else 0]: line for line in lines[1:]}
        assert rows["t4"][0] == "2" and rows["v100"][0] == "1" and "1m30s" in rows["v100"], shown
        assert "cpu lacks GPU (1 needed, 0 there)" in shown and "nothing was asked for" in shown, shown
        assert not d.nodes() and not d.status()["requests"] and not d.events("request.set")
        reply = json.loads(d.cli("request", "--dry-run", "--json", "GPU=1*3"))
        would = {c["type"]: c["nodes"] for c in reply["candidates"]}
        assert would == {"t4": 2, "v100": 1, "cpu": 0}, would
        d.cli("request", "--dry-run", "--yes", "GPU=1*3")
        d.until(lambda: len(d.nodes(state="ready")) == 3)
        assert {k: len(d.nodes(k)) for k in would} == would, "it bought something else than it said"
        again = d.cli("request", "--dry-run", "--owner", "other", "GPU=1,accelerator_type=T4")
        assert "t4 is at its max of 2" in again, again
        d.cli("request", "--dry-run", "GPU=9", expect=1)


def test_a_dry_run_says_what_its_cloud_refused(tmp_path):
    with Daemon(tmp_path, many(2)) as d:
        faults(d, stockout=["t4"])
        ask(d, 1)
        d.until(lambda: d.events("offer.backoff"))
        shown = d.cli("request", "--owner", "other", "--dry-run", "GPU=1")
        assert "(STOCKOUT); the next try is at" in shown, shown


def test_a_dry_run_says_what_the_plan_refused(tmp_path):
    """Of an offer that would hold what waits: the plan's own reason, and not that what is there does it."""
    with Daemon(tmp_path, many(8).replace("limits: {", "limits: {max_cost_per_hour: 1, ")) as d:
        ask(d, 1)
        d.until(lambda: d.ready("t4") == 1)
        reply = json.loads(d.cli("request", "--owner", "other", "--dry-run", "--json", "GPU=1*2"))
        row, = reply["candidates"]
        assert reply["request"]["waiting"] == 2 and "would exceed limits.max_cost_per_hour" in row["why_not"], reply


def test_what_a_quota_of_nothing_refuses_is_said(tmp_path):
    """Each type that fits is refused by the plan: its reason, and not that the type could hold it."""
    with Daemon(tmp_path, many(2) + "queues: {q: {node_types: [t4], quota: {gpus: 0}}}\n") as d:
        d.until(lambda: d.answers("/readyz"))
        said = d.cli("request", "--queue", "q", "GPU=1", expect=1)
        assert "can never be placed (1 GPU): nearest t4: the queue q is full: uses 0 of 0 GPU" in said, said


def test_a_dry_run_refuses_what_the_request_would_be_refused_for(tmp_path):
    """A queue that is not there, or not for that owner: the same words as without --dry-run."""
    with Daemon(tmp_path, many(2) + "queues: {q: {node_types: [t4], owners: [ci-*]}}\n") as d:
        d.until(lambda: d.answers("/readyz"))
        for owner, queue in (("me", "q"), ("ci-1", "p")):
            words = ["--owner", owner, "--queue", queue, "GPU=1"]
            said = d.cli("request", *words, expect=3, stream="stderr")
            assert d.cli("request", "--dry-run", *words, expect=3, stream="stderr") == said and "queue" in said, said
        assert "1 new node" in d.cli("request", "--dry-run", "--owner", "ci-1", "--queue", "q", "GPU=1")


def test_what_cannot_be_taken_back_is_said_to_be_so(tmp_path):
    with started(tmp_path, 1, many(2).replace("terminate: 200ms", "terminate: 600s").replace("idle_timeout: 2s", "idle_timeout: 10m")) as d:
        name, = (n["id"] for n in d.nodes())
        d.cli("cordon", name)
        assert "is used again" in d.cli("uncordon", name)
        d.cli("drain", name)
        d.until(lambda: [m for m in cloud(d).values() if m.get("gone_ms")])
        said = d.cli("uncordon", name)
        assert "ended all the same" in said and "used again" not in said, said


# ---- what is done is what was shown

def shown_of(d):
    """What `davit approve config` sends back of what it shows."""
    status = d.status()
    return {"config": status["held"]["config"], "machines": status["config"]["ends"]}


def refused(d, path, shown):
    code, reply = d.call("POST", path, shown)
    assert code == 409 and reply["error"]["status"] == "CONFLICT" and "look again" in reply["error"]["text"], (code, reply)
    return reply["error"]["text"]


def asked_on_a_terminal(d, *words):
    """Starts the command on a terminal of its own, and waits for its question: (process, terminal)."""
    ours, theirs = os.openpty()
    p = subprocess.Popen([DAVIT, *words], stdin=theirs, stdout=theirs, stderr=theirs, env=dict(d.env, DAVIT_URL=d.url))
    os.close(theirs)
    seen = b""
    while b"[y/N]" not in seen:
        seen += os.read(ours, 4096)
    return p, ours


def answered(p, terminal, text):
    """Its exit code, and what it printed after the answer."""
    seen = b""
    os.write(terminal, text)
    try:
        while part := os.read(terminal, 4096):
            seen += part
    except OSError:
        pass  # Linux' end of a terminal
    os.close(terminal)
    return p.wait(PATIENCE), seen.decode()


def test_a_file_that_was_saved_between_the_question_and_the_answer_is_not_taken_over(tmp_path):
    with started(tmp_path, 7, many(8)) as d:
        d.write(many(3))
        d.until(lambda: d.status()["config"]["held"])
        first = d.status()["held"]["config"]
        p, terminal = asked_on_a_terminal(d, "approve", "config")
        d.write(many(1))
        d.until(lambda: d.status()["held"]["config"] not in ("", first))
        code, said = answered(p, terminal, b"y\n")
        assert code == 5 and "has changed since" in said and "look again" in said, (code, said)
        assert d.ready("t4") == 7 and d.status()["config"]["held"] and not d.events("config.approved")
        d.cli("approve", "config", "--yes")
        d.until(lambda: len(d.nodes()) == 1)


def test_a_file_that_is_saved_and_not_read_yet_is_not_taken_over(tmp_path):
    """The digest is that of what is held; the file at the path is another one by the time that it is read."""
    with started(tmp_path, 7, many(8)) as d:
        d.write(many(3))
        d.until(lambda: d.status()["config"]["held"])
        shown = shown_of(d)
        d.write(many(1))
        refused(d, "/v1/apply", shown)
        assert d.ready("t4") == 7
        d.until(lambda: len(d.status()["config"]["ends"]) == 6)
        assert d.call("POST", "/v1/apply", shown_of(d))[0] == 200
        d.until(lambda: len(d.nodes()) == 1)


def test_a_file_that_would_end_others_by_now_is_shown_again(tmp_path):
    with started(tmp_path, 5, many(8)) as d:
        d.write(many(2))
        d.until(lambda: d.status()["config"]["held"])
        shown = shown_of(d)
        assert len(shown["machines"]) == 3
        ask(d, 8)
        d.until(lambda: d.ready("t4") == 8)
        text = refused(d, "/v1/apply", shown)
        assert "would end 6 machines" in text, text
        assert len(d.nodes(state="ready")) == 8
        again = shown_of(d)
        assert again["config"] == shown["config"] and len(again["machines"]) == 6
        assert d.call("POST", "/v1/apply", again)[0] == 200
        d.until(lambda: len(d.nodes()) == 2)
        assert not set(again["machines"]) & {n["id"] for n in d.nodes()}, "others went than it said"
        assert d.call("POST", "/v1/apply", again)[0] == 404


def test_ends_and_lists_are_released_as_they_were_shown(tmp_path):
    with started(tmp_path, 6, many(8)) as d:
        d.stop()
        with sqlite3.connect(tmp_path / "davit.db") as db:
            assert db.execute("delete from value where key = 'config/digest'").rowcount == 1
        db.close()
        d.write(many(2))
        d.start()
        d.until(lambda: len(d.status()["held"]["ends"]) == 3 and len(d.nodes()) == 5)
        held = d.status()["held"]["ends"]
        assert "the end of " + held[2] in refused(d, "/v1/release", {"machines": held[:2]})
        assert len(d.nodes(state="ready")) == 5 and not d.events("ends.released")
        with simcloud.changed(d.dir / "cloud.json") as c:
            c["faults"] = {"hidden": [m["id"] for m in c["machines"]][1:]}
        d.until(lambda: d.status()["held"]["lists"] == ["east"])
        assert "short list of provider east" in refused(d, "/v1/release", {"machines": held})
        assert d.call("POST", "/v1/release", {"machines": held, "providers": ["east"]})[0] == 200
        d.until(lambda: not d.status()["held"]["lists"] and not d.status()["held"]["ends"])


def test_machines_are_adopted_as_they_were_shown(tmp_path):
    with started(tmp_path, 3, many(4)) as d:
        d.stop()
        lose_journal(d)
        d.start(wait="/readyz")
        d.until(lambda: len([n for n in d.nodes() if n["launched_by"]]) == 3)
        names = [n["id"] for n in d.nodes()]
        assert names[2] in refused(d, "/v1/adopt", {"machines": names[:2]})
        assert len([n for n in d.nodes() if n["launched_by"]]) == 3
        assert d.call("POST", "/v1/adopt", {"machines": names})[1]["count"] == 3


def test_what_was_shown_is_read_strictly(tmp_path):
    with Daemon(tmp_path, many(4)) as d:
        for body in ("[]", "{", '{"machine": []}', '{"machines": "a"}', '{"machines": [1]}', '{"config": 7}'):
            for path in ("/v1/apply", "/v1/release", "/v1/adopt"):
                assert d.call("POST", path, body)[0] == 400, (path, body)
        for path in ("/v1/apply", "/v1/release", "/v1/adopt"):
            assert d.call("POST", path, {})[0] == d.call("POST", path)[0] == 404
