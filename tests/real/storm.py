#!/usr/bin/env python3
"""A storm of the real daemon: a played cloud, head and users, and faults of all kinds at once.

storm.py [--seconds N] [--seed N]     exits with 1 when a law was broken

Random kills, stops, reloads, a full disk, calls that are lost, hang or are refused, lists that lag
or are short, machines that fail, die, never join or are taken back, a head that is silent: for a
while, then a calm in which all must settle.  judge.py holds the laws, from outside.  Times are short
by the configuration.  The seed repeats what happens, not when the daemon does what.
"""
import argparse
import collections
import http.client
import json
import pathlib
import queue
import random
import resource
import shutil
import signal
import sys
import tempfile
import threading
import time

import cloud as played_cloud
import head as played_head
import judge as judges
from lib import seeds
from lib.daemon import Daemon

HERE = pathlib.Path(__file__).resolve().parent
PROVIDERS = {"east": {"gpu-e": 1.0}, "west": {"gpu-w": 2.0, "cpu": 0.2}}
PRICES = {t: p for types in PROVIDERS.values() for t, p in types.items()}
CALM = ({"gpu-e": 3, "gpu-w": 3, "cpu": 3}, 9, 12.0)   # enough for what is asked for in a calm
STORM_S, SETTLE_S, REST_S = 20, 150, 3


def configuration(socket, head, limits, extra=""):
    kinds, nodes, budget = limits
    relay = [sys.executable, "-I", "-S", str(HERE / "relay.py"), socket]
    return json.dumps({
        "cluster": "storm", "head": {"ray": {"address": head}}, "api": {"listen": "127.0.0.1:{port}"},
        "state": "{dir}/davit.db",
        "limits": {"max_nodes": nodes, "max_cost_per_hour": budget, "idle_timeout": "500ms", "think": "50ms",
                   "start_timeout": f"{judges.NEVER_JOINS}s"},
        "providers": {p: {"plugin": "exec", "command": relay, "timeout": "2s", "grace": "500ms", "settle": "2s",
                          "options": {"name": p}} for p in PROVIDERS},
        "node_types": {t: {"provider": p, "resources": played_head.UNITS["gpu" if t.startswith("gpu") else "cpu"],
                           "price": PRICES[t], "max": kinds[t], "zones": ["a", "b", "c"]} for p, types in PROVIDERS.items() for t in types},
    }, indent=1) + extra


class Users(threading.Thread):
    """Ask for things, one after the other, and look at what stands."""

    def __init__(self, storm):
        super().__init__(daemon=True)
        self.storm, self.todo = storm, queue.Queue()

    def run(self):
        while (job := self.todo.get()) is not None:
            try:
                job()
            except (OSError, http.client.HTTPException):
                pass        # the daemon was killed meanwhile
            except Exception as e:
                self.storm.judge.says(0, f"the storm itself: {e!r}")
                raise
            finally:
                self.todo.task_done()
        self.todo.task_done()

    def ask(self, owner, gpu, cpu):
        self.todo.put(lambda: self.post(owner, (gpu, cpu)))

    def post(self, owner, what):
        judge = self.storm.judge
        judge.maybe(owner, what)
        bundles = [{"resources": played_head.ASKS[k], "count": n} for k, n in zip(("gpu", "cpu"), what) if n]
        code, _ = self.storm.daemon.call("POST", "/v1/request_resources", {"owner": owner, "bundles": bundles})
        if code in (200, 202):
            judge.acknowledged(owner, what)
            self.storm.counts["acknowledged"] += 1
        else:
            self.storm.counts["refused"] += 1

    def look(self):
        self.todo.put(self.compare)

    def compare(self):
        code, reply = self.storm.daemon.get("/v1/request_resources")
        if code != 200:
            return
        found = {}
        for r in reply["requests"]:
            n = collections.Counter()
            for b in r["request"]["bundles"]:
                n["gpu" if "GPU" in b["resources"] else "cpu"] += b.get("count", 1)
            if r["source"] == "rest":
                found[r["owner"]] = (n["gpu"], n["cpu"])
        self.storm.judge.standing(found)


