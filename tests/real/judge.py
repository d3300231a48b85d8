"""Holds the laws of docs/never.md against what happens, and knows only what the world outside knows.

The cloud says what its machines do, the head what runs, the storm what was asked for and what the
limits were.  Nothing of the daemon is read but its answers.
"""
import collections
import time

LOOK_BACK = 10      # seconds: what is decided on arrives at the cloud so late
SLOW_BACK = 60      # the same after a provider program died: it is started again that late
NEVER_JOINS = 8     # limits.start_timeout
LEAVES = 1          # seconds: so long a call for an end is under way in the daemon itself
STALE = 10          # the oldest view on which it ends anything


class Judge:
    def __init__(self):
        self.cloud = self.head = None
        self.violations, self.began = [], time.monotonic()
        self.starts = []                    # of the daemon
        self.limits = []                    # (since, {type: max}, max_nodes, budget)
        self.asked = {}                     # owner: what may stand, a list of (gpu, cpu)
        self.need = collections.deque()     # (at, {kind: most that could be needed})
        self.first = {}                     # request id: when it arrived first
        self.launches = 0

    def says(self, law, text):
        self.violations.append((law, text))
        print(f"{time.monotonic() - self.began:7.2f} law {law}: {text}", flush=True)

    # ---- what is known of the world

    def limits_are(self, *limits):
        self.limits.append((time.monotonic(), *limits))

    def now_in_force(self):
        """Those before are no longer."""
        t, *last = self.limits[-1]
        self.limits = [x for x in self.limits if x[0] > time.monotonic() - 120]
        self.limits_are(*last)

    def most(self, since, of=max):
        """The widest limits that were in force since then: {type: max}, max_nodes, budget; with `of=min` the narrowest."""
        later = [x for i, x in enumerate(self.limits) if i + 1 == len(self.limits) or self.limits[i + 1][0] >= since]
        kinds = {k: of(x[1][k] for x in later) for k in later[0][1]}
        return kinds, of(x[2] for x in later), of(x[3] for x in later)

    def look(self):
        """Called ten times a second: what could be needed at this moment."""
        now = time.monotonic()
        need = {}
        for i, kind in enumerate(("gpu", "cpu")):
            need[kind] = self.head.load(kind) + sum(max(a[i] for a in may) for may in list(self.asked.values()))
        self.need.append((now, need))
        while self.need[0][0] < now - SLOW_BACK - 5:
            self.need.popleft()

    # ---- law 1

    def asked_to_end(self, m, at):
        """With the cloud's lock; is its node known to the head, and did it agree?"""
        with self.head.lock:
            asked = m.id in self.head.drained_at
            if not asked and not self.could_know(m, at):
                return
            if m.id in self.head.running:
                self.says(1, f"{m.id} was ended with a task on it: {self.story(m, at)}")
            elif m.id in self.head.alive() and not asked:
                self.says(1, f"{m.id} was ended, and its node not asked: {self.story(m, at)}")

    def could_know(self, m, at):
        """Nobody can call back a request that has left, for a node that joined a moment before or since.
        The daemon knows of those in the last view that it had a moment before the call left it, and must
        have had one since it began, no older than what it calls stale."""
        last = max((v for v in self.head.views if v <= at - LEAVES), default=0)
        since = max([s for s in self.starts if s <= at] + [at - STALE])
        fresh = any(since <= v <= at for v in self.head.views)
        return not fresh or self.head.joined.get(m.id, at) <= last

    def story(self, m, at):
        ago = time.monotonic() - at
        views = [f"{v - at:.2f}" for v in self.head.views if at - 5 < v][-20:]
        return (f"its node joined {at - self.head.joined.get(m.id, at):.2f} s before the call left, which came in after {ago:.2f} s; "
                f"views by then, seconds: {' '.join(views)}")

    # ---- laws 3 and 5

    def arrived(self, r):
        self.first.setdefault(r["request_id"], time.monotonic())

    def launched(self, made):
        """With the cloud's lock: these machines are new, the others are there."""
        self.look()
        self.launches += 1
        alive, m = [x for x in self.cloud.alive() if x.request], made[0]    # not those made by hand
        since = self.first[m.request] - LOOK_BACK
        kinds, nodes, budget = self.most(since)
        prices = self.cloud.options["prices"]
        cost = sum(prices[x.kind] for x in alive)
        of_type = sum(x.kind == m.kind for x in alive)
        if of_type > kinds[m.kind]:
            self.says(3, f"{of_type} machines of {m.kind} are billed, its max was {kinds[m.kind]}")
        if len(alive) > nodes:
            self.says(3, f"{len(alive)} machines are billed, max_nodes was {nodes}")
        if cost > budget + 1e-6:
            self.says(3, f"{cost:.2f} $/h are billed, max_cost_per_hour was {budget}")
        self.bought_twice(m, alive)

    def sound(self, m):
        """Would anybody count on it?  Then nothing is bought for what it can hold."""
        if m.blame or m.phase or not m.told or m.id in self.head.drained_at:
            return False
        if m.id in self.head.nodes:
            return m.id in self.head.alive()
        return time.monotonic() - m.born < NEVER_JOINS - 1

    def bought_twice(self, new, alive):
        kind = "gpu" if new.kind.startswith("gpu") else "cpu"
        back = SLOW_BACK if any("die" in f for f in self.cloud.faults) else LOOK_BACK
        since = self.first[new.request] - back
        need = max((n[kind] for at, n in list(self.need) if at >= since), default=0)
        with self.head.lock:
            have = [m for m in alive if m.request != new.request and m.kind.startswith(kind) and self.sound(m)]
        have = self.within_limits(have, [m for m in alive if not m.kind.startswith(kind)], since)
        mine = sum(m.request == new.request for m in alive)
        if need and len(have) + mine > need:
            self.says(5, f"{mine} of {new.kind} bought ({new.request}) beside {len(have)}, and no more than {need} were ever needed")
        if not need:
            self.says(5, f"{new.request} was bought, and nothing was needed")

    def within_limits(self, have, others, since):
        """Those that no limit ends: what is over a limit that was made narrower goes, and others are bought for its work."""
        kinds, nodes, budget = self.most(since, min)
        stay, of_type = [], collections.Counter()
        for m in have:
            of_type[m.kind] += 1
            if of_type[m.kind] <= kinds[m.kind]:
                stay.append(m)
        prices = self.cloud.options["prices"]
        while stay and (len(stay) + len(others) > nodes or sum(prices[m.kind] for m in stay + others) > budget + 1e-6):
            stay.pop()
        return stay

    # ---- law 2

    def acknowledged(self, owner, what):
        self.asked[owner] = [what]

    def maybe(self, owner, what):
        self.asked.setdefault(owner, [(0, 0)]).append(what)

    def standing(self, requests):
        """What the daemon says it was asked for: {owner: (gpu, cpu)}."""
        for owner, may in list(self.asked.items()):
            if requests.get(owner, (0, 0)) not in may:
                self.says(2, f"the request of {owner} is {requests.get(owner)}, acknowledged was {may}")
        for owner in requests.keys() - self.asked.keys():
            self.says(2, f"a request of {owner} that nobody made")

    # ---- laws 4, 6 and 7, in calms

    def known(self, nodes):
        ids = {n["cloud_id"] for n in nodes}
        for m in self.cloud.alive():
            if m.id not in ids and time.monotonic() - m.born > 60:
                self.says(4, f"{m.id} lives and is not in the ledger")

    def wanted(self):
        """{kind: machines}, when each owner's request is known."""
        return {kind: sum(may[0][i] for may in self.asked.values()) for i, kind in enumerate(("gpu", "cpu"))}
