"""The REST API of a real daemon; every reply is checked against openapi.json."""
import http.client
import json
import os
import re
import socket
import threading
import time

import jsonschema
import pytest

from lib import ROOT

DOC = json.load(open(os.path.join(ROOT, "docs", "openapi.json")))


def template(path):
    """The path of the document that a path of a call stands for."""
    path = path.split("?")[0]
    for t in sorted(DOC["paths"], key=lambda t: t.count("{")):
        if re.fullmatch(re.sub(r"\{\w+\}", "[^/]+", t), path):
            return t
    return None


def strict(schema):
    return {"$ref": schema["$ref"], "components": DOC["components"]} if "$ref" in schema else schema


def checked(daemon, method, path, body=None, code=200, **kw):
    """Calls, compares the code, and the body with its schema."""
    r = daemon.exchange(method, path, body, **kw)
    assert r.code == code, f"{method} {path}: {r.code}: {r.text[:2000]}"
    t = template(path)
    if t and method.lower() in DOC["paths"][t]:
        responses = DOC["paths"][t][method.lower()]["responses"]
        assert str(code) in responses, f"{method} {t}: {code} is not in the document"
        kind = r.headers["Content-Type"].split(";")[0]
        content = responses[str(code)]["content"]
        assert kind in content, f"{method} {t}: {kind}"
        if kind == "application/json":
            jsonschema.validate(r.json, strict(content[kind]["schema"]),
                                cls=jsonschema.Draft202012Validator)
    elif code >= 400:
        jsonschema.validate(r.json, strict({"$ref": "#/components/schemas/Error"}))
    return r


def ask(daemon, code=202, **body):
    return checked(daemon, "POST", "/v1/request_resources", body, code).json


def test_document(daemon):
    """Served as it is in the source; every reference leads somewhere."""
    served = checked(daemon, "GET", "/openapi.json").json
    assert served == DOC
    for ref in re.findall(r'"\$ref": "#/components/schemas/(\w+)"', json.dumps(DOC)):
        assert ref in DOC["components"]["schemas"]
    for t, ops in DOC["paths"].items():
        for name in re.findall(r"\{(\w+)\}", t):
            for op in ops.values():
                assert any(p["name"] == name for p in op["parameters"])


def test_every_path_is_routed(daemon):
    """Nothing in the document is a promise only."""
    for t, ops in DOC["paths"].items():
        path = re.sub(r"\{\w+\}", "none", t)
        if t == "/v1/events":
            path += "?format=json"
        allow = daemon.exchange("PATCH", path)
        assert allow.code == 405, t
        offered = set(allow.headers["Allow"].split(", ")) - {"HEAD", "OPTIONS"}
        assert offered == {m.upper() for m in ops}, t


def test_empty_cluster(daemon):
    for path in ("/v1/status", "/v1/nodes", "/v1/request_resources", "/v1/snapshot", "/healthz",
                 "/livez", "/readyz", "/health-check", "/metrics", "/", "/v1/events?format=json"):
        checked(daemon, "GET", path)
    assert checked(daemon, "GET", "/v1/status").json["nodes"]["total"] == 0


def test_life_of_a_request(daemon):
    r = ask(daemon, owner="train-42", bundles=[{"GPU": 1, "accelerator_type": "T4"}],
            num_cpus=8, ttl="30m")
    assert r["feasible"] and not r["satisfied"]
    assert r["bundles"] == 9 and r["launched"] + r["placed"] == 9
    assert r["cost_per_hour"] > 0 and r["launches"]
    assert r["expires_at"]
    daemon.until(lambda: daemon.status()["requests"][0]["satisfied"])
    status = daemon.status()
    assert status["demand"]["placed"] == 9
    nodes = checked(daemon, "GET", "/v1/nodes").json["nodes"]
    assert any(n["type"] == "t4" for n in nodes)
    for n in nodes:
        one = checked(daemon, "GET", "/v1/nodes/" + n["id"]).json
        assert one["id"] == n["id"]
        why = checked(daemon, "GET", "/v1/why/" + n["id"]).json
        assert why["node"]["id"] == n["id"] and why["text"]
        assert one["why"]["reason"] == "needed_by_request"
    r = ask(daemon, 200, owner="train-42", bundles=[{"GPU": 1, "accelerator_type": "T4"}])
    assert r["satisfied"]
    why = checked(daemon, "GET", "/v1/why/train-42").json
    assert why["owner"]["demands"][0]["bundles"][0]["nodes"]
    one = checked(daemon, "GET", "/v1/request_resources/train-42").json
    assert one["request"]["bundles"] and one["expires_at"] is None
    r = ask(daemon, 200, owner="train-42", bundles=[])
    assert r["cleared"]
    checked(daemon, "GET", "/v1/request_resources/train-42", code=404)
    assert checked(daemon, "GET", "/v1/request_resources").json["requests"] == []