class Storm:
    def __init__(self, seed, directory, hosts=False):
        """hosts: its cloud's ids are host names, which are given again."""
        self.seed, self.chance = seed, random.Random(seed)
        self.dir = pathlib.Path(directory)
        self.judge = judges.Judge()
        self.cloud = played_cloud.Cloud(str(self.dir / "cloud"), random.Random(seed + 1), self.judge,
                                        {"providers": PROVIDERS, "prices": PRICES, "hosts": hosts})
        self.head = self.cloud.options["head"] = played_head.Head(self.cloud)
        self.judge.cloud, self.judge.head = self.cloud, self.head
        self.users, self.counts = Users(self), collections.Counter()
        self.limits, self.over, self.killed, self.until = CALM, False, False, []

    # ---- life

    def __enter__(self):
        self.cloud.__enter__()
        self.head.__enter__()
        self.judge.limits_are(*self.limits)
        self.judge.starts.append(time.monotonic())
        self.daemon = Daemon(self.dir, self.text())
        self.clock = threading.Thread(target=self.ticks, daemon=True)
        self.clock.start()
        self.users.start()
        return self

    def __exit__(self, *_):
        self.over = True
        self.users.todo.put(None)
        self.users.join(100)
        self.clock.join(10)
        self.daemon.stop()
        self.head.__exit__()
        self.cloud.__exit__()

    def text(self, extra=""):
        return configuration(self.cloud.path, self.head.address, self.limits, extra)

    def ticks(self):
        while not self.over:
            try:
                self.head.step()
                self.judge.look()
            except Exception as e:  # a mistake of ours must not look like peace
                self.judge.says(0, f"the storm itself: {e!r}")
                raise
            time.sleep(0.1)  # wait: between two looks of the judge

    def later(self, seconds, what):
        self.until.append((time.monotonic() + seconds, what))

    def due(self, now=None):
        """What lasts for a while ends."""
        for x in [x for x in self.until if now or x[0] <= time.monotonic()]:
            self.until.remove(x)
            x[1]()

    # ---- the daemon

    def kill(self):
        self.counts["kills"] += 1
        self.killed = True
        self.daemon.p.send_signal(signal.SIGKILL)

    def kill_at_launch(self):
        when = self.chance.choice(["before", "after"])
        self.cloud.at_launch = lambda now: now == when and self.kill()

    def restart_in_order(self):
        self.counts["restarts"] += 1
        self.killed = True
        self.daemon.p.send_signal(signal.SIGCONT)
        self.daemon.p.send_signal(signal.SIGTERM)
        self.daemon.p.wait(60)

    def alive(self):
        """Starts it again when it was ended; one that ended by itself broke a law."""
        code = self.daemon.p.poll()
        if code is None:
            return
        if not self.killed:
            self.judge.says(7, f"the daemon ended with {code}:\n{self.daemon.text()[-2000:]}")
        self.killed = False
        self.daemon.log.close()
        self.daemon.write(self.text())  # with a broken file it does not start
        time.sleep(self.chance.uniform(0, 0.5))  # wait: the moment is drawn
        self.judge.starts.append(time.monotonic())
        self.daemon.start(wait=None)
        end = time.monotonic() + 60
        while not self.answers():
            if self.daemon.p.poll() is not None or time.monotonic() > end:
                return
            time.sleep(0.05)  # wait: it looks again; one that was killed is no failure
        self.judge.now_in_force()
        self.users.look()

    def answers(self):
        try:
            return self.daemon.get("/v1/status")[0] == 200
        except (OSError, http.client.HTTPException):
            return False

    def sleeps(self):
        self.counts["stopped for a while"] += 1
        p = self.daemon.p
        p.send_signal(signal.SIGSTOP)
        self.later(self.chance.uniform(0.3, 3), lambda: p.poll() is None and p.send_signal(signal.SIGCONT))

    def full_disk(self):
        self.counts["full disks"] += 1
        p, no = self.daemon.p, resource.RLIM_INFINITY
        if p.poll() is None:
            resource.prlimit(p.pid, resource.RLIMIT_FSIZE, (4096, no))
            self.later(self.chance.uniform(0.3, 3), lambda: p.poll() is None and
                       resource.prlimit(p.pid, resource.RLIMIT_FSIZE, (no, no)))

    # ---- the configuration

    def reload(self):
        self.counts["reloads"] += 1
        self.daemon.p.send_signal(signal.SIGHUP)

    def mistake(self):
        self.counts["broken files"] += 1
        self.daemon.write(self.text("\nlimts: {}\n"))
        self.later(1, lambda: self.daemon.write(self.text()))

    def edit(self):
        c = self.chance
        self.take(({"gpu-e": c.randint(1, 6), "gpu-w": c.randint(1, 5), "cpu": c.randint(1, 5)},
                   c.randint(4, 14), round(c.uniform(4, 16), 1)))

    def take(self, limits, sure=False):
        """New limits; a configuration that is held is applied or, unless sure, taken back."""
        self.counts["edits"] += 1
        before, self.limits = self.limits, limits
        self.judge.limits_are(*limits)
        self.daemon.write(self.text())
        self.users.todo.put(lambda: self.taken(limits, before, sure))

    def taken(self, limits, before, sure):
        code, reply = self.daemon.call("POST", "/v1/reload")
        if self.daemon.status()["config"]["held"]:
            self.counts["held files"] += 1
            if not sure and self.chance.random() < 0.5:
                self.limits = before
                self.judge.limits_are(*before)
                return self.daemon.write(self.text())
            code, reply = self.daemon.call("POST", "/v1/apply")
        if code == 200 and limits == self.limits:
            self.judge.now_in_force()

    # ---- what happens to machines and to the head

    def victim(self):
        found = [m for m in self.cloud.alive() if m.phase is None]
        return self.chance.choice(found) if found else None

    def machine_dies(self):
        if m := self.victim():
            m.blame = self.cloud.fault("machine died")
            self.cloud.end(m, "died")

    def raylet_dies(self):
        m = self.victim()
        if m and m.id in self.head.alive():
            m.blame = self.cloud.fault("raylet died")
            self.head.leave(m.id)

    def taken_back(self):
        if m := self.victim():
            m.blame, m.phase = self.cloud.fault("taken back"), "stopping"
            threading.Timer(self.chance.uniform(0.5, 4), self.cloud.end, [m, "taken back"]).start()

    def stranger(self):
        """A person makes a machine by hand, of our cluster."""
        kind = self.chance.choice(sorted(PRICES))
        provider = next(p for p, types in PROVIDERS.items() if kind in types)
        with self.cloud.lock:
            n = self.cloud.fault("made by hand") and self.cloud.faults["made by hand"]
            m = self.cloud.make(f"by-hand-{n}", "", provider, {"type": kind, "zone": "a"})
            m.blame = m.blame or "made by hand"

    def outage(self):
        self.cloud.outage(self.chance.choice(["RETRY", "RETRY", "THROTTLED", "hang", "hang", "AUTH"]), self.chance.uniform(0.5, 5),
                          self.chance.choice([None, *PROVIDERS]))

    def head_fails(self):
        self.head.fault = self.cloud.fault("head " + self.chance.choice(["silent", "broken", "lost drains"]))[5:]
        self.later(self.chance.uniform(0.5, 4), lambda: setattr(self.head, "fault", None))

    # ---- users

    def asks(self):
        self.users.ask(f"job-{self.chance.randint(1, 4)}", self.chance.choice([0, 0, 1, 1, 2, 3]),
                       self.chance.choice([0, 0, 1, 2]))

    def submits(self):
        for _ in range(self.chance.randint(1, 4)):
            self.head.submit(self.chance.choice(["gpu", "gpu", "cpu"]), self.chance.uniform(0.3, 4))

    # ---- a storm, a calm

    HAPPENINGS = [("asks", 8), ("submits", 8), ("kill", 2), ("kill_at_launch", 2), ("restart_in_order", 0.5), ("sleeps", 1.5),
                  ("full_disk", 1), ("reload", 1.5), ("mistake", 0.5), ("edit", 1), ("machine_dies", 2), ("raylet_dies", 1),
                  ("taken_back", 1), ("stranger", 0.5), ("outage", 2), ("head_fails", 2)]
    LAST_S = 2

    def storm(self, seconds):
        end, edits = time.monotonic() + seconds, self.chance.random() < 0.7
        names = [(n, w) for n, w in self.HAPPENINGS if edits or n not in ("edit", "mistake", "reload")]
        self.cloud.strength = self.chance.choice([0.05, 0.15, 0.3])
        if edits:
            self.edit()
        while time.monotonic() < end:
            name = self.chance.choices([n for n, _ in names], [w for _, w in names])[0]
            getattr(self, name)()
            time.sleep(self.chance.uniform(0.02, 0.4))  # wait: the moment is drawn
            self.due()
            self.alive()
        self.last_moments()
        return edits

    def last_moments(self):
        """Nobody needs anything any more, and what follows from that fails."""
        for owner in range(1, 5):
            self.users.ask(f"job-{owner}", 0, 0)
        if self.chance.random() < 0.5:
            self.cloud.refuses_ends = True
        else:
            self.cloud.strength = 0.6
        time.sleep(self.LAST_S)  # wait: so long is the trouble

    def calm(self, edits):
        """All faults end, and all must come to rest."""
        self.cloud.calm()
        self.due(now=True)
        self.head.fault = None
        self.alive()
        self.users.todo.join()
        if edits:
            self.take(CALM, sure=True)  # the old ones may be too low for what a calm asks
        for owner in range(1, 5):
            self.users.ask(f"job-{owner}", self.chance.randint(0, 1), int(self.chance.random() < 0.5 and owner < 4))
        self.users.look()
        self.users.todo.join()
        began, why = time.monotonic(), "?"
        while why and time.monotonic() < began + SETTLE_S:
            time.sleep(0.25)  # wait: it looks again
            self.alive()
            why = self.unsettled(time.monotonic() - began)
        if why:
            status = {k: v for k, v in self.daemon.status().items() if k != "types"}
            self.judge.says(6, f"{SETTLE_S} s after the faults: {why}\n{json.dumps(status)}\n{json.dumps(self.daemon.nodes())}")
        else:
            self.rests()
        self.settled_after = time.monotonic() - began

    def unsettled(self, waited):
        """Why it is not at rest, or ""."""
        s = self.daemon.status()
        self.person(s, waited)
        wanted, alive = self.judge.wanted(), self.cloud.alive()
        have = {k: sum(m.kind.startswith(k) for m in alive) for k in wanted}
        if self.head.load("gpu") + self.head.load("cpu"):
            return "tasks wait or run"
        if have != wanted:
            return f"wanted are {wanted}, there are {have}"
        nodes = self.daemon.nodes()
        if any(n["state"] != "ready" for n in nodes) or {n["cloud_id"] for n in nodes} != {m.id for m in alive}:
            return f"not all ready and known: {[(n['cloud_id'], n['state']) for n in nodes]}"
        code, ready = self.daemon.get("/readyz")
        return "" if code == 200 and not s["stops"] else f"readyz says {code}, {ready}, stops {s['stops']}"

    def person(self, s, waited):
        """What a person does who reads `davit status`."""
        said = json.dumps([s["problems"], s["stops"]])
        for command in ("adopt", "release"):
            if f"`davit {command}`" in said:
                self.counts[command] += 1
                self.daemon.call("POST", f"/v1/{command}")
        if s["config"]["held"]:
            self.daemon.call("POST", "/v1/apply")
        if waited > 20 and s["backoffs"] and not self.counts["impatient"] % 2:
            self.counts["impatient"] += 1   # does not wait for a long back-off; every other time he does
            self.reload()

    def rests(self):
        before = self.cloud.calls["launch"] + self.cloud.calls["terminate"]
        time.sleep(REST_S)  # wait: the law is of nothing in so many seconds
        after = self.cloud.calls["launch"] + self.cloud.calls["terminate"]
        if after != before:
            self.judge.says(6, f"{after - before} launches or ends in a calm of {REST_S} s in which all was settled")
        self.judge.known(self.daemon.nodes())

    def run(self, seconds):
        end, calms = time.monotonic() + seconds, 0
        while calms == 0 or time.monotonic() < end - 5:
            self.calm(self.storm(min(STORM_S, max(5, end - time.monotonic() - 12))))
            calms += 1
            if self.judge.violations:
                break
        self.counts["calms"] = calms

    def report(self):
        ms = [*self.cloud.machines.values(), *self.cloud.past]
        hours = sum((m.ended or time.monotonic()) - m.born for m in ms) / 3600
        lines = [f"seed {self.seed}: {time.monotonic() - self.judge.began:.0f} s",
                 f"faults: {sum(self.cloud.faults.values())} (" + ", ".join(f"{k} {n}" for k, n in sorted(self.cloud.faults.items())) + ")",
                 "the daemon and its users: " + ", ".join(f"{k} {n}" for k, n in sorted(self.counts.items())),
                 f"{self.judge.launches} launches of {len(ms)} machines, {hours:.2f} hours of machines, "
                 f"{self.head.done} tasks done, {self.head.lost} lost with machines that died",
                 f"{len(self.judge.violations)} violations"]
        return "\n".join(lines)


def play(seed, seconds, keep=None):
    """The storm, when it is over."""
    directory = keep or tempfile.mkdtemp(prefix="dst")
    try:
        with Storm(seed, directory) as storm:
            storm.run(seconds)
        print(storm.report(), flush=True)
        return storm
    finally:
        if not keep:
            shutil.rmtree(directory, ignore_errors=True)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--seconds", type=float, default=60)
    p.add_argument("--seed", type=int)
    p.add_argument("--keep", help="a folder for the daemon's files, which stay")
    a = p.parse_args()
    if a.keep:
        pathlib.Path(a.keep).mkdir(parents=True)
    storm = play(seeds.seed(a.seed), a.seconds, a.keep)
    print(f"{int(not storm.judge.violations)} passed, {int(bool(storm.judge.violations))} failed")
    sys.exit(1 if storm.judge.violations else 0)


if __name__ == "__main__":
    main()
