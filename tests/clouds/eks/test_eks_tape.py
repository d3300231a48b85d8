"""AWS's HTTP recorded without a secret, and replayed with no AWS behind it: query protocol, XML and signatures."""
from lib.daemon import Daemon
from eks_rig import AK, SK, environment
from test_eks_e2e import CONFIG, T4


def story(d):
    d.post({"owner": "r", "bundles": [T4, T4]})
    d.until(lambda: d.ready("t4") == 2)
    seen = sorted((n["zone"], n["cloud_id"]) for n in d.nodes("t4", "ready"))
    aside = {(x["zone"], x["status"]) for x in d.status()["backoffs"]}
    d.post({"owner": "r", "bundles": []})
    d.until(lambda: not d.nodes("t4"))
    return seen, aside


def run(where, env, text, *args):
    where.mkdir()
    return Daemon(where, text, args, env=env)


def test_recorded_and_replayed(cloud, tmp_path):
    cloud.fresh(cpu={"type": "m5.2xlarge"}, t4_a={"type": "g4dn.xlarge", "max": 2},
                t4_b={"type": "g4dn.xlarge", "max": 2, "zones": ["us-east-1b"]})
    cloud.stock(pool=cloud.names["t4_a"], left=0)
    text = CONFIG % {**cloud.names, "cluster": cloud.cluster, "url": cloud.url}
    with run(tmp_path / "a", environment(tmp_path), text, "--record-http", str(tmp_path / "tape")) as d:
        seen = story(d)
    tape = (tmp_path / "tape" / "eks.jsonl").read_text()
    assert AK not in tape and SK not in tape and "Signature" not in tape and "AWS4-HMAC" not in tape
    assert [z for z, _ in seen[0]] == ["us-east-1b"] * 2 and ("us-east-1a", "STOCKOUT") in seen[1]
    # Other keys, and nobody there.
    env = environment(tmp_path, keys=False, AWS_ACCESS_KEY_ID="AKIAOTHER", AWS_SECRET_ACCESS_KEY="x")
    gone = text.replace(cloud.url, "http://127.0.0.1:1")
    with run(tmp_path / "b", env, gone, "--replay-http", str(tmp_path / "tape")) as d:
        assert story(d) == seen
        assert "NotRecorded" not in d.text(), d.text()[-3000:]
