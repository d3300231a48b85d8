"""Bodies made to cost much: no request takes the daemon above 200 MiB or ends it."""
import json
import os
import random
import socket
import threading

import pytest

from lib import until
from lib.hostile import rss

MOST = 200 << 20
MIB4 = (4 << 20) - 64


def many(before, piece, after):
    """A body of n bytes: so many pieces, in which %d counts."""
    def make(n):
        parts, room, i = [], n - len(before) - len(after), 0
        while room > 0:
            parts.append(piece.replace("%d", str(i)))
            room -= len(parts[-1]) + 1
            i += 1
        return before + ",".join(parts[:-1]) + after
    return make


def types(each):
    """600 types of 200 resources took 1.7 GiB: all names differ."""
    def make(n):
        k = n // (9 * each + 60)
        return json.dumps({"now_ms": 1795255200000, "node_types": [
            {"name": f"t{i}", "provider": "sim", "price": 1, "resources": {f"r{i}-{j}": 1 for j in range(each)}}
            for i in range(k)]}, separators=",:")[:4 << 20]
    return make


NOW = '{"now_ms": 1795255200000, '
TYPE = '"node_types":[{"name":"a","provider":"sim","resources":{"CPU":1}}],'
BODIES = {
    "types-of-200": types(200),
    "types-of-20": types(20),
    "type-of-all": lambda n: types(n // 9 - 20)(n),
    "zeros": many('{"bundles":[', "0", "]}"),
    "empty-objects": many('{"bundles":[', "{}", "]}"),
    "empty-arrays": many('{"bundles":[', "[]", "]}"),
    "bundles": many('{"bundles":[', '{"CPU":1}', "]}"),
    "bundles-all-different": many('{"bundles":[', '{"CPU":%d}', "]}"),
    "bundles-of-own-names": many('{"bundles":[', '{"r%d":1}', "]}"),
    "any-of": many('{"bundles":[{"any_of":[', '{"CPU":1}', "]}]}"),
    "resources": many('{"bundles":[{', '"r%d":1', "}]}"),
    "labels": many('{"bundles":[{"CPU":1,"labels":{', '"l%d":"v"', "}}]}"),
    "selectors": many('{"bundles":[{"CPU":1}],"bundle_label_selectors":[', '{"a":"b"}', "]}"),
    "demands": many(NOW + TYPE + '"demands":[', '{"bundles":[{"CPU":1}]}', "]}"),
    "gangs": many(NOW + TYPE + '"gangs":[', '{"strategy":"SPREAD","bundles":[{"CPU":1},{"CPU":1}]}', "]}"),
    "nodes": many(NOW + TYPE + '"nodes":[', '{"id":"n%d","type":"a","state":"ready"}', "]}"),
    "counts": many('{"bundles":[', '{"resources":{"CPU":1},"count":4%d}', "]}"),
    "nested": lambda n: "[" * n,
    "text": lambda n: '{"owner":"' + "x" * (n - 13) + '"}',
    "escapes": lambda n: '{"owner":"' + "\\u0041" * ((n - 13) // 6) + '"}',
}


def send(port, path, text):
    data = text.encode()
    assert len(data) <= 4 << 20
    with socket.create_connection(("127.0.0.1", port)) as s:
        s.settimeout(120)
        s.sendall(b"POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % (path.encode(), len(data)) + data)
        return int(s.recv(12).split()[1])


def cpu(pid):
    """Seconds of it since its start."""
    with open(f"/proc/{pid}/stat") as f:
        fields = f.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Peak:
    def __init__(self, pid):
        self.pid, self.over, self.most = pid, threading.Event(), 0
        self.thread = threading.Thread(target=self.main)

    def main(self):
        while not self.over.wait(0.005):  # wait: between two samples
            self.most = max(self.most, rss(self.pid))

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()


@pytest.mark.parametrize("name", BODIES)
def test_costly_body(daemon, name):
    """Each at five sizes, on both paths: at some of them it is taken."""
    for size in ((4 << 20) - 64, 2 << 20, 1 << 20, 1 << 19, 1 << 18):
        for path in ("/v1/plan", "/v1/request_resources"):
            with Peak(daemon.p.pid) as peak:
                code = send(daemon.port, path, BODIES[name](size))
            print(name, size >> 10, "KiB", path, code, peak.most >> 20, "MiB")
            assert daemon.p.poll() is None
            assert code in (200, 202, 400, 413, 429, 503)
            assert peak.most < MOST, f"{peak.most >> 20} MiB, {code}"
    assert daemon.get("/healthz")[0] == 200


@pytest.mark.parametrize("name", ["bundles-all-different", "bundles-of-own-names", "any-of", "resources", "nested"])
def test_costly_what_if(daemon, name):
    """The page's own what-if plans twice: before and after."""
    for size in ((4 << 20) - 128, 1 << 20, 1 << 18):
        with Peak(daemon.p.pid) as peak:
            code = send(daemon.port, "/v1/whatif", '{"request":%s}' % BODIES[name](size))
        print(name, size >> 10, "KiB", code, peak.most >> 20, "MiB")
        assert daemon.p.poll() is None and code in (200, 400, 413, 429, 503)
        assert peak.most < MOST, f"{peak.most >> 20} MiB, {code}"
    assert daemon.get("/healthz")[0] == 200


def dear_plan(kind):
    """A snapshot whose size is small, and planning for it is not: 400 offers, and thousands of purchases."""
    chance = random.Random(1)

    def line():
        return {"CPU": chance.randrange(1, 640) / 10, "memory": chance.randrange(1 << 20, 1 << 34)}
    requests = {
        "gangs": lambda: [{"owner": f"o{g}", "strategy": chance.choice(["SPREAD", "PACK", "STRICT_SPREAD"]),
                           "bundles": [line() for _ in range(100)]} for g in range(100)],
        "lines": lambda: [{"owner": "o", "bundles": [line() for _ in range(18000)]}],
        "counts": lambda: [{"owner": f"o{g}", "strategy": "SPREAD", "bundles": [
            {"resources": {"CPU": chance.randrange(1, 640) / 10}, "count": 100} for _ in range(3)]} for g in range(2500)],
    }
    types = [{"name": f"t{i}", "resources": {"CPU": 4 + i % 61, "memory": f"{8 + i % 97}Gi", "GPU": i % 5}, "max": 1000, "price": 1,
              "offers": [{"zone": f"z{k}", "price": 0.1 + ((i * 31 + k * 7) % 100) / 50} for k in range(4)]} for i in range(100)]
    return json.dumps({"cluster": "x", "now_ms": 1795255200000, "node_types": types, "requests": requests[kind]()}, separators=(",", ":"))


@pytest.mark.parametrize("kind", ["gangs", "lines", "counts"])
def test_costly_plan(daemon, kind):
    """What a plan takes while it is made is given back purchase by purchase: one of 600 KB took 800 MiB."""
    text = dear_plan(kind)
    with Peak(daemon.p.pid) as peak:
        code = send(daemon.port, "/v1/plan", text)
        after = send(daemon.port, "/v1/plan", '{"bundles":[{"CPU":1}]}')  # its turn is after that one
    print(kind, len(text) >> 10, "KiB", code, after, peak.most >> 20, "MiB")
    assert daemon.p.poll() is None and code in (200, 503)
    assert peak.most < MOST, f"{peak.most >> 20} MiB"


@pytest.mark.parametrize("name", ["bundles", "nodes", "types-of-200"])
@pytest.mark.parametrize("size", [1 << 18, (4 << 20) - 64])
def test_many_costly_bodies_at_once(daemon, name, size):
    text, codes = BODIES[name](size), []
    threads = [threading.Thread(target=lambda: codes.append(send(daemon.port, "/v1/plan", text))) for _ in range(24)]
    with Peak(daemon.p.pid) as peak:
        for t in threads:
            t.start()
        for t in threads:
            t.join()
    print(name, sorted(codes), peak.most >> 20, "MiB")
    assert daemon.p.poll() is None and set(codes) <= {200, 400, 413, 429, 503}
    assert peak.most < MOST, f"{peak.most >> 20} MiB"


def test_all_there_may_be(daemon):
    """Requests up to their limit, and what-ifs beside them."""
    def line(i):
        return {"CPU": i % 97 + 1, "memory": 1 << 20 | i}
    with Peak(daemon.p.pid) as peak:
        codes = [send(daemon.port, "/v1/request_resources", json.dumps(
            {"owner": f"o{k}", "bundles": [line(i) for i in range(4900)]})) for k in range(6)]
        text = json.dumps({"bundles": [line(i) for i in range(18000)]})
        threads = [threading.Thread(target=lambda: codes.append(send(daemon.port, "/v1/plan", text))) for _ in range(8)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
    print(codes, peak.most >> 20, "MiB")
    assert codes[:4] == [202] * 4 and 429 in codes
    assert peak.most < MOST, f"{peak.most >> 20} MiB"
