"""Clients that mean no good, many at once from one thread.

    with Crowd(port, 1000, slow(b"GET /healthz HTTP/1.1\r\nHost: x\r\n")) as c, Probes(port) as p:
        c.run(20)
    assert p.worst < 1

A client is a generator: it yields (seconds to wait afterwards, bytes to send).
One that is closed by the daemon begins again at once.
"""
import heapq
import http.client
import json
import os
import resource
import selectors
import socket
import threading
import time

from lib import PATIENCE


def slow(text, every=1.0, rest=b"x"):
    """A byte every so many seconds, for ever."""
    def client(i):
        yield every * (i % 16) / 16, text[:1]
        for b in text[1:]:
            yield every, bytes([b])
        while True:
            yield every, rest
    return client


def body(n, path="/v1/request_resources", size=4 << 20):
    """All of a body but its last byte, then silence."""
    def client(i):
        yield 0, (f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {size}\r\n\r\n").encode()
        left = n
        while left > 0:
            yield 0.01, b" " * min(left, 65536)
            left -= 65536
        while True:
            yield 5, b""
    return client


def reader(path):
    """Asks and does not read."""
    def client(i):
        yield 0, f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
        while True:
            yield 5, b""
    return client


class Crowd:
    def __init__(self, port, n, client, ramp=1.0, rcvbuf=None, source=None):
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, max(soft, 4096)), hard))
        self.port, self.client, self.rcvbuf, self.source = port, client, rcvbuf, source
        self.sel = selectors.DefaultSelector()
        self.due = []
        self.closed = 0         # times that the daemon closed one
        self.socks = {}
        now = time.monotonic()
        for i in range(n):
            heapq.heappush(self.due, (now + ramp * i / n, i, None))
        self.scripts = {}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for i in list(self.socks):
            self.drop(i)
        self.sel.close()

    def drop(self, i):
        s = self.socks.pop(i, None)
        if s:
            try:
                self.sel.unregister(s)
            except KeyError:
                pass
            s.close()

    def begin(self, i):
        s = socket.socket()
        s.setblocking(False)
        if self.rcvbuf:
            s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, self.rcvbuf)
        if self.source:
            s.bind((self.source(i), 0))
        s.connect_ex(("127.0.0.1", self.port))
        self.socks[i] = s
        self.scripts[i] = self.client(i)
        if not self.rcvbuf:     # who does not read does not notice the end either
            self.sel.register(s, selectors.EVENT_READ, i)
        heapq.heappush(self.due, (time.monotonic() + 0.02, i, True))

    def again(self, i):
        self.closed += 1
        self.drop(i)
        heapq.heappush(self.due, (time.monotonic() + 0.3, i, None))

    def step(self, i, begun):
        if begun is None:
            self.begin(i)
            return
        if i not in self.socks:
            return
        wait, data = next(self.scripts[i])      # what to send now, and how long to wait then
        try:
            if data:
                self.socks[i].send(data)
        except BlockingIOError:
            pass
        except OSError:
            self.again(i)
            return
        heapq.heappush(self.due, (time.monotonic() + max(wait, 0.001), i, begun))

    def run(self, seconds):
        """Goes on for so long."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            now = time.monotonic()
            while self.due and self.due[0][0] <= now:
                _, i, begun = heapq.heappop(self.due)
                self.step(i, begun)
            for key, _ in self.sel.select(0.01):
                try:
                    if key.fileobj.recv(65536) == b"":
                        self.again(key.data)
                except BlockingIOError:
                    pass
                except OSError:
                    self.again(key.data)


def crowds(many, seconds):
    """Each presses for so long from a process of its own, behind all others: it would have machines of its own.
    How often the daemon closed one of their clients."""
    pipes = []
    for crowd in many:
        r, w = os.pipe()
        child = os.fork()
        if child == 0:
            code = 1
            try:
                os.nice(10)
                with crowd as c:
                    c.run(seconds)
                os.write(w, str(c.closed).encode())
                code = 0
            finally:
                os._exit(code)
        os.close(w)
        pipes.append((child, r))
    closed = 0
    for child, r in pipes:
        assert os.waitpid(child, 0)[1] == 0
        with os.fdopen(r) as f:
            closed += int(f.read())
    return closed


def told(p, closed, seconds):
    """Says what came of it; a line of HOSTILE_REPORT as well, for the table of `make hostile`."""
    row = {"kind": os.environ.get("PYTEST_CURRENT_TEST", "").split("::")[-1].split(" ")[0], "seconds": seconds,
           "probes": len(p.times) + len(p.failures), "lost": len(p.failures), "slowest": p.worst if p.times else 0,
           "mib": p.peak >> 20, "closed": closed}
    print("{kind}: {probes} probes, {lost} lost, the slowest {slowest:.3f} s, {mib} MiB, {closed} times a client was closed"
          .format(**row), p.failures[:5], flush=True)
    if "HOSTILE_REPORT" in os.environ:
        with open(os.environ["HOSTILE_REPORT"], "a", encoding="utf-8") as f:
            f.write(json.dumps(row) + "\n")


def probe(port, path="/healthz", headers=None):
    """(code, seconds) of one GET on a connection of its own."""
    began = time.monotonic()
    c = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    try:
        c.request("GET", path, headers=headers or {})
        r = c.getresponse()
        r.read()
        return r.status, time.monotonic() - began
    finally:
        c.close()


class Probes:
    """Asks four times a second from a thread of its own, as a kubelet would.  pid: whose memory is looked at, or several."""
    def __init__(self, *ports, pid=None, path="/healthz", every=0.25):
        self.ports, self.path, self.every = ports, path, every
        self.pids = [pid] if isinstance(pid, int) else pid or []
        self.times, self.failures, self.peak = [], [], 0    # times: (seconds, port)
        self.over = threading.Event()
        self.thread = threading.Thread(target=self.main)

    @property
    def worst(self):
        return max(self.times)[0]

    def main(self):
        while not self.over.wait(self.every):
            for port in self.ports:
                try:
                    code, took = probe(port, self.path)
                    if code != 200:
                        self.failures.append(f"port {port}: {code}")
                    self.times.append((took, port))
                except OSError as e:
                    self.failures.append(f"port {port}: {e!r}")
            self.peak = max([self.peak, *map(rss, self.pids)])

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()


def rss(pid):
    """Resident bytes of a process."""
    with open(f"/proc/{pid}/statm") as f:
        return int(f.read().split()[1]) * resource.getpagesize()
