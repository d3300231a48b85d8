"""No character that a terminal obeys, or that turns the text beside it, leaves
davit raw: a matrix of them through every name that others choose, and every
exit looked at byte by byte."""
import json
import os
import pty
import re
import subprocess
import sys
import urllib.error
import urllib.request

import pytest
from lib import DAVIT, PATIENCE, ROOT, until, without
from lib.daemon import Daemon

OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))
BIDI = [0x61C, 0x200E, 0x200F, *range(0x2028, 0x202F), *range(0x2066, 0x206A)]
MATRIX = [*range(1, 0x20), 0x7F, *range(0x80, 0xA0), *BIDI]
EVIL = "".join(chr(c) for c in MATRIX)
# what a name may be in an exec program's answers, in pieces, since fields are short
PIECES = [EVIL[i:i + 20] for i in range(0, len(EVIL), 20)]


def bad(data, allowed="\n\t"):
    """The forbidden characters in what came out."""
    text = data.decode("utf-8", "surrogateescape") if isinstance(data, bytes) else data
    return sorted({hex(ord(c)) for c in text if (ord(c) in MATRIX and c not in allowed) or 0xDC80 <= ord(c) <= 0xDCFF})


PROGRAM = '''import json, sys
PIECES = json.loads(sys.argv[1])
n = 0
for line in sys.stdin:
    r = json.loads(line)
    n += 1
    p = PIECES[n % len(PIECES)]
    sys.stderr.write("stderr " + p.replace("\\n", "") + "\\n")
    sys.stderr.flush()
    if r["op"] == "list":
        for i, q in enumerate(PIECES):
            print(json.dumps({"id": r["id"], "machine": {"id": f"m{i}", "request_id": "r", "type": "t", "zone": "", "address": "",
                              "phase": "starting", "detail": "d" + q}}))
    status = {"launch": "STOCKOUT", "terminate": "RETRY"}.get(r["op"], "OK")
    print(json.dumps({"id": r["id"], "status": status, "code": "C" + p[:10], "text": "why " + p}), flush=True)
'''

CONFIG = """cluster: c
state: {dir}/state.db
api: {listen: "127.0.0.1:{port}"}
providers: {mine: {plugin: exec, command: [%s, "{dir}/program.py", %s]}}
node_types: {t: {provider: mine, resources: {CPU: 1}, max: 100, labels: {"team": "x"}}}
"""


def davit(*args, **env):
    return subprocess.run([DAVIT, *args], capture_output=True, timeout=PATIENCE, env={**without(), **env}, stdin=subprocess.DEVNULL)


def on_a_terminal(*args, **env):
    """What a command writes to a terminal; it ends by itself."""
    master, slave = pty.openpty()
    p = subprocess.Popen([DAVIT, *args], stdin=subprocess.DEVNULL, stdout=slave, stderr=slave,
                         env={**without("NO_COLOR"), "TERM": "xterm", **env})
    os.close(slave)
    data = b""
    while True:
        try:
            got = os.read(master, 65536)
        except OSError:
            break
        if not got:
            break
        data += got
    os.close(master)
    p.wait(PATIENCE)
    return data.replace(b"\r\n", b"\n")


@pytest.fixture(scope="module")
def daemons(tmp_path_factory):
    """One with lines for people in its log, one with JSON, both full of names."""
    made = []
    for args in ([], ["--log-json"]):
        folder = tmp_path_factory.mktemp("d")
        (folder / "program.py").write_text(PROGRAM)
        conf = CONFIG % (sys.executable, json.dumps(json.dumps(PIECES)))
        d = Daemon(folder, conf, args=["--verbose", *args])
        taken = set()
        for i, piece in enumerate(PIECES):
            for what in ({"owner": f"o{i}" + piece, "bundles": [{"CPU": 1}]}, {"owner": f"r{i}", "bundles": [{"CPU": 1, "r" + piece: 1}]},
                         {"owner": f"l{i}", "bundles": [{"CPU": 1, "labels": {"k" + piece: "v" + piece}}]},
                         {"owner": f"q{i}", "queue": "q" + piece, "bundles": [{"CPU": 1}]}):
                code = d.call("POST", "/v1/request_resources", what)[0]
                assert code in (200, 202, 400), what
                if code != 400:
                    taken.add(what["owner"][0])
        assert "r" in taken, "resources may have any name"
        d.post({"owner": "good", "bundles": [{"CPU": 1}]})
        made.append(d)
    for d in made:
        until(lambda d=d: "u202e" in d.text(), why=d.text)
    yield made
    for d in made:
        d.stop()


