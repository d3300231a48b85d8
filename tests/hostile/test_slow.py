"""The servers under clients that mean no good: slow ones, large ones, and those
that deceive a proxy.  Short here; `make hostile` presses for ten minutes.
"""
import concurrent.futures
import itertools
import os
import socket
import threading
import time

import pytest

from lib import crowded, free_port
from lib.hostile import Crowd, Probes, body, crowds, reader, slow, told

LONG = float(os.environ.get("HOSTILE_S", "8"))
MOST = 200 << 20


@pytest.fixture
def both(daemon_of):
    """A daemon and its port for metrics."""
    metrics = free_port()
    d = daemon_of(api=f', metrics: "127.0.0.1:{metrics}"')
    d.start(wait="/readyz")
    return d, metrics


def press(d, metrics, crowd, seconds=LONG):
    with Probes(d.port, metrics, pid=d.p.pid) as p:
        closed = crowds([crowd], seconds)
    told(p, closed, seconds)
    assert d.p.poll() is None, d.text()
    assert not p.failures, p.failures[:5]
    assert p.worst < crowded(), f"a probe took {p.worst:.2f} s"
    assert p.peak < MOST, f"{p.peak >> 20} MiB"


HEADER = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Slow: "
BODY = b"POST /v1/request_resources HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000\r\n\r\n"


def many(i):
    return f"127.1.{i // 250}.{i % 250 + 1}"


@pytest.mark.parametrize("source", [None, many], ids=["one", "many"])
@pytest.mark.parametrize("which", ["api", "metrics"])
def test_byte_a_second(both, which, source):
    """1,100 clients that send a byte a second, from the probe's address or from one each, keep nobody out."""
    d, metrics = both
    press(d, metrics, Crowd(metrics if which == "metrics" else d.port, 1100, slow(HEADER), source=source))


def test_unfinished_bodies(both):
    d, metrics = both
    press(d, metrics, Crowd(d.port, 1000, body((4 << 20) - 1)))


def test_slow_readers(both):
    """1,000 that ask for a snapshot of megabytes and do not read, while it changes."""
    d, metrics = both
    many = [{"resources": {"CPU": i % 97 + 1, "memory": 1 << 20 | i}, "labels": {"note": "x" * 60}} for i in range(4800)]
    d.post({"owner": "many", "bundles": many})
    assert len(d.exchange("GET", "/v1/snapshot").text) > 800_000

    def change():
        cpus = itertools.cycle(range(1, 10))
        while not over.wait(0.3):  # wait: the pace of the users
            try:
                d.post({"owner": "change", "num_cpus": next(cpus)}, expect=(200, 202, 503))
            except OSError:
                pass    # under this load it may be refused
    over = threading.Event()
    t = threading.Thread(target=change)
    t.start()
    try:
        press(d, metrics, Crowd(d.port, 1000, reader("/v1/snapshot"), rcvbuf=4096))
    finally:
        over.set()
        t.join()


def lasts(port, text, every, most):
    """For how many seconds the daemon bears it."""
    began = time.monotonic()
    with socket.create_connection(("127.0.0.1", port)) as s:
        s.sendall(text)
        s.settimeout(every)
        while time.monotonic() - began < most:
            try:
                s.sendall(b"x")
                if s.recv(100) == b"":
                    break
            except TimeoutError:
                continue
            except OSError:
                break
        return time.monotonic() - began


def test_deadlines_are_absolute(both):
    """Each byte used to begin the time anew."""
    d, metrics = both
    cases = (d.port, HEADER), (metrics, HEADER), (d.port, BODY)
    with concurrent.futures.ThreadPoolExecutor() as pool:
        api, scrape, body = pool.map(lambda c: lasts(*c, 0.5, 45), cases)
    assert api < 24 and scrape < 24 and 25 < body < 44, (api, scrape, body)
