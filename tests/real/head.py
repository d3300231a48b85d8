"""A played Ray head with work on it: tasks wait, run on nodes, end, and are lost when their node dies.

Each machine of the cloud is a node that holds one task.  Drains follow Ray's rules: an idle node
agrees and ends; one that must go takes no more work and ends when its task has.
"""
import collections
import threading
import time

from lib.gcs import Gcs, pb

OTHER = pb.ClusterResourceState(cluster_session_name="another")

UNITS = {"gpu": {"CPU": 1, "GPU": 1}, "cpu": {"CPU": 4}}
ASKS = {"gpu": {"GPU": 1}, "cpu": {"CPU": 4}}


class Task:
    def __init__(self, kind, seconds):
        self.kind, self.seconds, self.node, self.until = kind, seconds, None, None


class Head(Gcs):
    def __init__(self, cloud):
        super().__init__()
        self.cloud = cloud
        self.waiting, self.running, self.done, self.lost = [], {}, 0, 0
        self.joined = {}                # name: when, monotonic
        self.views = collections.deque(maxlen=1000)     # when the daemon was told how things are
        self.fault = None               # "silent", "broken", "lost drains", "another": another head answers
        self.preempted = set()          # agreed to go, when their work is done

    def kind_of(self, name):
        return "gpu" if self.cloud.machines[name].kind.startswith("gpu") else "cpu"

    def submit(self, kind, seconds):
        with self.lock:
            self.waiting.append(Task(kind, seconds))

    def load(self, kind):
        """Tasks there are, waiting or running."""
        with self.lock:
            return sum(t.kind == kind for t in [*self.waiting, *self.running.values()])

    def step(self):
        """What happened since the last look: joins, deaths, tasks that begin and end."""
        with self.cloud.lock, self.lock:
            now = time.monotonic()
            for m in self.cloud.machines.values():
                if m.alive() and m.joins and m.phase is None and now >= m.up and m.id not in self.nodes:
                    self.joined[m.id] = now
                    self.join(m.id, m.kind, {**UNITS[self.kind_of(m.id)], **({} if m.whole else {"GPU": 0})}, life=m.request)
                elif not m.alive() and m.id in self.alive() and now > m.ended + 0.3:
                    self.leave(m.id)
            for name, task in list(self.running.items()):
                if now >= task.until:
                    self.finish(name)
            self.place(now)
            self.tasks([(ASKS[k], n) for k in ASKS if (n := sum(t.kind == k for t in self.waiting))])
            for name in [n for n, s in self.nodes.items() if s.status == pb.NodeStatus.DEAD]:
                if not self.cloud.machines[name].alive():
                    del self.nodes[name]

    def place(self, now):
        for task in list(self.waiting):
            for name in list(self.since):
                m = self.cloud.machines[name]
                if self.kind_of(name) == task.kind and m.whole and m.alive():
                    self.waiting.remove(task)
                    task.node, task.until = name, now + task.seconds
                    self.running[name] = task
                    self.busy(name)
                    break

    def finish(self, name):
        self.running.pop(name)
        self.done += 1
        if name in self.preempted:
            self.leave(name)
        elif name in self.alive():
            self.idle(name)

    def leave(self, name):
        with self.lock:
            self.preempted.discard(name)
            self.lost += self.running.pop(name, None) is not None
            super().leave(name)

    def forget(self, name):
        """Another machine has its name from now on."""
        with self.lock:
            for known in (self.nodes, self.joined, self.drained_at):
                known.pop(name, None)
            self.preempted.discard(name)
            self.changed()

    # ---- what Davit asks, on bad days too

    def trouble(self):
        if self.fault == "silent":
            time.sleep(1.5)  # wait: the answer is late: that is the fault
        if self.fault in ("silent", "broken"):
            raise ConnectionError("played")

    def read(self, data):
        self.trouble()
        with self.lock:
            if self.fault == "another":
                self.version += 1
                OTHER.cluster_resource_state_version = self.version
                return pb.GetClusterResourceStateReply(cluster_resource_state=OTHER).SerializeToString()
            self.views.append(time.monotonic())
            return super().read(data)

    def drain(self, data):
        self.trouble()
        if self.fault == "another":
            return pb.DrainNodeReply(is_accepted=True).SerializeToString()  # of a node that it has not, as Ray's says
        r = pb.DrainNodeRequest.FromString(data)
        with self.lock:
            reply = super().drain(data)
            name, accepted = self.drains[-1]
            if accepted and r.reason == pb.DRAIN_NODE_REASON_PREEMPTION:
                self.preempted.add(name)
                if name not in self.running:
                    threading.Timer(0.3, self.leave, [name]).start()
        if self.fault == "lost drains":
            raise ConnectionError("played")
        return reply