def test_owners_add_up_and_do_not_wipe(daemon):
    ask(daemon, owner="a", bundles=[{"GPU": 1, "count": 2}])
    ask(daemon, owner="b", bundles=[{"GPU": 1, "count": 2}])
    status = checked(daemon, "GET", "/v1/status").json
    assert status["demand"]["bundles"] == 4
    assert {o["owner"] for o in status["demand"]["owners"]} == {"a", "b"}
    checked(daemon, "DELETE", "/v1/request_resources/a")
    checked(daemon, "DELETE", "/v1/request_resources/a", code=404)
    assert checked(daemon, "GET", "/v1/status").json["demand"]["bundles"] == 2


def test_infeasible_is_said_loudly(daemon):
    r = ask(daemon, bundles=[{"GPU": 1, "accelerator_type": "V100"}, {"GPU": 8}, {"CPU": 1}])
    assert r["owner"] == "default" and not r["feasible"]
    assert len(r["infeasible"]) == 2
    by = {json.dumps(u["bundle"], sort_keys=True): u for u in r["infeasible"]}
    v100 = next(u for k, u in by.items() if "V100" in k)
    assert v100["nearest"]["mismatches"][0]["wanted"] == "V100"
    eight = next(u for k, u in by.items() if "V100" not in k)
    assert eight["nearest"]["lacks"][0] == {"resource": "GPU", "needs": 8, "has": 1}
    assert "can never be placed" in r["text"]
    assert r["placed"] + r["launched"] == 1  # the rest is served
    why = checked(daemon, "GET", "/v1/why/default").json
    assert any("V100" in t for t in why["text"])
    status = checked(daemon, "GET", "/v1/status").json
    assert len(status["pending"]) == 2
    assert 'davit_bundles{source="request",place="infeasible"} 2' in daemon.exchange("GET", "/metrics").text


def test_ttl_ends_a_request(daemon):
    ask(daemon, owner="short", bundles=[{"CPU": 1}], ttl="700ms")
    daemon.until(lambda: not daemon.status()["requests"])
    events = checked(daemon, "GET", "/v1/events?format=json&after=0").json["events"]
    assert any(e["kind"] == "request.expired" and e["subject"] == "short" for e in events)


BAD = [
    ("", "body"), ("{", "line 1"), ("[]", "object"), ("{}", "bundles"), ('"x"', ""), ("\x00", "body"),
    ('{"bundles": 3}', "bundles"), ('{"bundles": [3]}', "bundles[0]"),
    ('{"bundles": [{"GPU": -1}]}', "bundles[0]"), ('{"bundles": [{"GPU": NaN}]}', "body"),
    ('{"bundles": [{"GPU": Infinity}]}', "body"), ('{"bundles": [{"GPU": 1e400}]}', ""),
    ('{"bundles": [{"GPU": 1, "count": 0}]}', "count"),
    ('{"bundles": [{"GPU": 1, "count": 1e15}]}', "count"),
    ('{"bundles": [{"resources": {"GPU": 1}, "cuont": 2}]}', "count"),
    ('{"bundels": [{"GPU": 1}]}', "bundles"), ('{"num_cpus": -1}', "num_cpus"),
    ('{"num_cpus": 1e18}', "num_cpus"), ('{"num_cpus": 1, "ttl": "soon"}', "ttl"),
    ('{"num_cpus": 1, "owner": "a b"}', "owner"), ('{"num_cpus": 1, "owner": "ray"}', "ray"),
    ('{"num_cpus": 1, "owner": "' + "x" * 129 + '"}', "owner"),
    ('{"num_cpus": 1, "strategy": "STRICTPACK"}', 'got STRICTPACK; did you mean "STRICT_PACK"?'),
    ('{"num_cpus": 1, "num_cpus": 2}', "num_cpus"), ("[" * 5000, "body"),
    (b"\xff\xfe{}", "body"),
]


