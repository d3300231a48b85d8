"""A played cloud with bad days, behind the `exec` provider of the real daemon.

    with Cloud(path, chance, judge) as cloud:
        cloud.strength = 0.2           # of so many calls something goes wrong
        cloud.outage("AUTH", 3)        # every call, for so many seconds

Its lists lag a launch and an end, its machines boot, fail, never join, die and
are taken back.  A request id makes the same machines, once.  All that happens
to machines is told to the judge at the moment when it happens.
"""
import collections
import json
import os
import socket
import threading
import time

BOOT = (0.1, 0.8)
END = (0.05, 1.5)    # billed so long after it was asked to end
HOSTS = 8            # names that are given again
LAG = 1.0           # a list shows a launch, and forgets an end, so late at most; the daemon's settle is longer
# By weight: after a stockout or a quota an offer rests for a minute, and less is bought.
FAULTS = {"before": 3, "lost": 4, "hang": 3, "die before": 1, "die after": 1, "stockout": 1, "quota": 0.3, "throttled": 2, "part": 2,
          "short": 3, "late": 3}


class Machine:
    """One life: from the launch that made it to its end, whatever its cause."""

    def __init__(self, cloud, mid, request, provider, kind, zone):
        self.id, self.request, self.provider, self.kind, self.zone = mid, request, provider, kind, zone
        self.born, self.ended, self.cause = cloud.now(), None, None
        self.up = self.born + cloud.chance.uniform(*BOOT)
        self.seen = self.born + cloud.chance.uniform(0, LAG)    # by lists, from here
        self.unseen = None                                      # and not any more
        self.phase, self.failure = None, None                   # None: by its age
        self.told = False           # the daemon got an answer with it
        self.blame = None           # a fault of its own: why it may be replaced
        self.joins, self.whole = True, True

    def alive(self):
        return self.ended is None


