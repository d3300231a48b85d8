"""A package's life, inside of the cage: installed over a journal of 0.1, started, asked, upgraded, removed, purged.

    tests/packages/cage.sh python3 tests/packages/life.py OLD.deb NEW.deb v0.1.sql

Prints "the end" when all of it was so.  Runs as root, with the standard library alone.
"""
import json
import os
import pathlib
import re
import shlex
import signal
import sqlite3
import subprocess
import sys
import time
import urllib.request

OLD, NEW, DUMP = sys.argv[1:]
USER = 61184  # as systemd would make one for DynamicUser=
STATE = pathlib.Path("/var/lib/private/davit")
CONFIG = pathlib.Path("/etc/davit/davit.yaml")
WANTED = pathlib.Path("/etc/systemd/system/multi-user.target.wants/davit.service")
PATIENCE = 90
DPKG = ("dpkg", "--no-triggers", "--force-unsafe-io")  # man-db's index takes seconds and is not ours


def run(*words, expect=0):
    p = subprocess.run(words, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL,
                       env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND": "noninteractive"})
    assert p.returncode == expect, f"{' '.join(words)}: {p.returncode}\n{p.stdout}{p.stderr}"
    return p.stdout


def service():
    """The settings of the installed unit."""
    return dict(re.findall(r"^(\w+)=(.*)$", pathlib.Path("/lib/systemd/system/davit.service").read_text(), re.M))


def state_make():
    """What systemd does before a start: the folder of StateDirectory=, owned by the service's user."""
    STATE.mkdir(parents=True, exist_ok=True)
    pathlib.Path("/var/lib/davit").exists() or pathlib.Path("/var/lib/davit").symlink_to("private/davit")
    for p in (STATE, *STATE.iterdir()):
        os.chown(p, USER, USER)
    # private/ is closed to others in real life; a process of systemd's is inside already.
    STATE.parent.chmod(0o755)


def ask(path):
    with urllib.request.urlopen(f"http://127.0.0.1:8790{path}", timeout=PATIENCE) as r:
        return json.load(r)


def start():
    """The unit's own command, as its user, without rights."""
    state_make()
    p = subprocess.Popen(["setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups", "--no-new-privs", "--bounding-set=-all", *shlex.split(service()["ExecStart"])],
                         cwd="/var/lib/davit", stderr=open("/tmp/davit.log", "a"))
    end = time.monotonic() + PATIENCE
    while True:
        assert p.poll() is None and time.monotonic() < end, pathlib.Path("/tmp/davit.log").read_text()
        try:
            ask("/v1/status")
            return p
        except OSError:
            time.sleep(0.05)  # wait: as lib's until(), which is not in this root


def stop(p):
    p.send_signal(signal.SIGTERM)
    assert p.wait(PATIENCE) == 0


def old_journal():
    STATE.mkdir(parents=True)
    db = sqlite3.connect(STATE / "davit.db")
    db.executescript(pathlib.Path(DUMP).read_text())
    db.execute("UPDATE request SET expires_ms = ? WHERE expires_ms > 0", [int(time.time() * 1000) + 36000000])  # as on its day
    db.commit()
    db.close()
    with open(CONFIG) as f:
        text = f.read()
    CONFIG.write_text(text.replace("my-cluster ", "old ").replace("providers: {}", "providers: {sim: {}}")
                      .replace("node_types: {}", "node_types: {t4: {machine: n1-standard-8+t4, max: 4}}"))


def left():
    """Whatever is called davit, but dpkg's own books and this test's log."""
    found = run("find", "/etc", "/usr", "/lib/systemd", "/var/lib", "/run", "-xdev", "-name", "*davit*", "!", "-path", "/usr/local/*").split()
    return [f for f in found if not re.match(r"/usr/(src|lib/python)", f)]


def main():
    before = set(left())
    run(*DPKG, "-i", OLD)
    assert run("davit", "version") and WANTED.is_symlink(), "it is installed, and starts with the machine"
    assert "gke 1" in run("davit", "providers")
    run("davit", "validate", str(CONFIG))
    run("systemd-analyze", "verify", "/lib/systemd/system/davit.service")
    p = start()     # as it comes out of the package
    assert ask("/v1/status")["cluster"] == "my-cluster" and "my-cluster" in run("davit", "status")
    stop(p)
    run("rm", "-r", "/var/lib/davit", str(STATE))

    old_journal()   # of Davit 0.1, and settings that somebody changed
    p = start()
    owners = {r["owner"] for r in ask("/v1/request_resources")["requests"]}
    assert {"alice", "bob"} <= owners, owners
    assert "carol" not in owners and run("davit", "request", "--owner", "carol", "CPU=1*2", expect=0)
    changed = CONFIG.read_text()
    run(*DPKG, "-i", NEW)      # while it runs
    assert run("dpkg-query", "-W", "-f", "${Version}", "davit") == re.search(r"_([^_]*)_", os.path.basename(NEW))[1]
    assert CONFIG.read_text() == changed, "settings survive an upgrade"
    stop(p)
    p = start()     # what the package's postinst does where systemd runs
    assert {"alice", "bob", "carol"} <= {r["owner"] for r in ask("/v1/request_resources")["requests"]}
    assert "ok " in run("davit", "journal", "check", "/var/lib/davit/davit.db")
    stop(p)

    run(*DPKG, "-r", "davit")
    assert not os.path.exists("/usr/bin/davit") and CONFIG.exists() and (STATE / "davit.db").exists()
    run(*DPKG, "-P", "davit")
    assert set(left()) == before, set(left()) - before
    print("the end")


main()