COMMANDS = [["status"], ["status", "--json"], ["nodes"], ["nodes", "--json"], ["why", "good"], ["why", "--json", "r0"], ["why", "r1"], ["why", "nobody"], ["request", "--help"],
            ["request", "--owner", "cli" + PIECES[1].replace("\n", ""), "CPU=1", "--timeout", "0.2"],
            ["events"], ["events", "--json"], ["cost"], ["cost", "--json"], ["status", "--ray"], ["why", "--not-launched", "t"],
            ["cordon", "x" + EVIL], ["drain", "x" + EVIL], ["protect", "x" + EVIL], ["config", "explain", "x" + EVIL],
            ["__complete", "--", "why", ""], ["__complete", "--", "request", "--owner", ""],
            ["no" + EVIL.replace("\n", "")], ["why", "x" + EVIL], ["doctor", EVIL], ["validate", EVIL], ["validate", "--x" + EVIL]]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda c: c[0][:8] + ("-json" if "--json" in c else ""))
def test_commands(daemons, command):
    env = {"DAVIT_URL": daemons[0].url}
    p = davit(*command, **env)
    assert p.stdout or p.stderr
    assert not bad(p.stdout) and not bad(p.stderr), (bad(p.stdout), bad(p.stderr))
    shown = on_a_terminal(*command, **env)
    ours = re.sub(rb"\x1b\[(0|1|2|32|33|31)m", b"", shown)
    assert not bad(ours), bad(ours)
    if "--json" in command:
        for text in p.stdout.splitlines() if command[0] == "events" else [p.stdout]:
            json.loads(text)


def test_logs(daemons):
    for d in daemons:
        text = (d.dir / "log").read_bytes()
        assert b"stderr" in text and b"\\u202e" in text
        assert not bad(text, "\n"), bad(text, "\n")
    for line in (daemons[1].dir / "log").read_text().splitlines():
        json.loads(line)


@pytest.mark.parametrize("path", ["/v1/status", "/v1/nodes", "/v1/why/r1", "/v1/snapshot", "/v1/plan", "/v1/events?format=json", "/v1/requests", "/", "/metrics", "/readyz", "/healthz"])
def test_replies(daemons, path):
    try:
        with OPENER.open(daemons[0].url + path, timeout=PATIENCE) as r:
            raw = r.read()
    except urllib.error.HTTPError as e:
        raw = e.read()
    assert raw and not bad(raw), bad(raw)


def test_plans_and_files(tmp_path):
    """What is read from a file comes back in messages and tables."""
    name = "n" + EVIL.replace("\n", "")
    snapshot = {"snapshot": 1, "node_types": [{"name": "t", "resources": {"CPU": 1, name: 2}, "max": 2, "labels": {name: name}}],
                "demands": [{"owner": name, "bundles": [{"resources": {name: 1}}]}], name: 1}
    (tmp_path / "s.json").write_text(json.dumps(snapshot))
    (tmp_path / "c.yaml").write_text(json.dumps({"cluster": name, name: name, "node_types": {name: {"machine": name, name: 1},
                                                 "t": {"resources": {name: 1}, "labels": {name: name}, "zones": [name]}},
                                                 "providers": {name: {}, "sim": {name: name}}}))
    (tmp_path / "raw.yaml").write_bytes(b"cluster: \x1b]0;x\x07\nx\xc2\x9b31m: 1\n\xff\xfe: 2\n")
    for args in (["plan", "s.json"], ["plan", "--json", "s.json"], ["validate", "c.yaml"], ["validate", "--json", "c.yaml"],
                 ["run", "c.yaml"], ["doctor", "c.yaml"], ["plan", "c.yaml"], ["validate", "raw.yaml"], ["run", "raw.yaml"],
                 ["catalogue", "--file", "raw.yaml"], ["catalogue", name]):
        p = subprocess.run([DAVIT, *args], capture_output=True, timeout=PATIENCE, cwd=tmp_path, env=without())
        assert p.stdout or p.stderr, args
        assert not bad(p.stdout) and not bad(p.stderr), (args, bad(p.stdout), bad(p.stderr))


