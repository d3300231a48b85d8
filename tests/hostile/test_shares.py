"""Each ceiling of the API has a share for each caller, and a rest for all: the good one is always served, whatever another one does."""
import contextlib
import http.client
import json
import threading
import time

import pytest
from test_access import token

from lib import until


@pytest.fixture
def two(daemon_of, tmp_path):
    """A daemon with two callers who may read and ask, and an administrator."""
    from conftest import CONFIG
    file = str(tmp_path / "tokens")
    t = {"mal": token(file, "mal", "read", "request:mal-*"), "good": token(file, "good", "read", "request:good-*"), "ops": token(file, "ops", "admin")}
    d = daemon_of(CONFIG, f", tokens: {file}")
    d.tokens, d.headers = t, {"Authorization": "Bearer " + t["ops"]}
    d.start(wait="/readyz")
    return d


def ask(d, who, method, path, body=None, address="127.0.0.1"):
    c = http.client.HTTPConnection("127.0.0.1", d.port, timeout=120, source_address=(address, 0))
    with contextlib.closing(c):
        c.request(method, path, body if isinstance(body, bytes) else json.dumps(body) if body else None, {"Authorization": "Bearer " + d.tokens[who]})
        r = c.getresponse()
        return r.status, r.read()


class Many:
    """The same over and over, on so many threads; its codes."""
    def __init__(self, n, what):
        self.stop, self.codes = threading.Event(), []
        self.threads = [threading.Thread(target=self.go, args=(what,), daemon=True) for _ in range(n)]
        for t in self.threads:
            t.start()

    def go(self, what):
        while not self.stop.is_set():
            try:
                self.codes.append(what())
            except (OSError, http.client.HTTPException):
                self.codes.append(0)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop.set()
        for t in self.threads:
            t.join(120)


def plan(d, who, n, i=0):
    return ask(d, who, "POST", "/v1/plan", json.dumps({"bundles": [{"CPU": 1 + k % 7, "memory": 1 + k + i} for k in range(n)]}).encode())[0]


def test_all_places_of_long_work_by_one(two):
    """Sixteen plans may wait: with forty of one caller, another one's was refused."""
    d = two
    with Many(40, lambda: plan(d, "mal", 1000)) as many:
        until(lambda: 429 in many.codes, 60)
        for i in range(4):
            assert plan(d, "good", 20, i) == 200, i
            time.sleep(0.1)  # wait: another moment
        assert ask(d, "good", "POST", "/v1/request_resources", {"owner": "good-1", "bundles": [{"CPU": 1, "memory": 1 + k} for k in range(3000)]})[0] in (200, 202)
    print({c: many.codes.count(c) for c in set(many.codes)})
    assert 200 in many.codes, "and he is served as well"
