"""Are a plan's bounds proved by its certificate?  No solver, and nothing of the C code.

A fleet must hold the bundles that the plan places.  Give each bundle a worth.  A
machine holds no more worth than check_fill.py finds; where that is not above its
price, it costs at least what it holds.  Where it is above, what is above is taken
off, as often as such machines may be had; of one that may be had without end all
worths are divided by the ratio instead.  So every fleet costs at least

    paid + the worth of all bundles - what machines could hold above their price

All fleets may be divided by numbers of machines, each part with worths of its own;
then the least of what these give counts.
docs/planner.md says which machines there are and what is paid in any case.
proved(world, plan, launches) gives that sum, check(world, plan) a list of faults.
"""
import json
from collections import Counter

from check_fill import Fill
from plan_world import (DEVICES, INF, ONE, fits, matches, new_row,
                        offer_of, row_of, tolerates, tolerations_of)

NANO = 10**9
MICRO = 10**6
# Steps of one search of a machine, as long as too little is proved.
PATIENCE = 2_000, 20_000, 400_000, 4_000_000
FORCED = {"outdated", "asked_to_end", "over_max_of_type", "over_max_nodes", "over_budget_end", "host_group_incomplete"}


# ---- the machines

class Bin:
    """Machines of one kind: what they have in all and free, and a price."""

    def __init__(self, rows, may, price, most, family=None):
        self.rows, self.may = rows, frozenset(may)  # (in all, free); indices of items
        self.price, self.most, self.family = price, most, family
        self.kind = tuple(tuple(sorted(r.items())) for r in rows), self.may

    def within(self, other):
        """Does the other hold whatever it holds?"""
        return self.may <= other.may and all(v <= row.get(k, 0) for mine, row in zip(self.rows, other.rows)
                                             for k, v in mine.items())


def parts_of(item):
    """The bundles that one of the item is, each with its count."""
    return item["bundles"] if "together" in item else [{**item, "count": 1}]


def needs_of(item):
    """What a machine must have for it.  Of several parts of devices nothing is sure: they
    may lie on devices that others share."""
    needs, parts = Counter(), {}
    for b in parts_of(item):
        for k, v in row_of(b["resources"]).items():
            if k in DEVICES and v < ONE:
                parts.setdefault(k, []).extend([v] * b["count"])
            else:
                needs[k] += v * b["count"]
    for k, v in parts.items():
        if k not in needs and len(v) == 1:
            needs[k] = v[0]
    if item.get("apart"):
        needs[seat_of(item)] = ONE
    return dict(needs)


def seat_of(item):
    """A resource of which each bundle of gangs that lie apart takes one."""
    return "apart:" + ",".join(map(str, item["apart"]))


