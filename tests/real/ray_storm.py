#!/usr/bin/env python3
"""A storm with real Ray: no task on a healthy node is lost.

ray_storm.py [--seconds N] [--seed N] [--keep DIR]     exits with 1 when a law was broken; DIR gets the logs

A real head, raylets of the `local` provider, and the tasks of ray_driver.py with max_retries=0: Ray
starts none of them again, and they begin when nodes are about to be ended.  Meanwhile the daemon is
killed with `kill -9`, put to sleep, reloaded and given limits below what works; the head falls silent
at that moment; raylets do not start, start late, or are killed.  A task may be lost with the raylet
it ran on, when that was killed here.  Ends with a calm: all tasks are done, and every machine goes.
Run it through tests/netns.sh.
"""
import argparse
import collections
import json
import os
import pathlib
import random
import shutil
import signal
import sys
import time
import typing

from lib import raycluster, seeds, until
from lib.raydaemon import RayDaemon

DRIVER = pathlib.Path(__file__).with_name("ray_driver.py")
MOST, IDLE_S, NOTICED_S = 3, 2, 60  # machines; seconds until the head has noticed that a raylet is dead
PATIENCE_S = 40                     # seconds: a busy machine runs a task in so many
WRITE_S, END_S = 10, 5              # seconds: an unanswered drain has failed; a machine that is to end is gone
TYPES = {"one": {"resources": {"CPU": 1, "GPU": 1}, "price": 0.3, "max": 2, "boot": "5s"},
         "two": {"resources": {"CPU": 1, "GPU": 2}, "price": 0.5, "max": 1, "boot": "5s"}}
# Stands in for ray(1): now and then it does not start, or late.  Told to end, it is gone at once and
# the provider kills its raylet, as a cloud does: no work has time to end with its machine.
START = """#!/bin/bash
read -r fault < {file} || fault=
case $fault in
    dies) echo > {file}; exit 1;;
    late) echo > {file}; sleep 6;;
esac
{ray} "$@" & wait
"""


class Task(typing.NamedTuple):
    """One that began."""
    node: str
    at: float       # when, wall
    seconds: float  # so long it runs


