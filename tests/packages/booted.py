"""A package's life under a real systemd, on this machine's copy: installed it runs as its unit says, is started again when it is
killed, goes on from its journal after an upgrade, and is gone after a removal.

    tests/packages/boot.sh python3 tests/packages/booted.py OLD.deb NEW.deb

Prints "the end" when all of it was so.  Runs as root, with the standard library alone.
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import time
import urllib.request

OLD, NEW = sys.argv[1:]
PATIENCE = 60
DPKG = ("dpkg", "--no-triggers", "--force-unsafe-io")
STATE = pathlib.Path("/var/lib/private/davit/davit.db")


def run(*words, expect=0):
    p = subprocess.run(words, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL,
                       env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND": "noninteractive"})
    assert p.returncode == expect, f"{' '.join(words)}: {p.returncode}\n{p.stdout}{p.stderr}"
    return p.stdout


def show(what):
    return run("systemctl", "show", "-P", what, "davit").strip()


def asked(path, body=None):
    data = None if body is None else json.dumps(body).encode()
    with urllib.request.urlopen(urllib.request.Request(f"http://127.0.0.1:8790{path}", data), timeout=PATIENCE) as r:
        return json.load(r)


def until(what, why):
    end = time.monotonic() + PATIENCE
    while True:
        try:
            got = what()
        except OSError:
            got = None
        if got:
            return got
        log = run("journalctl", "-u", "davit", "--no-pager", "-n", "30") if time.monotonic() > end else ""
        assert not log, f"{why}\n{log}"
        time.sleep(0.1)  # wait: as lib's until(), which is not in this root


def answers():
    return until(lambda: asked("/v1/status"), "the daemon does not answer")


def owners():
    return {r["owner"] for r in asked("/v1/request_resources")["requests"]}


def of_process(pid, name):
    return re.search(rf"^{name}:\s*(.*)$", pathlib.Path("/proc", pid, "status").read_text(), re.M)[1].split()


def main():
    assert pathlib.Path("/proc/1/comm").read_text() == "systemd\n"
    pathlib.Path("/usr/sbin/policy-rc.d").unlink(missing_ok=True)  # images of containers forbid to start services
    run(*DPKG, "-i", OLD)
    answers()
    assert show("ActiveState") == "active" and show("UnitFileState") == "enabled"
    pid = show("MainPID")
    user = of_process(pid, "Uid")[0]
    assert 61184 <= int(user) <= 65519, f"a user of its own, by systemd: {user}"
    assert of_process(pid, "NoNewPrivs") == ["1"] and of_process(pid, "Seccomp") == ["2"] and set(of_process(pid, "CapBnd")[0]) == {"0"}
    assert STATE.stat().st_uid == int(user) and STATE.parent.stat().st_mode & 0o777 == 0o700

    asked("/v1/request_resources", {"owner": "carol", "num_cpus": 1})
    os.kill(int(pid), 9)
    until(lambda: show("MainPID") not in (pid, "0") and answers(), "it is not started again")
    assert owners() == {"carol"} and show("NRestarts") == "1"
    run("systemctl", "reload", "davit")
    until(lambda: "config.loaded" in run("journalctl", "-u", "davit", "--no-pager"),
          "`systemctl reload` reads the settings")

    pid = show("MainPID")
    run(*DPKG, "-i", NEW)
    until(lambda: show("MainPID") not in (pid, "0") and answers(), "the new version was not started")
    assert owners() == {"carol"} and show("ActiveState") == "active"
    exposure = float(re.search(r"Overall exposure level for davit.service: ([\d.]+)", run("systemd-analyze", "security", "--no-pager", "davit"))[1])
    assert exposure <= 2.0, exposure
    print(f"exposure {exposure}")

    run(*DPKG, "-r", "davit")
    assert subprocess.run(["systemctl", "is-active", "-q", "davit"]).returncode != 0 and STATE.exists()
    run(*DPKG, "-P", "davit")
    assert not STATE.exists()
    print("the end")


main()
