#!/usr/bin/env python3
"""A storm with real Ray: no task on a healthy node is lost.

ray_storm.py [--seconds N] [--seed N]     exits with 1 when a law was broken

A real head, raylets of the `local` provider, and a driver whose tasks run for seconds with
max_retries=0: Ray starts none of them again.  Meanwhile the daemon is killed with `kill -9`, put to
sleep, reloaded and given other limits; raylets do not start, start late, or are killed.  A task may
be lost with the raylet it ran on, when that was killed here.  Ends with a calm: all tasks are done,
and every machine goes.  Run it through tests/netns.sh.
"""
import argparse
import collections
import json
import os
import random
import signal
import sys
import time

from lib import raycluster, until
from lib.raydaemon import RayDaemon

MOST, NOTICED_S = 3, 40     # machines; seconds until the head has noticed that a raylet is dead
TYPES = {"one": {"resources": {"CPU": 1, "GPU": 1}, "price": 0.3, "max": 2, "boot": "5s"},
         "two": {"resources": {"CPU": 1, "GPU": 2}, "price": 0.5, "max": 1, "boot": "5s"}}

DRIVER = """
import json, os, random, time, ray
ray.init(log_to_driver=False)
chance = random.Random({seed})

@ray.remote(num_gpus=1, num_cpus=0, max_retries=0)
def work(n, seconds):
    with open({started!r}, "a") as f:
        f.write(json.dumps([n, ray.get_runtime_context().get_node_id()]) + "\\n")
    time.sleep(seconds)
    return n

todo, n = {{}}, 0
while not os.path.exists({stop!r}) or todo:
    if not os.path.exists({stop!r}) and len(todo) < 4 and chance.random() < 0.3:
        for _ in range(chance.randint(1, 3)):
            todo[work.remote(n, chance.uniform(2, 20))] = n  # longer than a raylet takes to end
            n += 1
    done = ray.wait(list(todo), timeout=0.3)[0] if todo else time.sleep(0.3) or []
    for x in done:
        try:
            ray.get(x)
            error = ""
        except ray.exceptions.RayError as e:
            error = f"{{type(e).__name__}}: {{e}}"
        print(json.dumps([todo.pop(x), time.time(), error]), flush=True)
"""
# Stands in for ray(1): now and then it does not start, or late.
START = """#!/bin/bash
read -r fault < {file} || fault=
case $fault in
    dies) echo > {file}; exit 1;;
    late) echo > {file}; sleep 6;;
esac
exec {ray} "$@"
"""


class RayStorm:
    def __init__(self, ray, seed):
        self.ray, self.seed, self.chance = ray, seed, random.Random(seed)
        self.began, self.violations = time.monotonic(), []
        self.faults, self.killed, self.asked = collections.Counter(), [], {}
        self.most, self.until, self.done = 0, [], []
        self.fault, self.program = ray.dir / "fault", ray.dir / "start"
        self.stop, self.started = ray.dir / "stop", ray.dir / "started"
        self.fault.write_text("\n")
        self.program.write_text(START.format(file=self.fault, ray=raycluster.ray_bin() / "ray"))
        self.program.chmod(0o755)
        self.daemon = RayDaemon(ray, types=TYPES, options={"ray": str(self.program)}, max_nodes=MOST, idle_timeout="2s",
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

    def judge(self):
        """Law 1: a task fails with a raylet that was killed here, or not at all."""
        where = {}
        if self.started.exists():
            where = dict(json.loads(x) for x in self.started.read_text().splitlines())
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
        time.sleep(self.chance.uniform(0, 1.5))
        self.daemon.start(wait="/v1/status")
        self.standing()

    def sleep(self):
        self.daemon.p.send_signal(signal.SIGSTOP)
        time.sleep(self.chance.uniform(0.5, 4))
        self.daemon.p.send_signal(signal.SIGCONT)

    def reload(self):
        self.daemon.p.send_signal(signal.SIGHUP)

    def edit(self):
        """A max below what works, when something does: one of them is drained, with its task.  Else the old max."""
        text, patience = json.loads(self.daemon.path.read_text()), time.monotonic() + 20
        old, busy = text["node_types"]["one"]["max"], 0
        while old == 2 and not busy and time.monotonic() < patience:
            time.sleep(0.2)
            busy = sum(n.type == "one" and n.status == "RUNNING" for n in self.daemon.ray_nodes().values())
        self.faults["max below what works"] += busy > 0
        text["node_types"]["one"]["max"] = busy - 1 if busy else 2
        self.write(text)

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

    HAPPENINGS = [("kill", 3), ("sleep", 1), ("reload", 1), ("edit", 3), ("ask", 3), ("bad_start", 1), ("raylet_dies", 1)]

    def storm(self, seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end and not self.violations:
            name = self.chance.choices([n for n, _ in self.HAPPENINGS], [w for _, w in self.HAPPENINGS])[0]
            self.faults[name] += 1
            getattr(self, name)()
            time.sleep(self.chance.uniform(0.2, 3))
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
        self.driver = self.ray.spawn(DRIVER.format(seed=self.seed, started=str(self.started), stop=str(self.stop)))
        self.storm(seconds)
        try:
            self.calm()
        except AssertionError as e:
            self.says(6, str(e)[:4000])
        if not self.tasks():
            self.says(0, "no task ever ran")

    def report(self):
        ended = self.tasks()
        return (f"seed {self.seed}: {time.monotonic() - self.began:.0f} s, " +
                ", ".join(f"{k} {n}" for k, n in sorted(self.faults.items())) +
                f"\n{sum(not e for _, e in ended.values())} of {len(ended)} tasks done, {len(set(self.ever()))} machines, "
                f"{self.most} at once\n{len(self.violations)} violations")

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
    p.add_argument("--seed", type=int, default=int(os.environ.get("SEED", time.time() * 1000 % 1000000)))
    a = p.parse_args()
    print(f"SEED {a.seed}", flush=True)
    raycluster.enter_namespace()
    with raycluster.RayCluster(cpus=1) as ray:
        storm = RayStorm(ray, a.seed)
        with storm.daemon:
            storm.run(a.seconds)
            print(storm.report(), flush=True)
    print(f"{int(not storm.violations)} passed, {int(bool(storm.violations))} failed")
    sys.exit(1 if storm.violations else 0)


if __name__ == "__main__":
    main()
