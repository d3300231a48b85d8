"""SIGTERM ends the daemon in a bounded time, whatever it is busy with and whoever hangs; it says what it waited for.

The daemon has clocks of the test's, so that the seconds that it gives to those who hang go by fast.
ROUNDS=N plays as many days as that; SEED=N the days of another run.
"""
import contextlib
import fcntl
import json
import os
import random
import re
import signal
import socket
import subprocess
import time

import pytest

from lib import PATIENCE, crowded, free_port
from lib.clocks import Clocks, aids  # noqa: F401 (aids is a fixture)
from lib.daemon import Daemon
from lib.seeds import seed
from test_stalls import stall  # noqa: F401 (a fixture)

ROUNDS = int(os.environ.get("ROUNDS", "6"))
MOST_MS = 12000  # cli/farewell.h
GOODBYE_MS = 1000
DEAF = """#!/bin/sh
trap '' TERM
while kill -0 $PPID 2>/dev/null; do read -r line || sleep .2; done
"""


def ended(d, again=False):
    """It gets SIGTERM, and is gone within the time that it has."""
    begun, own = time.monotonic(), 0
    d.p.send_signal(signal.SIGTERM)
    while d.p.poll() is None and own < MOST_MS + GOODBYE_MS:
        d.clocks.ahead(100)
        own += 100
        with contextlib.suppress(subprocess.TimeoutExpired):
            d.p.wait(0.01)  # wait: its own clock goes on meanwhile
        if again and own == 3000:
            d.p.send_signal(signal.SIGTERM)
    assert d.p.wait(PATIENCE) == 0, d.text()
    took = time.monotonic() - begun
    assert took < 20 * crowded(), f"after {own} ms of its own time it went on for {took:.0f} s:\n{d.text()[-3000:]}"


def waited_for(d):
    """What it left without, in its words."""
    return re.findall(r"(?:waits for|still under way:) (.*?)(?:, for [0-9.]+ s)?; leaving without", d.text())


def config(aids, d, head=None):  # noqa: F811
    """Two providers: `stuck` hangs as the test likes, `deaf` is a program that never answers and ignores SIGTERM."""
    return json.dumps({
        "cluster": "end", "api": {"listen": "127.0.0.1:{port}"}, "state": "{dir}/davit.db", "limits": {"max_nodes": 50, "idle_timeout": "1s"},
        "plugin_dir": str(aids), **({"head": head} if head else {}),
        "providers": {"stuck": {"hang": str(d / "hang")}, **({"exec": {"command": str(d / "deaf"), "grace": "10s"}} if (d / "deaf").exists() else {})},
        "node_types": {"cpu": {"provider": "stuck", "resources": {"CPU": 4}, "price": 1, "max": 50, "boot": "1s"},
                       **({"far": {"provider": "exec", "resources": {"CPU": 1, "GPU": 1}, "price": 1, "max": 5}} if (d / "deaf").exists() else {})}})


@pytest.mark.parametrize("op", ["list", "launch", "terminate"])
def test_a_call_that_hangs_is_named(tmp_path, aids, op):  # noqa: F811
    with Daemon(tmp_path, config(aids, tmp_path)) as d:
        d.until(lambda: d.get("/readyz")[0] == 200)
        d.post({"owner": "a", "bundles": [{"CPU": 4}]})
        d.until(lambda: d.ready() == 1)
        (tmp_path / "hang").write_text(op)
        if op == "launch":
            d.post({"owner": "b", "bundles": [{"CPU": 4}]})
        if op == "terminate":
            d.call("DELETE", "/v1/request_resources/a")
        if op != "list":
            d.until(lambda: d.clocks.ahead(250) or (tmp_path / f"hang.{op}").exists())
        else:
            d.until(lambda: d.clocks.ahead(1000) or (tmp_path / "hang.list").exists())
        ended(d)
        assert any(f"{op} of stuck" in w for w in waited_for(d)), d.text()[-2000:]


def test_a_plug_in_that_does_not_close_is_named(tmp_path, aids):  # noqa: F811
    with Daemon(tmp_path, config(aids, tmp_path)) as d:
        (tmp_path / "hang").write_text("close")
        ended(d)
        assert waited_for(d) == ["the plug-in of provider stuck, to be closed"], d.text()[-2000:]
        assert "the end takes long: it waits for the plug-in of provider stuck" in d.text()


def test_who_asks_again_does_not_wait(tmp_path, aids):  # noqa: F811
    with Daemon(tmp_path, config(aids, tmp_path)) as d:
        (tmp_path / "hang").write_text("close")
        ended(d, again=True)
        took, = re.findall(r"the end took ([0-9]+) ms", d.text())
        assert int(took) < MOST_MS / 2, d.text()