class RayStorm:
    def __init__(self, ray, seed):
        self.ray, self.seed, self.chance = ray, seed, random.Random(seed)
        self.began, self.violations = time.monotonic(), []
        self.faults, self.killed, self.asked = collections.Counter(), [], {}
        self.most, self.end, self.done = 0, 0, []
        self.fault, self.program = ray.dir / "fault", ray.dir / "start"
        self.stop, self.started = ray.dir / "stop", ray.dir / "started"
        self.fault.write_text("\n")
        self.program.write_text(START.format(file=self.fault, ray=raycluster.ray_bin() / "ray"))
        self.program.chmod(0o755)
        self.daemon = RayDaemon(ray, types=TYPES, options={"ray": str(self.program)}, max_nodes=MOST, idle_timeout=f"{IDLE_S}s",
                                start_timeout="60s", max_ends="unlimited")

    def says(self, law, text):
        self.violations.append((law, text))
        print(f"{time.monotonic() - self.began:7.2f} law {law}: {text}", flush=True)

    # ---- what is seen

    def tasks(self):
        """Tasks that ended: {n: (when, error)}."""
        found = {}
        for line in self.driver.log.read_text().splitlines():
            if line.startswith("[") and line.endswith("]"):
                n, at, error = json.loads(line)
                found[n] = at, error
        return found

    def begun(self):
        """{n: Task}; a line that is being written is none yet."""
        lines = self.started.read_text().splitlines() if self.started.exists() else []
        return {x[0]: Task(*x[1:]) for x in (json.loads(line) for line in lines if line.endswith("]"))}

    def working(self, least_s, types):
        """Living nodes of these types with a task that runs for so many seconds still."""
        ended, now = self.tasks(), time.time()
        busy = {t.node for n, t in self.begun().items() if n not in ended and t.at + t.seconds - now > least_s}
        return [n for n in self.daemon.ray_nodes().values() if n.type in types and n.id in busy] if busy else []

    def judge(self):
        """Law 1: a task fails with a raylet that was killed here, or not at all."""
        where = {n: t.node for n, t in self.begun().items()}
        for n, (at, error) in self.tasks().items():
            if not error or n in self.done:
                continue
            self.done.append(n)
            excused = [k for k, node in self.killed if at - k < NOTICED_S and where.get(n, node) == node]
            if excused:
                self.faults["tasks lost with their raylet"] += 1
            else:
                self.says(1, f"task {n} on {where.get(n, 'no node')} was lost: {error[:400]}")
        self.most = max(self.most, self.machines())
        if self.machines() > MOST:
            self.says(3, f"{self.machines()} machines, max_nodes is {MOST}")

    def machines(self):
        return len([p for p in (self.daemon.dir / "machines").glob("*/*/machine.json")])

    def standing(self):
        """Law 2, after each start."""
        found = {r["owner"]: sum(b.get("count", 1) for b in r["request"]["bundles"]) for r in self.daemon.get("/v1/request_resources")[1]["requests"]
                 if r["source"] == "rest"}
        for owner, may in self.asked.items():
            if found.get(owner, 0) not in may:
                self.says(2, f"the request of {owner} has {found.get(owner, 0)} bundles, acknowledged were {may}")

    # ---- what happens

    def kill(self):
        self.daemon.kill()
        time.sleep(self.chance.uniform(0, 1.5))  # wait: the moment is drawn
        self.daemon.start(wait="/v1/status")
        self.standing()

    def sleep(self):
        self.daemon.p.send_signal(signal.SIGSTOP)
        time.sleep(self.chance.uniform(0.5, 4))  # wait: the moment is drawn
        self.daemon.p.send_signal(signal.SIGCONT)

    def reload(self):
        self.daemon.p.send_signal(signal.SIGHUP)

    def busy(self, least_s, types=tuple(TYPES)):
        """Nodes at work for so many seconds still, when there are some before long."""
        patience, found = min(self.end, time.monotonic() + PATIENCE_S), []
        while not found and time.monotonic() < patience:
            time.sleep(0.2)  # wait: it looks again, for as long as the storm allows
            found = self.working(least_s, types)
        return found

    def edit(self):
        """A max below what works, when something does: one of them is drained, with its task.  Else the old max."""
        text = json.loads(self.daemon.path.read_text())
        busy = self.busy(END_S, ["one"]) if text["node_types"] == TYPES else []
        self.faults["max below what works"] += bool(busy)
        text["node_types"]["one"]["max"] = len(busy) - 1 if busy else TYPES["one"]["max"]
        self.write(text)

    def head_silent(self):
        """It takes questions and says nothing, while a node that works is to go: silence is no consent."""
        busy, gcs = self.busy(WRITE_S + END_S), self.ray.gcs()
        if not busy:
            return
        os.kill(gcs, signal.SIGSTOP)
        try:
            asked = self.daemon.call("POST", f"/v1/nodes/{busy[0].instance_id}/drain")[0]
            self.faults["drained while the head is silent"] += asked == 200
            time.sleep(WRITE_S + self.chance.uniform(-2, 2))  # wait: the moment is drawn
        finally:
            os.kill(gcs, signal.SIGCONT)

    def write(self, text):
        self.daemon.write(json.dumps(text, indent=1))
        self.daemon.call("POST", "/v1/reload")
        if self.daemon.status()["config"]["held"]:
            self.daemon.call("POST", "/v1/apply")

    def ask(self):
        owner, n = f"job-{self.chance.randint(1, 2)}", self.chance.choice([0, 0, 1, 2])
        self.asked[owner] = [*self.asked.get(owner, [0]), n]
        if self.daemon.call("POST", "/v1/request_resources", {"owner": owner, "bundles": [{"GPU": 1}] * n})[0] in (200, 202):
            self.asked[owner] = [n]

    def bad_start(self):
        self.fault.write_text(self.chance.choice(["dies\n", "late\n"]))

    def raylet_dies(self):
        nodes = self.daemon.ray_nodes()
        if not nodes:
            return
        instance = self.chance.choice(sorted(nodes))
        for pid in raylets_of(instance):
            self.faults["raylets killed"] += 1
            self.killed.append((time.time(), nodes[instance].id))
            os.kill(pid, signal.SIGKILL)

    HAPPENINGS = [("kill", 3), ("sleep", 1), ("reload", 1), ("edit", 4), ("head_silent", 1), ("ask", 2), ("bad_start", 1), ("raylet_dies", 1)]

    def storm(self, seconds):
        """First each kind once, in an order by chance; then as often as they weigh."""
        self.end, names = time.monotonic() + seconds, [n for n, _ in self.HAPPENINGS]
        first = self.chance.sample(names, len(names))
        while time.monotonic() < self.end and not self.violations:
            name = first.pop() if first else self.chance.choices(names, [w for _, w in self.HAPPENINGS])[0]
            self.faults[name] += 1
            getattr(self, name)()
            time.sleep(self.chance.uniform(0.2, 3))  # wait: the moment is drawn
            self.judge()

    def calm(self):
        """All that was begun ends, and nothing is left."""
        self.fault.write_text("\n")
        text = json.loads(self.daemon.path.read_text())
        text["node_types"] = TYPES
        self.write(text)
        for owner in list(self.asked):
            self.daemon.post({"owner": owner, "bundles": []})
        self.stop.touch()
        until(lambda: self.driver.poll() is not None, 240, lambda: f"tasks wait: {self.daemon.status()}")
        self.judge()
        until(lambda: not self.machines(), 150, lambda: f"machines stay: {self.daemon.nodes()}\n{self.daemon.text()[-3000:]}")
        if self.driver.returncode:
            self.says(0, f"the driver ended with {self.driver.returncode}:\n{self.driver.log.read_text()[-2000:]}")

    def run(self, seconds):
        self.driver = self.ray.spawn(DRIVER.read_text(), LOAD_SEED=str(self.seed), LOAD_IDLE=str(IDLE_S), LOAD_STARTED=str(self.started),
                                     LOAD_STOP=str(self.stop))
        until(lambda: self.begun() or self.driver.poll() is not None, 120, "no task ever began")
        self.storm(seconds)
        if self.violations:
            return
        try:
            self.calm()
        except AssertionError as e:
            self.says(6, str(e)[:4000])

    def report(self):
        ended = self.tasks()
        return (f"seed {self.seed}: {time.monotonic() - self.began:.0f} s, " +
                ", ".join(f"{k} {n}" for k, n in sorted(self.faults.items())) +
                f"\n{sum(not e for _, e in ended.values())} of {len(ended)} tasks done, {len(set(self.ever()))} machines, "
                f"{self.most} at once\n{len(self.violations)} violations")

    def keep(self, to):
        to.mkdir(parents=True, exist_ok=True)
        for file in (self.daemon.dir / "log", self.driver.log, self.started):
            shutil.copy(file, to)

    def ever(self):
        return [e["text"] for e in self.daemon.logged("node.ready")]


def raylets_of(instance):
    """The provider's raylets of that machine, by their own environment."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/environ", "rb") as f, open(f"/proc/{pid}/comm") as c:
                if c.read().strip() == "raylet" and f"RAY_CLOUD_INSTANCE_ID={instance}".encode() in f.read().split(b"\0"):
                    found.append(int(pid))
        except OSError:
            pass
    return found


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--seconds", type=float, default=60)
    p.add_argument("--seed", type=int)
    p.add_argument("--keep", metavar="DIR")
    a = p.parse_args()
    raycluster.enter_namespace()
    with raycluster.RayCluster(cpus=1) as ray:
        storm = RayStorm(ray, seeds.seed(a.seed))
        with storm.daemon:
            storm.run(a.seconds)
            if a.keep:
                storm.keep(pathlib.Path(a.keep))
            print(storm.report(), flush=True)
    print(f"{int(not storm.violations)} passed, {int(bool(storm.violations))} failed")
    sys.exit(1 if storm.violations else 0)


if __name__ == "__main__":
    main()