@pytest.mark.parametrize("body,part", BAD, ids=range(len(BAD)))
def test_bad_input(daemon, body, part):
    r = checked(daemon, "POST", "/v1/request_resources", body, 400)
    error = r.json["error"]
    assert error["status"] == "INVALID"
    assert part in error["where"] + error["text"], error
    assert checked(daemon, "GET", "/v1/request_resources").json["requests"] == []


def test_unknown_paths_and_methods(daemon):
    r = checked(daemon, "GET", "/v1/sttus", code=404).json["error"]
    assert "/v1/status" in r["text"] and "/v1/nodes" in r["allowed"]
    r = checked(daemon, "PUT", "/v1/status", "{}", code=405)
    assert r.headers["Allow"] == "GET, HEAD, OPTIONS"
    assert daemon.exchange("HEAD", "/v1/status").text == ""


def test_a_body_of_100_mb(daemon):
    before = rss(daemon)
    with socket.create_connection(("127.0.0.1", daemon.port)) as s:
        s.settimeout(60)
        s.sendall(b"POST /v1/request_resources HTTP/1.1\r\nHost: localhost\r\n"
                  b"Content-Length: 104857600\r\n\r\n")
        for _ in range(100):
            s.sendall(b"x" * 1048576)
        assert s.recv(12) == b"HTTP/1.1 413"
    assert rss(daemon) - before < 16 << 20
    checked(daemon, "GET", "/v1/status")


def rss(daemon):
    text = daemon.exchange("GET", "/metrics").text
    return int(re.search(r"^process_resident_memory_bytes (\d+)", text, re.M).group(1))


def test_what_if_has_no_effect(daemon):
    r = checked(daemon, "POST", "/v1/plan", {"bundles": [{"GPU": 1, "count": 3}]}).json
    assert r["request"]["launched"] == 3 and r["plan"]
    assert checked(daemon, "GET", "/v1/status").json["nodes"]["total"] == 0
    snapshot = daemon.exchange("GET", "/v1/snapshot").text
    again = checked(daemon, "POST", "/v1/plan", snapshot).json
    assert again["request"] is None
    checked(daemon, "POST", "/v1/plan", {"node_types": 3}, 400)


def test_events_stream(daemon):
    c = http.client.HTTPConnection("127.0.0.1", daemon.port, timeout=90)
    c.request("GET", "/v1/events")
    r = c.getresponse()
    assert r.status == 200 and r.headers["Content-Type"] == "text/event-stream"
    ask(daemon, owner="sse", bundles=[{"GPU": 1}])
    kinds, last = [], 0
    while "node.ready" not in kinds:
        line = r.readline().decode()
        assert line, "the stream ended"
        if line.startswith("id: "):
            assert int(line[4:]) > last
            last = int(line[4:])
        if line.startswith("event: "):
            kinds.append(line[7:].strip())
        if line.startswith("data: "):
            jsonschema.validate(json.loads(line[6:]), strict({"$ref": "#/components/schemas/Event"}))
    assert "request.set" in kinds
    c.close()
    listed = checked(daemon, "GET", f"/v1/events?format=json&after={last - 1}").json
    assert listed["events"][0]["id"] == last
    # what a listener missed is told when it comes back
    c.request("GET", "/v1/events", headers={"Last-Event-ID": "1"})
    assert any(c.getresponse().readline() for _ in range(1))
    c.close()


def test_protect(daemon):
    ask(daemon, owner="p", bundles=[{"GPU": 1}])
    daemon.until(lambda: daemon.ready() == 1)
    node = checked(daemon, "GET", "/v1/nodes").json["nodes"][0]["id"]
    assert checked(daemon, "POST", f"/v1/nodes/{node}/protect").json["protected"]
    assert checked(daemon, "GET", "/v1/nodes/" + node).json["protected"]
    assert not checked(daemon, "DELETE", f"/v1/nodes/{node}/protect").json["protected"]
    assert not checked(daemon, "GET", "/v1/nodes/" + node).json["protected"]
    checked(daemon, "POST", "/v1/nodes/none/protect", code=404)


def test_nothing_is_held(daemon):
    for path, text in (("apply", "no configuration is held"), ("release", "nothing is held"),
                       ("adopt", "no machine is held"), ("nodes/none/adopt", "not held"),
                       ("nodes/none/forget", "no node")):
        error = checked(daemon, "POST", "/v1/" + path, code=404).json["error"]
        assert error["status"] == "NOT_FOUND" and text in error["text"] + error["where"], error
    for args in (["apply"], ["release"], ["adopt"], ["adopt", "--all"], ["adopt", "none"], ["forget", "none", "other"]):
        daemon.cli(*args, expect=1)