class Fleet:
    def __init__(self, world, plan):
        self.w, self.plan = world, plan
        self.cert = plan["certificate"]
        self.items = self.cert["worths"]
        self.needs = [needs_of(i) for i in self.items]
        # A machine has a seat for one bundle of each of these gangs.
        self.seats_of = {seat_of(i): len(i["apart"]) * ONE for i in self.items if i.get("apart")}
        self.actions = {n["id"]: n for n in plan["nodes"]}
        self.bought = Counter()
        for l in plan["launches"]:
            self.bought[l["type"], l["zone"], l["spot"]] += l["count"]
        self.estimates = {(e["type"], e["zone"], e["spot"]): e["price_per_hour"]
                          for e in self.cert["estimated_prices"]}
        # by a bin's kind: its sides; who holds what it holds; what fits it
        self.fills, self.dominates, self.fit = {}, {}, {}
        self.sort_nodes()

    def price(self, o):
        p = o.price if o.price is not None else self.estimates.get((o.type, o.zone, o.spot))
        return None if p is None else round(p * MICRO)

    def node_price(self, n):
        """Of a node that is ours to pay."""
        if n.head or not n.ours():
            return 0
        o = offer_of(n, self.w.types[n.type]) if n.type in self.w.types else None
        if n.price is not None:
            return round(n.price * MICRO)
        p = round(self.price(o) / o.times) if o and self.price(o) is not None else None
        return p if p is not None else round(self.actions[n.id]["price_per_hour"] * MICRO)

    def kept(self, n):
        a = self.actions[n.id]["action"]
        return n.ours() and (a == "undrain" or (a == "keep" and n.state != "draining"))

    def may_end(self, n):
        held = n.hold and n.hold != "none" and (not n.hold_until or n.hold_until > self.w.now)
        return n.ours() and not n.head and self.w.fresh and not held

    def sort_nodes(self):
        w = self.w
        units = Counter((n.type, n.unit) for n in w.nodes if n.unit and n.ours() and not n.head)
        self.stays, self.others, self.roomless = [], [], []
        self.there = 0
        for n in w.nodes:
            a = self.actions[n.id]
            if n.state in ("stopping", "gone") or (n.foreign and n.state == "draining"):
                continue
            torn = n.unit and n.type in w.types and units[n.type, n.unit] < w.types[n.type].hosts
            if not self.kept(n) and not n.foreign:
                if a["action"] == "keep" or a["why"] in FORCED or torn:
                    continue            # on its way out
                self.others.append(n)
            elif torn:
                self.roomless.append(n)
            elif not self.may_end(n) or (n.idle < 0 and not n.starting()):
                self.stays.append(n)
            else:
                self.others.append(n)
        for n in self.stays + self.others + self.roomless:
            self.there += self.node_price(n)

    def cost(self):
        return sum(self.node_price(n) for n in self.w.nodes if self.kept(n)) + \
            round(self.plan["cost_per_hour"] * MICRO)

    def may(self, i, place):
        return all(matches(e.get("selector"), place.labels) and
                   tolerates(tolerations_of(e.get("tolerations")), place.taints) and
                   not e.get("queue_denied") and (not e.get("queue") or e["queue"] in place.queues)
                   for e in parts_of(self.items[i]))

    def room_for(self, i, rows):
        """Of a gang on one machine: is there room for all of it, parts of devices too?"""
        e = self.items[i]
        return "together" not in e or fits(rows[not e["request"]], [(row_of(b["resources"]), b["count"]) for b in e["bundles"]])

    def node_bin(self, n, price):
        def whole(row):
            return {k: -(-v // ONE) * ONE if k in DEVICES else v for k, v in row.items()}
        total = {k: v - v % ONE if k in DEVICES else v for k, v in n.total.items()}
        rows = {**total, **self.seats_of}, {**whole(n.free), **self.seats_of}
        return Bin(rows, {i for i in range(len(self.items)) if self.may(i, n) and self.room_for(i, rows)}, price, 1, n.type if n.ours() else None)

    def offers(self):
        for key, o in self.w.offers.items():
            t = self.w.types[o.type]
            here = not t.unavailable and t.max > 0 and not o.closed and o.room != 0 and o.until <= self.w.now
            if here or self.bought[key]:
                row = {**new_row(t), **self.seats_of}
                most = INF if o.room is None else max(o.room, self.bought[key])
                yield Bin((row, row), {i for i in range(len(self.items)) if self.may(i, o) and self.room_for(i, (row, row))},
                          self.price(o), most, o.type)

    def own(self, name):
        """Nodes of the type in the plan's fleet, beside those that stay."""
        return sum(n.type == name and self.kept(n) for n in self.others) + \
            sum(c for (t, _, _), c in self.bought.items() if t == name)

    def left(self, t):
        """How many a fleet may have, beside those that stay."""
        return INF if t.max == INF else max(t.max - self.fixed(t.name), self.own(t.name))

    def fixed(self, name):
        return sum(n.type == name and n.ours() for n in self.stays + self.roomless)

    def mins(self, offers):
        """Bins that are paid for because of mins."""
        paid, bins = sum(self.node_price(n) for n in self.stays + self.roomless if self.kept(n)), []
        for t in self.w.types.values():
            n = min(t.min - self.fixed(t.name), self.own(t.name))
            if n <= 0:
                continue
            nodes = [self.node_bin(x, self.node_price(x)) for x in self.others if x.type == t.name]
            some = nodes + [b for b in offers if b.family == t.name]
            paid += n * min(b.price for b in some)
            rows = []
            for side in (0, 1):
                row = {**new_row(t), **self.seats_of}
                for b in nodes:
                    for k, v in b.rows[side].items():
                        row[k] = max(row.get(k, 0), v)
                rows.append(row)
            o = {i for x in t.offers for i in range(len(self.items)) if self.may(i, x) and self.room_for(i, rows)}
            bins.append(Bin(tuple(rows), o.union(*(b.may for b in nodes)), 0, n, t.name))
        return paid, bins

    # ---- the sum

    def fill(self, b, worths, enough):
        """The most worth that the bin can hold; it may stop at anything not above `enough`."""
        if b.kind not in self.fills:
            self.fills[b.kind] = [
                ([i for i, e in enumerate(self.items) if e["request"] == request and i in b.may], row)
                for row, request in zip(b.rows, (True, False))]
            self.fills[b.kind] = [(at, Fill([(self.needs[i], self.items[i]["count"]) for i in at], row))
                                  for at, row in self.fills[b.kind] if at]
        value, sides = 0.0, self.fills[b.kind]
        for k, (at, fill) in enumerate(sides):
            value += fill.worth([worths[i] for i in at], enough - value if k + 1 == len(sides) else -1.0,
                                self.nodes)
        return value

    def takes(self, b, items):
        """May the machine hold one of these items?"""
        return not self.holds(b).isdisjoint(items)

    def holds(self, b):
        """The items that fit the machine when it is empty."""
        if b.kind not in self.fit:
            self.fit[b.kind] = {i for i in b.may if fits(b.rows[not self.items[i]["request"]], [(self.needs[i], 1)])}
        return self.fit[b.kind]

    def needed(self, least, bins):
        """Are so many machines with a price needed?  Each item is a share of one."""
        share = {s["worth"]: s["nanos"] / NANO for s in least["shares"]}
        most, total = 1.0, sum(v * self.items[i]["count"] for i, v in share.items())
        shares = [share.get(i, 0.0) for i in range(len(self.items))]
        for b in bins:
            held = self.fill(b, shares, 1 + 1e-9 if b.price else -1.0) if self.takes(b, share) else 0.0
            if b.price:
                most = max(most, held)
            elif held:
                total -= held * b.most
        return total / most > least["machines"] - 1 + 1e-12

    def seats(self, at_least, bins):
        """What numbers of machines are worth: in all, and of each machine."""
        value, seat = 0.0, Counter()
        for least in at_least:
            worth = least["worth_nanos"] / NANO
            if worth <= 0 or not self.all_needed(least, bins):
                continue
            value += worth * least["machines"]
            for b in bins:
                if b.price and self.takes(b, [s["worth"] for s in least["shares"]]):
                    seat[id(b)] += worth
        return value, seat

    def all_needed(self, least, bins):
        """needed(), found once."""
        key = json.dumps(least["shares"]), least["machines"], tuple(map(id, bins))
        if key not in self.known:
            self.known[key] = self.needed(least, bins)
        return self.known[key]

    def above(self, bins, worths, money, seat={}):
        """[(what it holds at most, price, bin)] of those that hold more than their price."""
        out, held = [], {}
        for b in sorted(bins, key=lambda b: b.price):
            price, seats = b.price / MICRO * (1 + money), seat.get(id(b), 0)
            enough = price - seats + abs(price) * 1e-9
            if any(value <= enough for value in self.larger(b, held)):
                continue
            value = self.fill(b, worths, enough)
            held[b.kind] = min(value, held.get(b.kind, (INF,))[0]), b
            if value > enough:
                out.append((value + seats, price, b))
        return out

    def larger(self, b, held):
        """What such machines hold as can hold all that b can."""
        if b.kind not in self.dominates:
            self.dominates[b.kind] = {}
        known = self.dominates[b.kind]
        for kind, (value, other) in held.items():
            if kind not in known:
                known[kind] = b.within(other)
            if known[kind]:
                yield value

    def numbers(self, bins):
        """[(bin, how many there may be)], the limits of many used up by the first."""
        left = {t.name: self.left(t) for t in self.w.types.values()}
        all = INF
        if self.w.max_nodes is not None:
            own = sum(self.kept(n) for n in self.others) + sum(self.bought.values())
            all = max(self.w.max_nodes - sum(n.ours() and not n.head for n in self.stays + self.roomless), own)
        for b in bins:
            n = min(b.most, left.get(b.family, INF), all)
            yield b, n
            all -= n if n < INF else 0
            if b.family in left and n < INF:
                left[b.family] -= n

    def most_above(self, above, ratio):
        """Those with the most, as many as limits let there be."""
        total = {id(b): held / ratio - price for held, price, b in above}
        bins = sorted((b for _, _, b in above if total[id(b)] > 0), key=lambda b: -total[id(b)])
        return sum(total[id(b)] * n for b, n in self.numbers(bins) if n < INF)

    def ratio(self, above):
        """How far the worths are too high for machines that may be had without end."""
        return max([1.0] + [held / price if price > 0 else INF for held, price, b in above
                            if any(n == INF for _, n in self.numbers([b]))])

    def value(self, kinds, worths, money, paid, at_least):
        """Dollars beside what is paid."""
        stay, mins, others = kinds
        worths = [w / NANO for w in worths]
        value, seat = self.seats(at_least, stay + mins + others)
        value += sum(w * e["count"] for w, e in zip(worths, self.items))
        value -= sum(held * b.most for held, _, b in self.above(stay, worths, 0))
        above = self.above(mins + others, worths, money, seat)
        ratio = self.ratio(above)
        value = value / ratio - self.most_above(above, ratio)
        if money:
            cost = self.cost() / MICRO
            value -= money * (max(self.w.max_cost - paid / MICRO, cost - paid / MICRO))
        return value

    def proves(self, bound, launches=False):
        """Is it a bound, but for a millionth of a dollar?"""
        return any(bound * MICRO <= self.proved(launches, nodes) + 1 for nodes in PATIENCE)

    def proved(self, launches=False, nodes=PATIENCE[1]):
        """Micros: what the fleet, or the launches, cost at least."""
        self.nodes, self.known = nodes, {}
        part = self.cert["launches" if launches else "fleet"]
        key = "launch_worth_nanos" if launches else "worth_nanos"
        offers = list(self.offers())
        paid, mins = self.mins(offers)
        stay = [self.node_bin(n, 0) for n in self.stays]
        some = [self.node_bin(n, 0 if launches else self.node_price(n)) for n in self.others]
        if launches:
            paid, mins = 0, []
        kinds = stay, mins, some + offers
        value = self.value(kinds, [e[key] for e in self.items], part["budget_worth"], paid, part["at_least"]) * MICRO
        slack = 2 + 1e-8 * abs(value) + sum(e["count"] for e in self.items) / 1000    # worths are rounded down
        unit = round(part["multiple_of"] * MICRO)
        if all(b.price % unit == 0 or self.replaced(b, mins + some + offers, unit) for b in some + offers if self.of_use(b)):
            value = max(value, -(-value // unit) * unit)
        return paid + max(value + slack, 0)

    def replaced(self, b, others, unit):
        """Is there one as good, no dearer, that may be had whenever b may?"""
        used = {k for needs in self.needs for k in needs}

        def may(o):
            most = self.left(self.w.types[o.family]) if o.family in self.w.types else INF
            same = sum(x.most for x in others if (x.rows, x.may, x.price, x.family) == (o.rows, o.may, o.price, o.family))
            return o.most == INF and most == INF or o.family == b.family and same >= most
        return any(o.price <= b.price and o.price % unit == 0 and may(o) and self.holds(b) <= o.may and
                   all(o.rows[s].get(k, 0) >= b.rows[s].get(k, 0) for s in (0, 1) for k in used)
                   for o in others)

    def of_use(self, b):
        if b.family in self.w.types and self.left(self.w.types[b.family]) == 0:
            return False
        return bool(self.holds(b))


def counted(plan, shape):
    """What is placed: (request?, shape) -> how many; of nothing unconfirmed."""
    bundles = {(b["demand"], b["bundle"]): b for b in plan["bundles"]}
    n = Counter()
    for x, times in [(p, 1) for p in plan["nodes"]] + [(l, l["count"]) for l in plan["launches"]]:
        for h in x["placements"]:
            b = bundles[h["demand"], h["bundle"]]
            if not b.get("unconfirmed"):
                n[b["source"] == "request", shape(b, h["alternative"])] += h["count"] * times
    return n


def gangs_wrong(plan, item, shape):
    """Are these the bundles of such gangs, all of them placed?"""
    strategy = "STRICT_PACK" if "together" in item else "STRICT_SPREAD"
    of = item.get("together") or item["apart"]
    wanted = Counter()
    for b in parts_of(item):
        wanted[shape({"any_of": [b]}, 0)] += b["count"]
    n = 0
    for d in of:
        mine = [b for b in plan["bundles"] if b["demand"] == d]
        if not mine or any(b.get("strategy") != strategy or b["placed"] + b["launched"] < b["count"] or
                           len(b.get("any_of") or []) > 1 or b.get("unconfirmed") or
                           (b["source"] == "request") != item["request"] for b in mine):
            return True
        have = Counter()
        for b in mine:
            have[shape(b, 0)] += b["count"]
        if "together" in item and have != wanted:
            return True
        n += 1 if "together" in item else sum(have[s] for s in wanted)
    return n != item["count"] or len(set(of)) < len(of)


def check(world, plan, shape):
    """Faults.  shape(bundle, alternative): what tells needs and conditions apart."""
    bad = []
    said = plan["fleet"]
    f = Fleet(world, plan)
    have = Counter()
    for e in f.items:
        for b in parts_of(e):
            have[e["request"], shape({"any_of": [b]}, 0)] += b["count"] * e["count"]
        if ("together" in e or "apart" in e) and gangs_wrong(plan, e, shape):
            bad.append(f"these are no such gangs: {e}")
        if e["worth_nanos"] < 0 or e["launch_worth_nanos"] < 0:
            bad.append(f"a worth below zero: {e}")
    if have != counted(plan, shape):
        bad.append("the certificate is for other bundles than the plan's")
    cost = f.cost()
    if abs(said["cost_per_hour"] - cost / MICRO) > 1e-6:
        bad.append(f"the fleet costs {cost / MICRO}, the plan says {said['cost_per_hour']}")
    bound = said["lower_bound"]
    idle = sum(f.node_price(n) for n in world.nodes if f.kept(n) and f.actions[n.id]["why"] in ("idle_wait", "starting"))
    if abs(said["idle_per_hour"] * MICRO - min(idle, cost - bound * MICRO)) > 2:
        bad.append(f"idle nodes cost {idle / MICRO}, the plan says {said['idle_per_hour']}")
    if bound > cost / MICRO + 1e-6:
        bad.append(f"the fleet costs {cost / MICRO}, its bound is {bound}")
    elif not f.proves(bound):
        bad.append(f"the fleet's bound is {bound}, only {f.proved() / MICRO} is proved")
    bound = plan["lower_bound"]
    mins = sum(l["price_per_hour"] * l["count"] for l in plan["launches"] if l["why"] == "min_of_type")
    if bound > mins + 1e-6 and not f.proves(bound + f.there / MICRO) and not f.proves(bound, launches=True):
        bad.append(f"the launches' bound is {bound}, only {f.proved(True) / MICRO} or "
                   f"{(f.proved() - f.there) / MICRO} is proved")
    return bad