class Cloud:
    def __init__(self, path, chance, judge, options):
        self.path, self.chance, self.judge, self.options = path, chance, judge, options
        self.lock = threading.RLock()
        self.machines, self.requests = {}, {}
        self.past = []              # machines whose id is another's now
        self.faults = collections.Counter()
        self.strength, self.outages, self.calls = 0.0, {}, collections.Counter()
        self.refuses_ends = False
        self.short_last = {}        # provider: its last list was short
        self.at_launch = None       # "before" or "after": called with it at the next launch
        self.connections = []

    now = staticmethod(time.monotonic)

    def __enter__(self):
        self.server = socket.socket(socket.AF_UNIX)
        self.server.bind(self.path)
        self.server.listen(8)
        threading.Thread(target=self.accept, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.close()
        os.unlink(self.path)

    def accept(self):
        while True:
            try:
                s, _ = self.server.accept()
            except OSError:
                return
            threading.Thread(target=Program(self, s).serve, daemon=True).start()

    # ---- what happens to machines

    def alive(self, kind=None):
        with self.lock:
            return [m for m in self.machines.values() if m.alive() and kind in (None, m.kind)]

    def end(self, m, cause):
        """It is gone from here on; lists may show it a moment longer."""
        with self.lock:
            if m.alive():
                m.ended, m.cause = self.now(), cause
                m.unseen = m.ended + self.chance.uniform(0, LAG)

    def fault(self, name):
        with self.lock:
            self.faults[name] += 1
        return name

    def outage(self, what, seconds, provider=None):
        with self.lock:
            for p in [provider] if provider else self.options["providers"]:
                self.outages[p] = (self.fault(f"outage {what}"), what, self.now() + seconds)

    def calm(self):
        with self.lock:
            self.strength, self.at_launch, self.refuses_ends = 0.0, None, False
            self.outages.clear()

    def down(self, provider):
        """What every call of this provider gets now, or None."""
        _, what, until = self.outages.get(provider, (None, None, 0))
        return what if self.now() < until else None

    # ---- calls; each returns (lines, last line)

    def listed(self, provider):
        now = self.now()
        return [m for m in self.machines.values()
                if m.provider == provider and now >= m.seen and (m.unseen is None or now < m.unseen)]

    def list(self, provider, fault):
        with self.lock:
            found = self.listed(provider)
            if fault == "short" and found and not self.short_last.get(provider):
                found = [m for m in found if self.chance.random() < 0.5]
                self.short_last[provider] = True
                self.fault("short list")
            else:
                self.short_last[provider] = False
            return [{"machine": self.line(m)} for m in found], {"status": "OK"}

    def line(self, m):
        phase = m.phase or ("running" if self.now() >= m.up else "starting")
        return {"id": m.id, "request_id": m.request, "type": m.kind, "zone": m.zone, "phase": phase,
                **({"failure": m.failure, "detail": "it did not come up"} if phase == "failed" else {})}

    def launch(self, r, provider, fault):
        """The deed; with "part", of several all but one."""
        with self.lock:
            rid, end = r["request_id"], {"status": "OK"}
            if rid not in self.requests:
                if fault in ("stockout", "quota"):
                    self.fault(fault)
                    return [], {"status": fault.upper(), "code": "Played", "text": "none left today"}
                n = r["count"]
                if fault == "part" and n > 1:
                    n, end = n - 1, {"status": "STOCKOUT", "text": "all but one"}
                    self.fault("part")
                self.requests[rid] = [self.make(self.id_for(f"{rid}.{i}"), rid, provider, r) for i in range(n)]
                self.judge.launched(self.requests[rid])
            return [{"machine": self.line(m)} for m in self.requests[rid] if m.alive()], end

    def id_for(self, mid):
        """Of a cloud whose ids are host names, one whose machine has gone: it is given again."""
        if not self.options.get("hosts"):
            return mid
        for host in (f"host-{i}" for i in range(HOSTS)):
            m = self.machines.get(host)
            if not m or (not m.alive() and host not in self.options["head"].alive()):
                if m:
                    self.fault("id given again")
                    self.past.append(m)
                    self.options["head"].forget(host)
                return host
        return mid

    def make(self, mid, rid, provider, r):
        m = self.machines[mid] = Machine(self, mid, rid, provider, r["type"], r["zone"])
        luck = self.chance.random()
        if luck < 0.12 * self.strength:
            m.phase, m.failure, m.blame = "failed", "STOCKOUT", self.fault("failed later")
        elif luck < 0.24 * self.strength:
            m.joins, m.blame = False, self.fault("never joins")
        elif luck < 0.30 * self.strength:
            m.whole, m.blame = False, self.fault("joins without its GPU")
        return m

    def terminate(self, ids, fault, at):
        """at: when the daemon said so, monotonic."""
        lines = []
        with self.lock:
            for i in ids:
                m = self.machines.get(i)
                status = "OK" if m and m.alive() else "NOT_FOUND"
                if status == "OK" and m.cause is None:
                    late = fault == "late" and self.fault("ends late")
                    self.judge.asked_to_end(m, at)
                    m.phase, m.cause = "stopping", "asked"
                    threading.Timer(self.chance.uniform(3, 6) if late else self.chance.uniform(*END), self.end, [m, "asked"]).start()
                lines.append({"ended": {"id": i, "status": status}})
        return lines, {"status": "OK"}


class Program:
    """One connection: one provider program of one daemon's life."""

    def __init__(self, cloud, s):
        self.cloud, self.s, self.lock, self.provider = cloud, s, threading.Lock(), None

    def serve(self):
        try:
            with self.s, self.s.makefile("r") as lines:
                for line in lines:
                    at, text = line.split(" ", 1)
                    threading.Thread(target=self.answer, args=({"at": float(at), **json.loads(text)},), daemon=True).start()
        except OSError:
            pass

    def say(self, r, lines, end):
        text = "".join(json.dumps({"id": r["id"], **x}) + "\n" for x in [*lines, end])
        try:
            with self.lock:
                self.s.sendall(text.encode())
        except OSError:
            pass    # it was killed meanwhile: the reply is lost

    def die(self):
        try:
            self.s.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass

    def draw(self, op):
        c = self.cloud
        with c.lock:
            down = c.down(self.provider)
            if down:
                return down
            if op == "terminate" and self.cloud.refuses_ends:
                return "before"
            if op in ("hello", "offers") or c.chance.random() >= c.strength:
                return None
            return c.chance.choices([*FAULTS], [*FAULTS.values()])[0]

    def answer(self, r):
        c, op = self.cloud, r["op"]
        if op == "hello":
            self.provider = r["options"]["name"]
            return self.say(r, [], {"status": "OK"})
        if op == "launch":
            c.judge.arrived(r)
        fault = self.draw(op)
        with c.lock:
            c.calls[op] += 1
            hook, c.at_launch = (c.at_launch, None) if op == "launch" else (None, c.at_launch)
        if fault in ("before", "AUTH", "RETRY", "THROTTLED", "throttled"):
            c.fault("refused" if fault == "before" else fault)
            status = "RETRY" if fault == "before" else fault.upper()
            return self.say(r, [], {"status": status, "text": "played", "retry_after_ms": 300})
        if fault == "hang" and c.chance.random() < 0.5:
            return c.fault("hang before")
        if fault == "die before":
            c.fault(fault)
            return self.die()
        if hook:
            hook("before")
        lines, end = self.deed(r, op, fault)
        if hook:
            hook("after")
        return self.tell(r, lines, end, fault)

    def deed(self, r, op, fault):
        c = self.cloud
        if op == "list":
            return c.list(self.provider, fault)
        if op == "launch":
            return c.launch(r, self.provider, fault)
        if op == "terminate":
            return c.terminate(r["ids"], fault, r["at"])
        return [{"offer": {"type": t, "price": p}} for t, p in c.options["providers"][self.provider].items()], {"status": "OK"}

    def tell(self, r, lines, end, fault):
        c = self.cloud
        if fault == "hang":
            return c.fault("hang after")
        if fault == "die after":
            c.fault(fault)
            return self.die()
        if fault == "lost":
            c.fault("lost reply")
            return self.say(r, [], {"status": "RETRY", "text": "connection reset"})
        for line in lines:
            if "machine" in line:
                c.machines[line["machine"]["id"]].told = True
        return self.say(r, lines, end)
