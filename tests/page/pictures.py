#!/usr/bin/env python3
"""Pictures of the page and of `davit top`, by the Chromium that the tests use, before a real daemon on the simulated cloud.

    pictures.py FOLDER        all of them, to be looked at: empty, busy, broken, token, phone, dark, top
    pictures.py --docs        docs/page.png and docs/top.png, which README shows
"""
import fcntl
import html
import os
import pathlib
import pty
import re
import struct
import subprocess
import sys
import tempfile
import termios

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from lib import DAVIT, ROOT  # noqa: E402
from lib.browser import Browser  # noqa: E402
from lib.daemon import Daemon  # noqa: E402
from lib import simcloud  # noqa: E402

CONFIG = """
cluster: lab
api: {listen: "127.0.0.1:{port}"%s}
state: "{dir}/davit.db"
limits: {idle_timeout: 10m, max_cost_per_hour: 60}
providers: {sim: {state: "{dir}/cloud.json", boot: 400ms, stockout: ["v100"]}}
node_types:
  cpu:  {machine: e2-standard-8, max: 6}
  t4:   {machine: n1-standard-8+t4, zones: [a, b], max: 4}
  l4:   {machine: g2-standard-8, zones: [a, b], max: 3}
  v100: {machine: n1-standard-8+v100, max: 2}
"""
WIDE, PHONE = (1200, 900), (390, 844)
COLUMNS, LINES = 138, 26
SGR = {"1": "font-weight:bold", "2": "opacity:.65", "32": "color:#7ee787", "33": "color:#e3b341", "31": "color:#ff7b72"}


def ask(d, owner, *bundles, **more):
    d.post({"owner": owner, "bundles": list(bundles), **more})


def busy(d):
    ask(d, "vision-train", {"GPU": 1, "CPU": 4, "accelerator_type": "T4", "count": 3}, priority=5)
    ask(d, "ann-eval", {"CPU": 6, "count": 2}, ttl="2h")
    ask(d, "bob-notebook", {"GPU": 1, "accelerator_type": "L4", "count": 1}, ttl="8h")
    d.until(lambda: d.ready() >= 6)
    for _ in range(4):  # some minutes of history
        d.clocks.ahead(11 * 60 * 1000)
        d.looks(2)
    ask(d, "bob-notebook")
    ask(d, "tune", {"GPU": 1, "CPU": 4, "accelerator_type": "T4", "count": 3}, ttl="4h")
    d.until(lambda: d.ready("t4") == 4)
    ask(d, "dream", {"GPU": 8, "accelerator_type": "H100", "count": 1})
    d.looks(2)


def broken(d):
    busy(d)
    simcloud.faults(d.dir / "cloud.json", down=["list", "launch", "terminate", "offers"])
    d.until(lambda: not d.status()["ready"] or d.clocks.ahead(5000))
    d.write((CONFIG % "").replace("max: 4}", "max: 1}"))
    d.call("POST", "/v1/reload")
    d.looks(2)


def shoot(browser, d, out, size=WIDE, dark=False, shown=True):
    page = browser.page(width=size[0], height=size[1], dark=dark, mobile=size[0] < 640)
    page.go(d.url + "/")
    page.until("document.documentElement.dataset.tick" if shown else "!document.querySelector('#login').hidden")
    if shown:
        page.until(f"document.documentElement.dataset.tick >= {d.status()['tick']}")
        page.until("document.querySelector('#past .chart')")
    page.picture(out)
    page.close()


# ---- a terminal

def painted(*args, env):
    """What a command writes on a terminal of this size."""
    pid, fd = pty.fork()
    if pid == 0:
        fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", LINES, COLUMNS, 0, 0))
        os.execvpe(args[0], args, env)
    out = b""
    try:
        while piece := os.read(fd, 1 << 16):
            out += piece
    except OSError:  # it has ended
        pass
    os.waitpid(pid, 0)
    return out.decode().replace("\r\n", "\n")


def spans(text):
    """Colours as a page has them; nothing else that a terminal obeys is left."""
    parts = re.split(r"\x1b\[([0-9;]*)m", text)
    out = [html.escape(parts[0])]
    for codes, piece in zip(parts[1::2], parts[2::2]):
        style = ";".join(SGR[c] for c in codes.split(";") if c in SGR)
        out.append(f'<span style="{style}">{html.escape(piece)}</span>')
    return re.sub(r"\x1b\[[?0-9;]*[A-Za-z]", "", "".join(out))


def shoot_top(browser, d, out):
    text = painted(str(DAVIT), "top", "--once", env={**os.environ, **d.env, "DAVIT_URL": d.url, "TERM": "xterm-256color"})
    body = f'<body style="margin:0;background:#0d1117;color:#e6edf3"><pre style="margin:14px;font:14px/1.35 DejaVu Sans Mono,monospace">' \
           f"<b>$ davit top</b>\n{spans(text)}</pre>"
    page = browser.page(width=1200, height=200)
    page.call("Page.setDocumentContent", frameId=page.call("Page.getFrameTree")["frameTree"]["frame"]["id"], html=body)
    page.until("document.querySelector('pre')")
    page.picture(out, whole=True)
    page.close()


def all_of_them(out, docs):
    name = {"busy": "page"} if docs else {}
    path = lambda what: out / (name.get(what, what) + ".png")  # noqa: E731
    with tempfile.TemporaryDirectory() as t, Browser() as browser:
        t = pathlib.Path(t)
        for part in ("empty", "busy", "broken", "token"):
            (t / part).mkdir()
        if not docs:
            with Daemon(t / "empty", CONFIG % "") as d:
                shoot(browser, d, path("empty"))
            tokens = t / "token/tokens"
            made = subprocess.run([DAVIT, "token", "new", "ops", "admin", "--file", tokens], capture_output=True, text=True, check=True)
            with Daemon(t / "token", CONFIG % f', tokens: "{tokens}"', start=False) as d:
                d.headers = {"Authorization": "Bearer " + made.stdout.strip()}
                d.start()
                shoot(browser, d, path("token"), shown=False)
            with Daemon(t / "broken", CONFIG % "") as d:
                broken(d)
                shoot(browser, d, path("broken"))
        with Daemon(t / "busy", CONFIG % "") as d:
            busy(d)
            shoot(browser, d, path("busy"))
            shoot_top(browser, d, path("top"))
            if not docs:
                shoot(browser, d, path("phone"), PHONE)
                shoot(browser, d, path("dark"), dark=True)


def main():
    docs = sys.argv[1:] == ["--docs"]
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    out = ROOT / "docs" if docs else pathlib.Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    all_of_them(out, docs)
    for p in sorted(out.glob("*.png")):
        print(p, p.stat().st_size, "bytes")


if __name__ == "__main__":
    main()
