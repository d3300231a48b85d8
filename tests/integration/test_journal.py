"""The journal between versions: what this one does not know is kept and told, and stops nothing."""
import json
import sqlite3

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
    assert "dancing" in (row["state"], *row["words"].split("=")), dict(row)
    assert journal(d).execute("select body from request").fetchall()[0]["body"] == new

    # Its owner has the last word.
    d.start(wait="/readyz")
    d.post({"owner": "you", "bundles": [{"CPU": 1}]})
    assert d.get("/v1/request_resources/you")[1]["request"]["bundles"]
    assert "davit_journal_unread_rows 2" in d.get("/metrics")[1]
