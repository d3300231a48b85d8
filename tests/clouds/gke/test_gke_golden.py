"""Every request that Google's own SDKs were recorded to send, for an operation
we use, is sent by us: same method, path, query and body.

What is compared away, and why: `fields` (a partial answer saves 1,000 machines'
worth of parsing), `alt` and `$alt` (the default), requestId (a UUID is wanted,
which one is the caller's), nulls and false in a body (JSON's default), and the
chosen name of a new instance.
"""
import json
import pathlib
import urllib.parse

import pytest

import gke_operations
from gke_server import Cloud, Server

HERE = pathlib.Path(__file__).resolve().parent
A, B = "us-central1-a", "us-central1-b"
GOLDENS = [(op, name) for op, names in gke_operations.OPERATIONS.items() for name in names]
LOOSE = {"fields", "alt", "$alt", "requestId"}


def plain(v):
    if isinstance(v, dict):
        return {k: plain(x) for k, x in v.items() if x is not None and x is not False}
    return [plain(x) for x in v] if isinstance(v, list) else v


def shape(method, path, query, body):
    """What must be the same."""
    if path.endswith("/createInstances"):
        assert [set(i) for i in body["instances"]] == [{"name"}]
        body = {"instances": [{"name": "*"} for _ in body["instances"]]}
    if "/operations/" in path:
        path = path.rsplit("/", 1)[0] + "/*"
    body = plain(body)
    # Skipping what is gone already is a choice of the caller's.
    if isinstance(body, dict):
        body.pop("skipInstancesOnValidationError", None)
    return json.dumps([method, path, sorted(x for x in query if x[0] not in LOOSE), body], sort_keys=True)


def recorded(path):
    out = []
    for x in json.loads(path.read_text())["exchanges"]:
        r = x["request"]
        out.append(shape(r["method"], r["path"], [tuple(q) for q in r["query"]], (r["body"] or {}).get("json")))
    return out


@pytest.fixture(scope="module")
def sent(driver, tmp_path_factory):
    """All that one round of every operation sends."""
    from lib.drive import Drive
    from gke_rig import config, environment
    cloud = Cloud()
    cloud.pool("gpu", [A, B], machine="a2-highgpu-1g", accelerator="nvidia-tesla-a100", autoscaling=True)
    cloud.pool("q", [A], machine="a3-highgpu-8g", queuedProvisioning={"enabled": True})
    cloud.queue_held = True
    g = cloud.groups[A, "gke-c1-gpu-0a1b2c3d-grp"]
    cloud.add(g, "gke-c1-gpu-0a1b2c3d-x1y2", 0)
    where = tmp_path_factory.mktemp("golden")
    with Server(cloud) as s:
        text = config(s, "take_over: true", more="  q: {provider: gke, pool: q, machine: a3-highgpu-8g, max: 2}").replace("n1-standard-8+t4", "a2-highgpu-1g")
        text = "\n".join(x for x in text.split("\n") if "  cpu:" not in x)
        d = Drive(where, text, "gke", environment(s))
        d.call("offers")
        d.running(1)
        d.launch(1, zone=A)
        assert d.call("find", ids=["gke-c1-gpu-0a1b2c3d-x1y2"])["done"] == {"gke-c1-gpu-0a1b2c3d-x1y2": "OK"}
        d.end("gke-c1-gpu-0a1b2c3d-x1y2")
        d.end(d.launch(1, type="q", zone=A, request="davit-00112233445566778800")["machines"][0]["id"])
        d.close()
    assert cloud.rejected == []
    out, raw = set(), []
    for r in cloud.log:
        u = urllib.parse.urlsplit(r["target"])
        body = json.loads(r["body"]) if r["body"] else None
        query = urllib.parse.parse_qsl(u.query, keep_blank_values=True)
        raw.append((r["method"], u.path, query, body, r["headers"]))
        if "/computeMetadata/" not in u.path:
            out.add(shape(r["method"], urllib.parse.unquote(u.path), query, body))
            # The SDKs' defaults: without paging, and in pages.
            out.add(shape(r["method"], urllib.parse.unquote(u.path), [q for q in query if q[0] != "maxResults"], body))
    return out, raw, cloud.used


def test_the_table_is_whole(sent):
    """Nothing is used that is not in it, nothing is in it that is not used."""
    assert sent[2] == set(gke_operations.OPERATIONS)
    recordings = {n for names in gke_operations.OPERATIONS.values() for n in names} | set(gke_operations.TOKENS)
    assert recordings == {p.stem for p in (HERE / "golden").glob("*.json")}


@pytest.mark.parametrize("op,name", GOLDENS)
def test_recorded(sent, op, name):
    assert op in sent[2], f"{op} was not used"
    for want in recorded(HERE / "golden" / f"{name}.json"):
        assert want in sent[0], "\n".join([want, "--- sent:", *sorted(sent[0])])


def test_metadata_token(sent):
    want = json.loads((HERE / "golden" / "auth_metadata_server.json").read_text())["exchanges"][1]["request"]
    got = [(m, p, q, b, h) for m, p, q, b, h in sent[1] if p.endswith("/token")]
    assert got, "no token was asked for"
    for m, p, q, b, h in got:
        assert (m, p, [list(x) for x in q], b) == (want["method"], want["path"], want["query"], want["body"])
        assert h["Metadata-Flavor"] == "Google"
