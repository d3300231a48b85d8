"""What tests of several folders share: where things are, how to wait, ports.

pytest finds this package by pytest.ini; a program below a folder of tests/ by
PYTHONPATH=tests.  DAVIT_BUILD names another build: DAVIT_BUILD=build/debug;
DAVIT another daemon.
"""
import os
import pathlib
import random
import socket
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
TESTS = ROOT / "tests"
BUILD = ROOT / os.environ.get("DAVIT_BUILD", "build/release")
DAVIT = os.environ.get("DAVIT") or str(BUILD / "davit")
# How long a test waits for what must happen.  It goes on as soon as it has: the
# end is for what never does, and far off for a machine with other work.
PATIENCE = 180


def until(what, seconds=PATIENCE, why="it did not happen", every=0.02):
    """The first true value of what(); fails after so many seconds."""
    end = time.monotonic() + seconds
    while True:
        got = what()
        if got:
            return got
        if time.monotonic() > end:
            raise AssertionError(f"{why() if callable(why) else why} within {seconds} s")
        time.sleep(every)


def stays(what, seconds, why="it changed"):
    """True all the while."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        assert what(), why() if callable(why) else why
        time.sleep(0.05)


def crowded():
    """How many times as long as alone a thing may take here: what wants to run, by core, in the last minute."""
    return max(1, os.getloadavg()[0] / os.cpu_count())


def slow_core():
    """How many times as much CPU time as usual a thing takes here now: a core that is shared, or of an older machine, is
    slower.  By a piece of work that never changes, 80 ms of a core of 2024; a limit in CPU time is multiplied by it."""
    took = []
    for _ in range(3):
        begun, total = time.process_time(), 0
        for i in range(1000000):
            total += i * i
        took.append(time.process_time() - begun)
    return max(1, min(took) / 0.08)


def free_ports(n):
    """Below the ephemeral range: nobody's outgoing connection takes one meanwhile."""
    found = set()
    while len(found) < n:
        port = random.randint(20000, 32000)
        with socket.socket() as s:
            try:
                s.bind(("127.0.0.1", port))
                found.add(port)
            except OSError:
                pass
    return sorted(found)


def free_port():
    return free_ports(1)[0]


def without(*prefixes):
    """This process's environment without such variables, and without proxies."""
    return {k: v for k, v in os.environ.items() if not k.lower().endswith("_proxy") and not k.startswith(prefixes)}