def test_reload(daemon):
    assert checked(daemon, "POST", "/v1/reload").json["reloaded"]
    good = open(daemon.path).read()
    with open(daemon.path, "w") as f:
        f.write(good.replace("max_nodes", "max_ndoes"))
    e = checked(daemon, "POST", "/v1/reload", code=400).json["error"]
    assert "max_nodes" in e["text"]
    status = checked(daemon, "GET", "/v1/status").json
    assert "max_nodes" in status["config"]["problem"] and status["problems"]
    with open(daemon.path, "w") as f:
        f.write(good.replace("max_nodes: 20", "max_nodes: 7"))
    checked(daemon, "POST", "/v1/reload")
    assert checked(daemon, "GET", "/v1/status").json["limits"]["max_nodes"] == 7


def test_many_at_once(daemon):
    """Requests of many owners at the same time: each gets its own answer."""
    got = {}

    def one(i):
        got[i] = daemon.exchange("POST", "/v1/request_resources",
                             {"owner": f"o{i}", "bundles": [{"CPU": 1}]}).json

    threads = [threading.Thread(target=one, args=(i,)) for i in range(24)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert all(got[i]["owner"] == f"o{i}" and got[i]["bundles"] == 1 for i in range(24))
    assert len(checked(daemon, "GET", "/v1/request_resources").json["requests"]) == 24


def test_requests_survive_kill(daemon_of):
    d = daemon_of().start()
    ask(d, owner="kept", bundles=[{"GPU": 1}], strategy="PACK", ttl=3600)
    before = d.exchange("GET", "/v1/request_resources/kept").json
    d.kill()
    d.start()
    after = checked(d, "GET", "/v1/request_resources/kept").json
    assert after["request"] == before["request"]
    assert after["expires_at"] == before["expires_at"]


def test_token(daemon_of, tmp_path):
    token = tmp_path / "token"
    token.write_text("s3cret-of-the-test\n")
    token.chmod(0o600)
    d = daemon_of(api=f", token_file: {token}").start(wait="/readyz")
    checked(d, "GET", "/v1/status", code=401)
    checked(d, "GET", "/metrics", code=401)
    checked(d, "POST", "/v1/request_resources", {"num_cpus": 1}, code=401)
    checked(d, "GET", "/healthz")
    d.headers = {"Authorization": "Bearer s3cret-of-the-test"}
    checked(d, "GET", "/v1/status")
    checked(d, "GET", "/metrics")
    d.headers = {"Authorization": "Bearer s3cret-of-the-tesT"}
    checked(d, "GET", "/v1/status", code=401)


def test_other_addresses_need_a_token(daemon_of):
    d = daemon_of(config="""
cluster: it
api: {listen: "0.0.0.0:{port}"}
providers: {sim: {}}
node_types: {cpu: {provider: sim, resources: {CPU: 1}, price: 1}}
""").start(wait=False)
    assert d.p.wait(90) != 0
    assert "token_file" in d.text()


def test_sites_of_others(daemon):
    for headers in ({"Host": "evil.example"}, {"Origin": "http://evil.example"}):
        checked(daemon, "GET", "/v1/status", code=403, headers=headers)
        checked(daemon, "POST", "/v1/request_resources", {"num_cpus": 1}, code=403, headers=headers)


def test_stops_with_open_streams(daemon_of):
    d = daemon_of().start()
    streams = []
    for _ in range(5):
        s = socket.create_connection(("127.0.0.1", d.port))
        s.sendall(b"GET /v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
        s.recv(100)
        streams.append(s)
    began = time.monotonic()
    assert d.stop() == 0
    assert time.monotonic() - began < 15  # wait: a stream is told something every 15 s, and then sees that it is over
    for s in streams:
        s.close()


def test_the_age_of_a_screen_grows_while_nothing_happens(daemon):
    """Within one tick, of which there may be one a minute, and of what was read before."""
    d = daemon

    def grows(path):
        before = d.get(path)[1]
        d.clocks.ahead(1500)
        after = d.get(path)[1]
        return before.get("tick") == after.get("tick") and after["age_s"] >= before["age_s"] + 1.4
    d.until(lambda: grows("/v1/status"))
    d.until(lambda: grows("/v1/nodes"))