def test_a_loop_that_stands_ends_too(tmp_path, aids, stall):  # noqa: F811
    """It is in the middle of a step that does not come back."""
    env = {"LD_PRELOAD": f"{stall}:{Clocks(tmp_path).env['LD_PRELOAD']}", "DAVIT_STALL_LOOP": str(tmp_path / "loop")}
    with Daemon(tmp_path, config(aids, tmp_path), env=env) as d:
        (tmp_path / "loop").touch()
        d.until(lambda: stands(d))
        ended(d)
        assert waited_for(d) == ["the end of the control loop's step"], d.text()[-2000:]


def stands(d):
    """Its main thread sleeps in stall.c, not in libuv."""
    return d.clocks.ahead(1000) or "nanosleep" in (d.p and open(f"/proc/{d.p.pid}/wchan", encoding="ascii").read())


def clients(rng, port):
    """Sockets of people who do not finish what they began."""
    lines = ["GET /v1/events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
             "POST /v1/request_resources HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1000\r\n\r\n{",
             "GET /v1/nodes HTTP/1.1\r\nHo",
             "POST /v1/reload HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 0\r\n\r\n",
             "GET /v1/snapshot HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"]
    for _ in range(rng.randrange(1, 12)):
        s = socket.create_connection(("127.0.0.1", port))
        s.sendall(rng.choice(lines).encode())
        yield s


def busy(rng, d):
    """A few things at once, up to a moment that nobody chose."""
    for i in range(rng.randrange(1, 12)):
        what = rng.randrange(4)
        if what == 0:
            d.call("POST", "/v1/request_resources", {"owner": f"o{rng.randrange(4)}", "bundles": [{"CPU": rng.randrange(1, 5)}] * rng.randrange(1, 9)})
        elif what == 1:
            d.call("DELETE", f"/v1/request_resources/o{rng.randrange(4)}")
        elif what == 2:
            d.clocks.ahead(rng.randrange(2000))
        else:
            text = json.loads(d.path.read_text())
            text["node_types"]["cpu"]["labels"] = {"version": str(i)}
            d.write(json.dumps(text))
            d.p.send_signal(signal.SIGHUP)


def one_day(rng, where, aids, stall):  # noqa: F811
    """Who hangs is drawn; the daemon is told to end while it is busy."""
    where.mkdir()
    hangs = [w for w in ("list", "launch", "terminate", "close") if rng.random() < .4]
    peers = {w for w in ("head", "ray", "log", "disk", "deaf", "clients", "loop") if rng.random() < .35}
    print(f"{where.name}: {hangs} {sorted(peers)}")
    silent = socket.create_server(("127.0.0.1", free_port()))  # it takes connections, and says nothing
    at, head = f"127.0.0.1:{silent.getsockname()[1]}", {}
    if "head" in peers:
        (where / "kube.yaml").write_text(json.dumps({
            "apiVersion": "v1", "kind": "Config", "current-context": "c", "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
            "clusters": [{"name": "c", "cluster": {"server": f"http://{at}"}}], "users": [{"name": "u", "user": {"token": "t"}}]}))
        head["kubernetes"] = {"kubeconfig": str(where / "kube.yaml")}
    if "ray" in peers:
        head["ray"] = {"address": at}
    if "deaf" in peers:
        (where / "deaf").write_text(DEAF)
        (where / "deaf").chmod(0o700)
    reader, writer = os.pipe()
    fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 4096)
    env = {"LD_PRELOAD": f"{stall}:{Clocks(where).env['LD_PRELOAD']}", "DAVIT_STALL": str(where / "disk"), "DAVIT_STALL_LOOP": str(where / "loop")}
    with contextlib.ExitStack() as open_, Daemon(where, config(aids, where, head), env=env,
                                                 preexec=(lambda: os.dup2(writer, 2)) if "log" in peers else None) as d:
        open_.callback(silent.close)
        for fd in reader, writer:
            open_.callback(os.close, fd)
        if rng.random() < .5:
            (where / "hang").write_text(" ".join(hangs))
        if "clients" in peers:
            for s in clients(rng, d.port):
                open_.callback(s.close)
        busy(rng, d)
        (where / "hang").write_text(" ".join(hangs))
        for file in {"disk", "loop"} & peers:
            (where / file).touch()
        ended(d)
        for file in ("disk", "loop"):
            (where / file).unlink(missing_ok=True)


def test_it_ends_at_any_moment(tmp_path, aids, stall):  # noqa: F811
    rng = random.Random(seed())
    for i in range(ROUNDS):
        one_day(random.Random(rng.random()), tmp_path / f"day{i}", aids, stall)
