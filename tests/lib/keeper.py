#!/usr/bin/env python3
"""Runs one command as the init of everything it starts, and tells what stays.

keeper.py REPORT COMMAND...   ends with the command's exit code; REPORT becomes
JSON: {"code", "cpu": seconds of all that ran, "left": [what was left behind]}.
Whoever loses his parent becomes our child (PR_SET_CHILD_SUBREAPER), whatever
session or network namespace he is in: our children are what the command left.
$TMPDIR and $XDG_RUNTIME_DIR are a folder of its own; what is in it afterwards was
left, too.  Both are told, ended by id, removed.  A namespace of tests/netns.sh
goes with its last process.  SIGTERM, or our parent's death, ends it all.
"""
import ctypes
import json
import os
import pathlib
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time

GRACE = 30  # seconds for what is ending already; nobody waits when nothing is
PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36


def children():
    """{pid: command line} of all that descends from us and lives."""
    parents = {}
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            state, parent = pathlib.Path("/proc", entry, "stat").read_text().rsplit(")", 1)[1].split()[:2]
        except OSError:
            continue
        if state != "Z":
            parents[int(entry)] = int(parent)
    mine, size = {os.getpid()}, 0
    while len(mine) > size:
        size = len(mine)
        mine |= {p for p, parent in parents.items() if parent in mine}
    found = {}
    for p in mine - {os.getpid()}:
        try:
            found[p] = pathlib.Path(f"/proc/{p}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            pass
    return found


def reap():
    """Takes the dead; false when there is no child at all."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return False
    return True


def end_children(grace):
    """Waits for those who end by themselves; who did not is told and killed."""
    until = time.monotonic() + grace
    while reap() and time.monotonic() < until:
        time.sleep(0.05)
    left = children()
    for _ in range(100):
        for pid in children():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        if not reap():
            break
        time.sleep(0.05)
    return [f"process {pid}: {text[:150].strip()}" for pid, text in sorted(left.items())]


def main():
    report, *command = sys.argv[1:]
    libc = ctypes.CDLL(None, use_errno=True)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    if libc.prctl(PR_SET_PDEATHSIG, signal.SIGTERM) or libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "prctl")
    tmp = tempfile.mkdtemp(prefix="dv")  # short: sockets lie in it
    code, left = 1, []
    try:
        first = subprocess.Popen(command, env=dict(os.environ, TMPDIR=tmp, XDG_RUNTIME_DIR=tmp))
        pid = 0
        while pid != first.pid:
            pid, status = os.wait()
        first.returncode = 0  # it is reaped: Popen need not look for it
        code = os.waitstatus_to_exitcode(status)
    finally:
        left = end_children(GRACE)
        if not os.environ.get("DAVIT_KEEP"):
            # pytest keeps its last folders, also of tests that went well; ccache, where gcc is one, its own
            left += [f"file {tmp}/{n}" for n in sorted(os.listdir(tmp)) if not n.startswith("pytest-of-") and n != "ccache-tmp"]
            shutil.rmtree(tmp, ignore_errors=True)
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        pathlib.Path(report).write_text(json.dumps({"code": code, "cpu": used.ru_utime + used.ru_stime, "left": left}))
    sys.exit(code if code >= 0 else 128 - code)


if __name__ == "__main__":
    main()