def test_journals_and_drawings(daemons, tmp_path):
    """What is kept in the journal comes out of its tools as plain, and a drawing of a simulation holds nothing either."""
    name = "n" + EVIL.replace("\n", "")
    env = without()
    path = daemons[0].dir / "state.db"
    for args in (["check"], ["export"], ["backup", "copy.db"], ["forget", "--request", name]):
        p = subprocess.run([DAVIT, "journal", args[0], "--journal", path, *args[1:]], capture_output=True, timeout=PATIENCE, cwd=tmp_path, env=env)
        assert p.stdout or p.stderr, args
        assert not bad(p.stdout) and not bad(p.stderr), (args, bad(p.stdout), bad(p.stderr))
    for more in (["adopt", "--yes", name], ["forget", name], ["apply"], ["release"]):
        p = davit(*more, DAVIT_URL=daemons[0].url)
        assert not bad(p.stdout) and not bad(p.stderr), (more, bad(p.stdout), bad(p.stderr))
    (tmp_path / "c.yaml").write_text(json.dumps({"cluster": "c", "providers": {"sim": {}}, "node_types": {
        "t": {"provider": "sim", "resources": {"CPU": 4}, "max": 2, "price": 1}}}))
    (tmp_path / "t.csv").write_text(f'submit,runs,cpus,owner\n0,1h,1,"{name}"\n0,1h,{name},x\n')
    (tmp_path / "good.csv").write_text('submit,runs,cpus,owner\n0,1h,1,x\n')
    for trace in ("t.csv", "good.csv"):
        os.rename(tmp_path / "c.yaml", tmp_path / f"c{name[:40].replace('/', '')}.yaml")
        p = subprocess.run([DAVIT, "simulate", f"c{name[:40].replace('/', '')}.yaml", trace, "--svg", "x.svg"], capture_output=True,
                           timeout=PATIENCE, cwd=tmp_path, env=env)
        os.rename(tmp_path / f"c{name[:40].replace('/', '')}.yaml", tmp_path / "c.yaml")
        assert not bad(p.stdout) and not bad(p.stderr), (trace, bad(p.stdout), bad(p.stderr))
    drawn = (tmp_path / "x.svg").read_bytes()
    assert b"<svg" in drawn and not bad(drawn), bad(drawn)


def test_the_page_shows_texts_through_one_function():
    page = "".join(p.read_text() for p in sorted((ROOT / "autoscaler/api/page/web").iterdir()))
    assert not re.search(r"innerHTML|outerHTML|createContextualFragment|setHTML|insertAdjacentHTML|document\.write", page)
    for what in re.findall(r"\.textContent = (.*?);", page):
        texts = re.sub(r'"[^"]*"|seen\([^()]*\)|span\([^()]*\)', "", what)
        assert not re.search(r"\b(text|message|cluster|version)\b", texts), what
    listed = re.search(r"const seen = .*?\[(.*?)\]/g", page, re.S).group(1)
    ranges = [(int(a, 16), int(b or a, 16)) for a, b in re.findall(r"\\u([0-9a-f]{4})(?:-\\u([0-9a-f]{4}))?", listed)]
    assert {c for a, b in ranges for c in range(a, b + 1)} == {0, *MATRIX}
