"""What tests of several folders share: where things are, how to wait, ports.

pytest finds this package by pytest.ini; a program below a folder of tests/ by
PYTHONPATH=tests.  DAVIT_BUILD names another build: DAVIT_BUILD=build/debug;
DAVIT another daemon.
"""
import json
import os
import pathlib
import random
import resource
import socket
import subprocess
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


def is_alive(pid):
    """Neither gone nor waiting to be reaped; it may go between two looks."""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def ends_with_us(argv, signal="KILL"):
    """The program gets this signal when the test run ends, however that ends.  Not by a preexec_fn: with one Python forks
    a copy of itself, in which threads of gRPC (Ray's) come to an abort now and then before the program begins."""
    return ["setpriv", "--pdeathsig", signal, "--", *map(str, argv)]


def crowded():
    """How many times as long as alone a thing may take here: what wants to run, by core, in the last minute."""
    return max(1, os.getloadavg()[0] / os.cpu_count())


def slow_core():
    """How many times as much CPU time as usual a thing takes here now: a core that is shared, or of an older machine, is
    slower, and one whose neighbours fill its caches is so for some work alone.  By two pieces of work that never change: a
    loop, 80 ms of a core of 2024, and a plan of 100 ms of counted steps, 140 ms with what is around it.  A limit in CPU
    time is multiplied by it."""
    loops = []
    for _ in range(3):
        begun, total = time.process_time(), 0
        for i in range(1000000):
            total += i * i
        loops.append(time.process_time() - begun)
    return max(1, min(loops) / 0.08, min(plan_time() for _ in range(3)) / 0.14 if BUILD.name == "release" else 0)


def plan_time():
    """CPU time of a plan of 100 ms of counted steps."""
    from bench.gen_cases import demands, facts_of, node_types
    rng = random.Random("a core")
    world = facts_of({"node_types": node_types(rng, 27), "demands": demands(rng, 1000, 150, .33)})
    begun = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    subprocess.run([DAVIT, "plan", "--json", "--budget", "100ms", "-"], input=json.dumps(world), text=True, check=True,
                   stdout=subprocess.DEVNULL)
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - begun


def free_ports(n):
    """Below the ephemeral range: nobody's outgoing connection takes one meanwhile."""
    found = set()
    while len(found) < n:
        port = random.randint(20000, 32000)  # any will do
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
