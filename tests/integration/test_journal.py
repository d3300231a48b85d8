"""The journal between versions, and in a person's hands: check, export, forget, backup, restore."""
import json
import sqlite3
import subprocess

from lib import DAVIT, PATIENCE

T4 = {"GPU": 1, "accelerator_type": "T4"}


def journal(d):
    db = sqlite3.connect(d.dir / "davit.db", isolation_level=None)
    db.row_factory = sqlite3.Row
    return db


def test_words_of_a_later_version_are_kept_and_told(daemon):
    d = daemon
    d.post({"owner": "me", "bundles": [T4]})
    d.post({"owner": "you", "bundles": [{"CPU": 1}]})
    d.until(lambda: d.ready("t4") == 1)
    d.kill()
    new = '{"bundles":[{"resources":{"GPU":1}}],"moonlight":true}'
    with journal(d) as db:
        db.execute("update machine set why = 'tides', state = 'dancing'")
        db.execute("update request set body = ? where owner = 'you'", (new,))
    d.start(wait="/readyz")  # it neither ends nor waits

    assert {e["subject"] for e in d.events("journal.unread")} == {d.nodes("t4")[0]["id"]}
    assert [e["subject"] for e in d.events("request.unread")] == ["you"]
    problem, = d.get("/readyz")[1]["problems"]
    assert problem.startswith("3 rows of the journal are not understood") and "dancing" in problem
    assert "davit_journal_unread_rows 3" in d.get("/metrics")[1]
    you = d.get("/v1/request_resources/you")[1]
    assert (you["satisfied"], you["feasible"], you["request"]) == (False, False, None), you
    assert "moonlight" in you["text"]

    # The machine goes on with its work, and is not ended while nobody knows what it is meant to be.
    d.write(d.path.read_text().replace("idle_timeout: 60s", "idle_timeout: 0"))
    d.until(lambda: d.events("config.loaded"))
    assert d.call("DELETE", "/v1/request_resources/me")[0] == 200
    d.stays(lambda: d.ready("t4") == 1, 2)
    assert "protected" in json.dumps(d.nodes("t4")[0]), d.nodes("t4")
    d.kill()
    row = journal(d).execute("select state, words from machine").fetchone()
    assert "dancing" in (row["state"], *row["words"].replace(" ", "=").split("=")), dict(row)
    assert journal(d).execute("select body from request").fetchall()[0]["body"] == new

    # Its owner has the last word.
    d.start(wait="/readyz")
    d.post({"owner": "you", "bundles": [{"CPU": 1}]})
    assert d.get("/v1/request_resources/you")[1]["request"]["bundles"]
    assert "davit_journal_unread_rows 2" in d.get("/metrics")[1]


# ---- davit journal

def tool(d, *args, expect=0):
    """davit journal ARGS where the daemon runs; what it printed, on either side."""
    p = subprocess.run([DAVIT, "journal", *args], cwd=d.dir, env=d.env, capture_output=True, text=True, timeout=PATIENCE)
    assert p.returncode == expect, (p.returncode, p.stdout, p.stderr)
    return p.stdout + p.stderr


def test_check_looks_while_the_daemon_runs(daemon):
    d = daemon
    d.post({"owner": "me", "bundles": [T4]})
    d.until(lambda: d.ready("t4") == 1)
    text = tool(d, "check")
    assert "ok   every page is whole" in text and "1 machines, 1 ready" in text and "1 requests" in text
    assert tool(d, "check", str(d.dir / "davit.db")) == text
    d.stop()
    with journal(d) as db:
        db.execute("update machine set provider = 'gone', why = 'tides'")
        db.execute("update request set body = 'no json'")
    found = json.loads(tool(d, "check", "--json"))
    odd = [f["text"] for f in found["findings"] if f["is"] == "odd"]
    assert (found["whole"], found["bad"], found["odd"], len(odd)) == (True, 0, 3, 3)
    assert "why \"tides\"" in odd[0] and "request of \"me\"" in odd[1] and "provider \"gone\"" in odd[2], odd


