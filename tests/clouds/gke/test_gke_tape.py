"""`davit run --record-http`, then `--replay-http` with no cloud behind it: the same machines, by the same names."""
import json

import pytest

from gke_rig import BUILD, environment
from gke_server import Cloud, Server
from test_gke_auth import key_file
from test_gke_daemon import A, B, CONFIG, T4
from lib.daemon import Daemon as Plain


def daemon_of(where, url, key, *args):
    where.mkdir()
    text = CONFIG % {"plugins": BUILD / "plugins", "url": url, "zones": f"{A}, {B}", "idle": "1s"}
    server = type("S", (), {"url": url})
    return Plain(where, text.replace("cluster: c1,", f'cluster: c1, credentials: "{key}",'), args, env=environment(server))


def story(d):
    """The T4 pool is out of stock in its first zone; two come in the second, and go again."""
    d.until(lambda: d.ready("cpu") == 1)
    d.post({"owner": "resnet", "bundles": [T4, T4]})
    d.until(lambda: d.ready("t4") == 2)
    assert {n["zone"] for n in d.nodes("t4")} == {B}
    seen = sorted((n["type"], n["zone"], n["cloud_id"]) for n in d.nodes())
    aside = {(x["type"], x["zone"], x["status"]) for x in d.status()["backoffs"]}
    d.post({"owner": "resnet", "bundles": []})
    d.until(lambda: not d.nodes("t4"))
    return seen, aside


@pytest.fixture
def recorded(tmp_path):
    """What was seen, and the server's cloud, which has gone."""
    cloud = Cloud()
    cloud.FAULTS = dict(Cloud.FAULTS, boot=0.3, op=0.1, apply=0.05, gone=0.2)
    cloud.heal()
    cloud.pool("gpu", [A, B], accelerator="nvidia-tesla-t4")
    cloud.pool("cpu", [A], machine="e2-standard-8", hash_="ffffeeee")
    cloud.stockout = [f"gpu@{A}"]
    with Server(cloud) as server:
        key = key_file(tmp_path / "key.json", server)
        with daemon_of(tmp_path / "first", server.url, key, "--record-http", str(tmp_path / "tape")) as d:
            seen = story(d)
            counted = d.status()["providers"][0]
            metrics = d.get("/metrics")[1]
            shown = d.cli("status")
            calls = len(cloud.log)
    # What the daemon counts is what the cloud saw, but for what was under way.
    assert abs(counted["http_most_a_minute"] - calls) < 20 < calls
    assert 'davit_provider_http_requests_total{provider="gke",method="POST",code="200"}' in metrics
    assert "cloud  gke: 1 machines, " in shown and "HTTP requests in the last minute" in shown
    return seen, server.url, key, cloud


def test_replayed_without_the_cloud(recorded, tmp_path):
    seen, url, key, cloud = recorded
    tape = tmp_path / "tape" / "gke.jsonl"
    assert tape.stat().st_mode & 0o777 == 0o600
    asked = len(cloud.log)
    with daemon_of(tmp_path / "again", url, key, "--replay-http", str(tmp_path / "tape")) as d:
        assert story(d) == seen
        d.stays(lambda: d.status()["providers"][0]["problem"] == "", 1)
        assert d.events("http.replayed") and "NotRecorded" not in d.text()
    assert len(cloud.log) == asked


def test_no_secret_is_on_disk(recorded, tmp_path):
    seen, url, key, cloud = recorded
    text = (tmp_path / "tape" / "gke.jsonl").read_text()
    pem = json.loads(key.read_text())["private_key"]
    secrets = list(cloud.tokens) + [g["assertion"] for g in cloud.grants] + pem.splitlines()[1:3] + ["PRIVATE KEY"]
    assert len(secrets) > 4
    for s in secrets:
        assert s not in text and (len(s) < 60 or s[10:40] not in text)
    lines = [json.loads(x) for x in text.splitlines()]
    grants = [x for x in lines if x.get("token")]
    assert grants and all("assertion=REMOVED" in x["request"]["body"] for x in grants)
    assert all(["Authorization", "REMOVED"] in x["request"]["headers"] for x in lines if not x.get("token"))
    launches = {x["launch"]["request_id"] for x in lines if "launch" in x}
    assert len(launches) >= 3 and any("createInstances" in x["request"]["url"] for x in lines)


def test_what_was_not_recorded_is_told(recorded, tmp_path):
    seen, url, key, cloud = recorded
    tape = tmp_path / "tape" / "gke.jsonl"
    lines = tape.read_text().splitlines()
    first = next(i for i, x in enumerate(lines) if "createInstances" in json.loads(x)["request"]["url"])
    kept = lines[:first]
    tape.write_text("\n".join(kept) + "\n")
    with daemon_of(tmp_path / "other", url, key, "--replay-http", str(tmp_path / "tape")) as d:
        d.until(lambda: [e for e in d.events("launch.failed") if "NotRecorded" in e["text"]])
        assert "not in the recording gke.jsonl: POST ..." in d.text() and "/createInstances" in d.text()


@pytest.mark.parametrize("what, says", [("", "there is nothing in it"), ("{]\n", ":1: not a recorded exchange"),
                                        (None, "No such file")])
def test_a_recording_that_is_none(tmp_path, what, says):
    (tmp_path / "tape").mkdir()
    if what is not None:
        (tmp_path / "tape" / "gke.jsonl").write_text(what)
    (tmp_path / "d").mkdir()
    text = CONFIG % {"plugins": BUILD / "plugins", "url": "http://127.0.0.1:1", "zones": A, "idle": "1s"}
    d = Plain(tmp_path / "d", text, ["--replay-http", str(tmp_path / "tape")], start=False)
    d.start(wait=False)
    assert d.p.wait(60) == 3
    d.stop()
    assert says in d.text() and "gke.jsonl" in d.text()
