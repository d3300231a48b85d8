"""A snapshot as the checker reads it, and what fits on a node.

Written from docs/snapshot.md alone: nothing here is taken from the C code.
"""
import math
import re
from collections import Counter, defaultdict

ONE = 10000
DEVICES = {"GPU", "TPU", "neuron_cores", "HPU", "NPU", "RBLN", "FURIOSA"}
WHOLE_ONLY = {"neuron_cores", "TPU", "HPU"}
ACCEL = "ray.io/accelerator-type"
INF = float("inf")
UNITS = {"": 1, "m": None, "k": 10**3, "K": 10**3, "M": 10**6, "G": 10**9,
         "T": 10**12, "Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40}


def amount(v):
    """A quantity in 1/10,000."""
    if isinstance(v, (int, float)):
        return round(v * ONE)
    number, unit = re.fullmatch(r"([0-9.eE+-]+?)([A-Za-z]*)", v).groups()
    if unit == "m":
        return round(float(number) * ONE / 1000)
    return round(float(number) * UNITS[unit] * ONE)


def millis(v):
    if isinstance(v, (int, float)):
        return round(v * 1000)
    total = 0
    for n, unit in re.findall(r"([0-9.]+)(ms|s|m|h)?", v):
        total += float(n) * {"ms": 1, "s": 1000, "m": 60000, "h": 3600000,
                             "": 1000}[unit]
    return round(total)


def row_of(resources):
    return {k: amount(v) for k, v in (resources or {}).items()
            if not k.startswith("accelerator_type:") and amount(v) > 0}


def labels_of(resources, *says):
    """Labels, the first that says something wins."""
    labels = {}
    for said in says:
        for k, v in said.items():
            labels.setdefault(k, v)
    for k in resources or {}:
        if k.startswith("accelerator_type:"):
            labels.setdefault(ACCEL, k.split(":", 1)[1])
    return labels


def place_labels(zone, spot):
    labels = {"ray.io/market-type": "spot" if spot else "on-demand"}
    if zone:
        for k in ("topology.kubernetes.io/zone", "ray.io/availability-zone",
                  "zone"):
            labels[k] = zone
    return labels


def own_labels(e):
    labels = dict(e.get("labels") or {})
    if e.get("accelerator_type"):
        labels[ACCEL] = e["accelerator_type"]
    elif "accelerator_type" in labels:
        labels.setdefault(ACCEL, labels["accelerator_type"])
    return labels


def matches(selector, labels):
    for t in selector or []:
        inside = labels.get(t["key"]) in t["values"]
        if inside != (t["op"] == "in"):
            return False
    return True


# ---- taints and queues

QUEUE = "davit.io/queue"
DENIED = object()


def taints_of(v):
    """[(key, value, effect)]; short: gpu=present:NoSchedule."""
    all = []
    for t in v or []:
        if isinstance(t, str):
            rest, effect = t.rsplit(":", 1)
            key, _, value = rest.partition("=")
            all.append((key, value, effect))
        else:
            all.append((t["key"], t.get("value") or "", t["effect"]))
    return all


def tolerations_of(v):
    """[(key, exists, value, effect)]."""
    all = []
    for t in v or []:
        if isinstance(t, str):
            rest, _, effect = t.partition(":")
            key, equal, value = rest.partition("=")
            all.append((key, not equal, value, effect))
        else:
            all.append((t.get("key") or "", t.get("operator") == "Exists",
                        t.get("value") or "", t.get("effect") or ""))
    return all


def tolerates(tolerations, taints):
    """Kubernetes' rule."""
    for key, value, effect in taints:
        if effect == "PreferNoSchedule":
            continue
        if not any((k == key or not k) and (exists or v == value) and
                   (not e or e == effect)
                   for k, exists, v, e in tolerations):
            return False
    return True


class Queue:
    def __init__(self, q):
        quota = q.get("quota") or {}
        self.name = q["name"]
        self.types = set(q.get("node_types") or [])
        self.owners = q.get("owners") or ["*"]
        self.gpus, self.cpus = (
            INF if quota.get(k) is None else amount(quota[k])
            for k in ("gpus", "cpus"))
        self.nodes = INF if quota.get("nodes") is None else quota["nodes"]
        self.priority = q.get("priority") or 0

    def allows(self, owner):
        return any(re.fullmatch(".*".join(map(re.escape, o.split("*"))), owner)
                   for o in self.owners)


def queues_over(queues, type_name, labels):
    """Those that a place is in, and the one that its work counts in."""
    named = labels.get(QUEUE)
    by_type = {q.name for q in queues.values() if type_name in q.types}
    home = named if named in queues else \
        next(iter(by_type)) if len(by_type) == 1 else None
    return by_type | ({named} & set(queues)), home


# ---- the snapshot

class Offer:
    def __init__(self, t, o):
        self.type = t["name"]
        self.zone = o.get("zone", t.get("zone", "")) or ""
        self.spot = bool(o.get("spot", t.get("spot", False)))
        self.bill = self.price = o.get("price", t.get("price"))
        # each machine that was taken back makes it half as dear again
        self.times = 1 + min(o.get("interruptions") or 0, 10) / 2
        if self.price is not None:
            self.price = math.floor(round(self.bill * 1e6) * self.times) / 1e6
        self.room = o.get("room")
        self.until = o.get("backoff_until_ms") or 0
        self.failed = o.get("failed_ms") or 0
        self.closed = bool(o.get("closed"))
        self.tried = self.failed
        self.labels = labels_of(t.get("resources"), own_labels(t),
                                place_labels(self.zone, self.spot))
        self.taints = taints_of(t.get("taints"))
        self.timeout = o.get("idle_timeout_s")
        self.takes = defaultdict(int)
        for q in o.get("quotas") or []:
            self.takes[q["name"]] += q["each"]


class Type:
    def __init__(self, t):
        self.name = t["name"]
        self.row = row_of(t.get("resources"))
        self.min = t.get("min") or 0
        self.max = INF if t.get("max") is None else t["max"]
        self.unavailable = t.get("unavailable")
        self.timeout = t.get("idle_timeout_s")
        self.resources = t.get("resources") or {}
        self.labels = own_labels(t)
        self.taints = taints_of(t.get("taints"))
        self.hosts = t.get("hosts") or 1
        self.offers = [Offer(t, o) for o in t.get("offers") or [{}]]
        self.accelerator = any(k in DEVICES for k in self.row)


class Node:
    def __init__(self, n, types):
        self.id = n["id"]
        self.type = n.get("type") or ""
        self.state = "draining" if n.get("end_void") else n.get("state") or "ready"
        self.head = bool(n.get("head"))
        self.foreign = bool(n.get("unmanaged"))
        self.outdated = bool(n.get("outdated"))
        self.idle = n.get("idle_ms", -1)
        self.hold = n.get("hold")
        self.hold_until = n.get("hold_until_ms") or 0
        t = types.get(self.type)
        joined = bool(n.get("total"))
        res = n.get("total") if joined else (t.resources if t else {})
        self.total = row_of(res)
        free = row_of(n.get("available", n.get("total"))) if joined \
            else dict(self.total)
        self.free = {k: min(v, self.total.get(k, 0)) for k, v in free.items()}
        self.asked_to_end = bool(n.get("asked_to_end"))
        if n.get("cordoned"):  # what is in use is there, nothing is free
            self.total = {k: v - self.free.get(k, 0) if joined else 0
                          for k, v in self.total.items()}
            self.free = dict.fromkeys(self.total, 0)
        self.labels = labels_of(
            n.get("total"), own_labels(n),
            labels_of(t.resources, t.labels) if t else {},
            place_labels(n.get("zone", ""), n.get("spot", False)))
        self.taints = taints_of(n.get("taints")) + (t.taints if t else [])
        self.unit = n.get("host_group") or ""
        self.created = n.get("created_ms") or 0
        self.since = n.get("since_ms") or 0
        self.progress = max(n.get("progress_ms") or 0, self.since)
        self.price = n.get("price")
        self.zone, self.spot = n.get("zone", "") or "", bool(n.get("spot"))
        if self.price is None and t:
            self.price = node_price(self, t)

    def billed(self):
        return not self.foreign and self.state != "gone"

    def ours(self):
        return not self.foreign and self.state not in ("stopping", "gone")

    def starting(self):
        return self.state in ("intended", "requested", "starting")


def offer_of(n, t):
    same = [o for o in t.offers if o.spot == n.spot]
    for o in same:
        if o.zone == n.zone:
            return o
    for o in same:
        if not o.zone:
            return o
    return same[0] if same and not n.zone else None


def node_price(n, t):
    o = offer_of(n, t)
    return o.bill if o else None


class World:
    def __init__(self, s):
        self.now = s.get("now_ms") or 0
        self.fresh = s.get("sources_fresh", True)
        limits = s.get("limits") or {}
        self.max_nodes = limits.get("max_nodes", s.get("max_nodes"))
        self.timeout = limits.get("idle_timeout_s", 60)
        self.max_cost = limits.get("max_cost_per_hour")
        self.max_launching = limits.get("max_launching")
        self.speed = limits.get("upscaling_speed") or 0
        self.conserve = limits.get("conserve", True)
        self.end_outdated = limits.get("end_outdated", False)
        self.end_order = limits.get("end_order") or []
        c = limits.get("consolidate", "empty")
        c = c if isinstance(c, dict) else {"mode": c}
        self.consolidate = c.get("mode", "empty")
        self.consolidate_age = millis(c.get("older_than_s", 600))
        self.types = {t["name"]: Type(t) for t in s.get("node_types") or []}
        self.nodes = [Node(n, self.types) for n in s.get("nodes") or []]
        self.offers = {(o.type, o.zone, o.spot): o
                       for t in self.types.values() for o in t.offers}
        self.takes = {key: o.takes for key, o in self.offers.items()}
        self.quotas = {}
        for t in s.get("node_types") or []:
            for o in t.get("offers") or []:
                for q in o.get("quotas") or []:
                    self.quotas[q["name"]] = min(
                        q["left"], self.quotas.get(q["name"], q["left"]))
        for n in self.nodes:
            o = offer_of(n, self.types[n.type]) if n.type in self.types else None
            if o:
                o.tried = max(o.tried, n.created)
        self.queues = {q["name"]: Queue(q) for q in s.get("queues") or []}
        for place in list(self.offers.values()) + self.nodes:
            name = place.type if place.type in self.types else None
            place.queues, place.home = queues_over(self.queues, name,
                                                   place.labels)
        # where no taint refuses anybody, tolerations are of no interest
        self.tainted = any(t[2] != "PreferNoSchedule" for p in
                           list(self.offers.values()) + self.nodes
                           for t in p.taints)

    def timeout_of(self, n):
        """Seconds: its offer's, its type's, the limit's; None: never."""
        t = self.types.get(n.type)
        o = offer_of(n, t) if t else None
        for place in (o, t):
            if place and place.timeout is not None:
                return place.timeout
        return self.timeout

    def queue_of(self, d, owner):
        """The queue's name, None, or DENIED."""
        name = d.get("queue")
        if not name:
            return None
        q = self.queues.get(name)
        return name if q and q.allows(owner) else DENIED


# ---- device packing

def pack_parts(parts, devices):
    """Do these fractions fit on devices with these rests?  None: not known."""
    parts = sorted((p for p in parts if p > 0), reverse=True)
    devices = sorted((d for d in devices if d > 0))
    if not parts:
        return True
    if sum(parts) > sum(devices):
        return False
    free = list(devices)           # best fit, decreasing
    for p in parts:
        best = min((i for i, f in enumerate(free) if f >= p),
                   key=lambda i: free[i], default=None)
        if best is None:
            break
        free[best] -= p
    else:
        return True
    budget = [200000]
    seen = set()

    def place(k, rest):
        if k == len(parts):
            return True
        key = (k, rest)
        if key in seen:
            return False
        seen.add(key)
        budget[0] -= 1
        if budget[0] < 0:
            return None
        last = None
        for i, f in enumerate(rest):
            if f < parts[k] or f == last:
                continue
            last = f
            r = place(k + 1, tuple(sorted(rest[:i] + (f - parts[k],) +
                                          rest[i + 1:])))
            if r is not False:
                return r
        return False

    return place(0, tuple(devices))


def fits(row, holds):
    """May these (needs, count) lie on a node of which row is free?"""
    total = Counter()
    wholes, parts = Counter(), defaultdict(list)
    for needs, count in holds:
        for k, v in needs.items():
            if k not in DEVICES:
                total[k] += v * count
            elif v < ONE:
                if k in WHOLE_ONLY:
                    return False
                parts[k] += [v] * count
            elif v % ONE:
                return False
            else:
                wholes[k] += v * count
    for k, v in total.items():
        if v > row.get(k, 0):
            return False
    for k in set(wholes) | set(parts):
        has = row.get(k, 0)
        left = has // ONE - wholes[k] // ONE
        if left < 0:
            return False
        # what is not whole lies on one device
        if pack_parts(parts[k], [ONE] * left + [has % ONE]) is False:
            return False
    return True


def new_row(t):
    """What a new node offers: whole devices only."""
    return {k: v - v % ONE if k in DEVICES else v for k, v in t.row.items()}