def test_a_damaged_journal_stops_the_start_and_a_backup_goes_on(daemon):
    d = daemon
    d.post({"owner": "me", "bundles": [T4]})
    d.until(lambda: d.ready("t4") == 1)
    tool(d, "backup", "kept.db")
    assert "is there already" in tool(d, "backup", "kept.db", expect=3)
    d.stop()
    path = d.dir / "davit.db"
    bytes_ = bytearray(path.read_bytes())
    assert len(bytes_) > 8 * 4096
    for page in range(4, len(bytes_) // 4096):
        bytes_[page * 4096:page * 4096 + 60] = b"Z" * 60
    path.write_bytes(bytes_)
    assert "bad " in tool(d, "check", expect=1)
    p = subprocess.run([DAVIT, "run"], cwd=d.dir, env=d.env, capture_output=True, text=True, timeout=PATIENCE)
    assert p.returncode == 3 and "the file is damaged" in p.stderr and "davit journal restore" in p.stderr, p.stderr
    assert path.read_bytes() == bytes_  # left as it was

    said = tool(d, "restore", "kept.db")
    assert "1 machines, 1 requests" in said and "davit.db.before-1" in said
    assert (d.dir / "davit.db.before-1").read_bytes() == bytes_
    d.start(wait="/readyz")
    assert d.ready("t4") == 1
    assert d.get("/v1/request_resources/me")[1]["satisfied"]
    assert len(d.events("journal.restored")) == 1


def test_a_restored_journal_is_older_than_the_world(daemon):
    """Launched since: found and adopted. Ended since: missed. Requested since: lost, and said."""
    d = daemon
    d.post({"owner": "old", "bundles": [T4]})
    d.until(lambda: d.ready("t4") == 1)
    early = d.nodes("t4")[0]["id"]
    tool(d, "backup", "kept.db")  # the daemon runs
    d.post({"owner": "new", "bundles": [{"GPU": 1, "accelerator_type": "K80"}]})
    d.until(lambda: d.ready("k80") == 1)
    late = d.nodes("k80")[0]["cloud_id"]
    d.call("DELETE", "/v1/request_resources/old")
    d.write(d.path.read_text().replace("idle_timeout: 60s", "idle_timeout: 0"))
    d.until(lambda: not d.nodes("t4"))
    last = d.events()[-1]["id"]
    d.write(d.path.read_text().replace("idle_timeout: 0", "idle_timeout: 60s"))
    d.stop()

    said = tool(d, "restore", "kept.db")
    assert "1 machines, 1 requests" in said and "is lost: owners must ask again" in said
    d.start(wait="/readyz")
    restored, = d.events("journal.restored")
    assert restored["id"] > last and "requested since then is lost" in restored["text"]
    assert d.get("/v1/request_resources/new")[0] == 404
    d.until(lambda: [n["cloud_id"] for n in d.nodes("k80", "ready")] == [late], why="the machine launched since is not found")
    d.until(lambda: d.events("node.gone") and early not in [n["id"] for n in d.nodes()], why="the ended one stays")
    d.until(lambda: d.get("/v1/request_resources/old")[1]["satisfied"], why="what was asked for before is not served")
    assert json.loads(tool(d, "export"))["requests"][0]["owner"] == "old"


def test_forget_takes_rows_out_only_when_no_daemon_has_them(daemon):
    d = daemon
    d.post({"owner": "me", "bundles": [T4]})
    d.until(lambda: d.ready("t4") == 1)
    name, cloud = (d.nodes("t4")[0][k] for k in ("id", "cloud_id"))
    assert "another davit uses it" in tool(d, "forget", name, expect=5)
    assert "another davit uses it" in tool(d, "restore", "davit.yaml", expect=5)
    d.stop()
    with journal(d) as db:
        db.execute("update machine set launch_count = -1")  # no daemon reads this row
    assert "1 forgotten" in tool(d, "forget", name, "nobody", expect=1)
    assert "1 forgotten" in tool(d, "forget", "--request", "me")
    out = json.loads(tool(d, "export"))
    assert (out["machines"], out["requests"]) == ([], [])
    assert [e["subject"] for e in out["events"] if e["kind"] == "journal.forgotten"] == [name, "me"]
    d.start(wait="/readyz")
    d.until(lambda: [n["cloud_id"] for n in d.nodes("t4", "ready")] == [cloud], why="it still runs, and is found by its marks")


def test_export_is_all_of_it_under_stable_names(daemon):
    d = daemon
    d.post({"owner": "me", "bundles": [T4], "ttl": "1h"})
    d.until(lambda: d.ready("t4") == 1)
    d.call("POST", f"/v1/nodes/{d.nodes('t4')[0]['id']}/protect")
    out = json.loads(tool(d, "export"))
    assert sorted(out) == ["boots", "davit_journal", "events", "exported_ms", "machines", "requests"]
    m, = out["machines"]
    names = {"address", "adopted", "cloud_id", "config_hash", "created_ms", "detail", "drain_accepted", "drain_since_ms",
             "failure", "held", "hold_until_ms", "id", "launch_count", "needed_ms", "previous", "price_micros_hour", "progress_ms",
             "protected", "provider", "ray_id", "ready_ms", "reason", "request_id", "seen_ms", "since_ms", "spot", "state",
             "type", "zone"}
    assert names <= set(m) and not {"seq", "words", "shielded", "holds", "why"} & set(m), m
    assert (m["state"], m["reason"], m["failure"], m["protected"], m["spot"]) == ("ready", "request", "OK", True, False)
    r, = out["requests"]
    assert (r["owner"], r["request"]["bundles"][0]["count"]) == ("me", 1)
    assert abs(r["expires_ms"] - r["created_ms"] - 3600000) < 1000
    assert out["boots"][0]["type"] == "t4" and out["boots"][0]["machines"] == 1
    assert [e["kind"] for e in out["events"]][0] == "daemon.started"


def test_wrong_words_are_told(daemon):
    d = daemon
    assert "usage: davit journal" in tool(d, expect=2)
    assert "there is no \"chek\"" in tool(d, "chek", expect=2)
    assert "FILE is missing" in tool(d, "backup", expect=2)
    assert "which machines" in tool(d, "forget", expect=2)
    assert "no.db" in tool(d, "check", "no.db", expect=3)
    (d.dir / "notes").write_text("these are notes\n" * 500)
    assert "damaged or no journal" in tool(d, "check", "notes", expect=3)
    assert "damaged or no journal" in tool(d, "--journal", "x", expect=2) + tool(d, "restore", "notes", "--journal", "x.db", expect=3)
    (d.dir / "ha.yaml").write_text("cluster: c\nstate: kubernetes\nnode_types: {t: {resources: {CPU: 1}, max: 1}}\n")
    assert "kubectl get configmaps" in tool(d, "check", "--config", "ha.yaml", expect=3)
