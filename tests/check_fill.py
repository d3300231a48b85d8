"""The most that one machine can hold of items with a worth: no solver, no code of Davit.

A bound and a search.  Any prices of the plain resources give a bound: all that the
machine has of them costs so much, and what items are worth beyond that is found device
by device, exactly.  Good prices make it low; where it is too high still, all fills are
tried, but for those that by such prices cannot be worth enough: with devices exact,
and with the resource that has the highest price exact.  Between the two is a bound
with devices and one resource exact (check_joint.py) and the others at a price.
"""
import sys
from bisect import insort
from math import gcd

import check_joint
from plan_world import DEVICES, INF, ONE, fits

CELLS = 200             # finer parts are rounded down: it is a bound still
STEPS = 80              # of looking for good prices
GRID = 128              # steps of a resource that is exact, needs rounded down
TABLE = 6_000_000       # numbers in all tables that are made for that
NODES = 20_000          # of one search
FEW = 300               # of one without such tables
JOINT = 16, 3           # devices, and resources, that the joint bound is tried with
HALVES = 5              # searches for more, when one came to no end
SAFE = 1e-11            # of floating point
sys.setrecursionlimit(20_000)   # a search goes as deep as a machine holds items


def raise_all(table, size, gain, times):
    """A knapsack's table with up to `times` more of one item."""
    top = len(table) - 1
    new, n = table[:], 1
    if times >= top // size:                # as many as there is room for
        for x in range(size, top + 1):
            v = new[x - size] + gain
            if v > new[x]:
                new[x] = v
        return new
    while times > 0:                        # 1, 2, 4, ... of them at once
        n = min(n, times)
        s, g = n * size, n * gain
        new = new[:s] + [a if a > b + g else b + g for a, b in zip(new[s:], new)]
        times -= n
        n *= 2
    return new


def grid_row(rows, size, units, gain, most):
    """The same for a table of two kinds of room."""
    if gain <= 0:
        return rows
    if not size and not units:
        return [[v + gain * most for v in row] for row in rows]
    n = 1
    while most > 0:
        n = min(n, most)
        s, u, g = n * size, n * units, n * gain
        if s >= len(rows) or u >= len(rows[0]):
            break
        rows = rows[:s] + [row[:u] + [a if a > b + g else b + g for a, b in zip(row[u:], less)]
                           for row, less in zip(rows[s:], rows)]
        most -= n
        n *= 2
    return rows


class Mix:
    """The best mix of answers that keeps the resources: its duals are prices.

    A simplex of a few rows: resources, items that are scarce, and that the parts of
    the mix are one in all.  Slack columns come first."""

    def __init__(self, rhs):
        n = len(rhs)
        self.n, self.rhs, self.value = n, list(rhs), 0.0
        self.rows = [[1.0 if r == q else 0.0 for q in range(n)] for r in range(n)]
        self.gain = [0.0] * n
        self.basis = list(range(n))

    def add(self, column, gain):
        for r, row in enumerate(self.rows):
            row.append(sum(row[q] * column[q] for q in range(self.n)))
        self.gain.append(gain + sum(self.gain[q] * column[q] for q in range(self.n)))

    def solve(self):
        for _ in range(200):
            most = max(self.gain)
            if most <= 1e-12 * max(self.value, 1e-9):
                break
            c = self.gain.index(most)
            r = min((q for q in range(self.n) if self.rows[q][c] > 1e-10), default=None,
                    key=lambda q: self.rhs[q] / self.rows[q][c])
            if r is None:
                break
            self.pivot(r, c)
        return self.value

    def pivot(self, r, c):
        f = 1 / self.rows[r][c]
        row = self.rows[r] = [x * f for x in self.rows[r]]
        self.rhs[r] *= f
        for q in range(self.n):
            f = self.rows[q][c]
            if q != r and f:
                self.rows[q] = [x - f * y for x, y in zip(self.rows[q], row)]
                self.rhs[q] -= f * self.rhs[r]
        f = self.gain[c]
        self.gain = [x - f * y for x, y in zip(self.gain, row)]
        self.value += f * self.rhs[r]
        self.basis[r] = c

    def prices(self):
        return [max(-x, 0.0) for x in self.gain[:self.n - 1]]


class Fill:
    """One side of a machine and the items that may lie in it: [(needs, how many)]."""

    def __init__(self, items, row):
        self.row = row
        self.items = []                     # (place in the question, needs, most)
        for i, (needs, most) in enumerate(items):
            for k, v in needs.items():
                most = min(most, row.get(k, 0) // v if k not in DEVICES or v >= ONE else
                           row.get(k, 0) // ONE * (ONE // v))
            if most > 0 and fits(row, [(needs, 1)]):
                self.items.append((i, needs, most))
        self.make_devices()
        self.sort()
        self.warm = []                      # answers that were of use
        self.prices = [0.0] * len(self.keys)
        self.scarce, self.scarce_price = [], []
        self.joints = {}                    # by the resource that is exact

    def make_devices(self):
        """Each item lies on devices of its first column; others count as sums."""
        self.device = {}                    # column -> (devices, cells of one)
        used = {k for _, needs, _ in self.items for k in needs}
        for d in sorted(used & DEVICES):
            parts = [needs[d] for _, needs, _ in self.items if 0 < needs.get(d, 0) < ONE]
            cells = min(ONE // gcd(ONE, *parts), CELLS)
            self.device[d] = self.row[d] // ONE, cells
        more = {d for _, needs, _ in self.items for d in sorted(set(needs) & DEVICES)[1:]}
        self.keys = sorted(used - DEVICES | more)

    def sort(self):
        """Whole devices, then parts, then what needs none; the large ones first."""
        def kind(x):
            d = min(set(x[1]) & DEVICES, default=None)
            if d is None:
                return (2, "", 0)
            v = x[1][d]
            return (0, d, -(v // ONE)) if v >= ONE else (1, d, -(v * self.device[d][1] // ONE))
        self.items.sort(key=kind)
        self.kind = [kind(x) for x in self.items]
        self.most = [m for _, _, m in self.items]
        self.shares = [[needs.get(k, 0) / self.row[k] for _, needs, _ in self.items] for k in self.keys]
        self.of_device = {d: ([q for q, x in enumerate(self.kind) if x[:2] == (0, d)],
                              [q for q, x in enumerate(self.kind) if x[:2] == (1, d) and x[2]])
                          for d in self.device}
        self.plain = [q for q, x in enumerate(self.kind) if x[0] == 2 or x[0] == 1 and not x[2]]

    # ---- the bound by prices

    def profits(self, worths, prices):
        out = worths
        for price, shares in zip(prices, self.shares):
            if price:
                out = [p - price * s for p, s in zip(out, shares)]
        return out

    def knapsack(self, places, profit, size_of, top):
        """The best of one device, or of whole ones: a table, and how it came to be."""
        table, made = [0.0] * (top + 1), []
        room = {}
        for q in sorted((q for q in places if profit[q] > 0), key=lambda q: -profit[q]):
            size = size_of(q)
            n = min(self.most[q], room.get(size, top // size))
            if n <= 0:
                continue
            room[size] = room.get(size, top // size) - n
            made.append((q, size, profit[q], n, table))
            table = raise_all(table, size, profit[q], n)
        return table, made

    @staticmethod
    def taken(made, x, times, into):
        """What the table's value at x is made of."""
        for q, size, gain, most, before in reversed(made):
            n = max(range(min(most, x // size) + 1), key=lambda n: before[x - n * size] + n * gain)
            if n:
                into[q] = into.get(q, 0) + n * times
                x -= n * size

    def evaluate(self, worths, prices, scarce_price):
        """(bound, what it takes: place -> how many)."""
        profit = self.profits(worths, prices)
        value, take = sum(prices), {}
        if self.scarce:
            profit = list(profit)
            for q, p in zip(self.scarce, scarce_price):
                profit[q] -= p
                value += p * self.most[q]
        for q in self.plain:
            if profit[q] > 0:
                take[q] = self.most[q]
                value += profit[q] * self.most[q]
        for d, (devices, cells) in self.device.items():
            wholes, parts = self.of_device[d]
            one, made = self.knapsack(parts, profit, lambda q: -self.kind[q][2], cells)
            each = one[cells]
            all, made_whole = self.knapsack(wholes, profit, lambda q: -self.kind[q][2], devices)
            j = max(range(devices + 1), key=lambda j: all[j] + (devices - j) * each)
            value += all[j] + (devices - j) * each
            self.taken(made_whole, j, 1, take)
            if j < devices:
                self.taken(made, cells, devices - j, take)
        return value, take

    def column(self, take, worths):
        column = [sum(n * s[q] for q, n in take.items()) for s in self.shares]
        column += [take.get(q, 0) for q in self.scarce] + [1.0]
        return column, sum(n * worths[q] for q, n in take.items())

    def mix(self, cuts, worths):
        m = Mix([1.0] * len(self.keys) + [self.most[q] for q in self.scarce] + [1.0])
        for take in cuts:
            m.add(*self.column(take, worths))
        return m

    def bound(self, worths, enough):
        """Good prices, and the bound that they give; it may stop at anything not above
        `enough`."""
        cuts = list(self.warm)
        x = self.prices + self.scarce_price
        n = len(self.keys)
        best, take = self.evaluate(worths, x[:n], x[n:])
        at, mix, half = x, None, True
        for _ in range(STEPS):
            if best <= enough:
                break
            cuts.append(take)
            scarce = [q for q, k in take.items() if k > self.most[q] and q not in self.scarce]
            if scarce:
                self.scarce += scarce
                at = at + [0.0] * len(scarce)
                mix = None
            if mix:
                mix.add(*self.column(take, worths))
            else:
                mix = self.mix(cuts, worths)
            low = mix.solve()
            if best - low <= 1e-10 * best:
                break
            x = mix.prices()
            if half:
                x = [(a + b) / 2 for a, b in zip(x, at)]
            value, take = self.evaluate(worths, x[:n], x[n:])
            if value < best:
                best, at, half = value, x, True
            else:
                half = not half
        if mix:
            m = mix.n
            self.warm = [cuts[c - m] for c in mix.basis if c >= m]
        self.prices, self.scarce_price = at[:n], at[n:]
        return best

    def jointly(self, worths, enough):
        """The bound with one resource exact as well, the dearest ones tried; it may stop at
        anything not above `enough`."""
        best, (devices, columns) = INF, JOINT
        if len(self.device) > 1 or any(n > devices for n, _ in self.device.values()):
            return best
        for c in sorted(range(len(self.keys)), key=lambda c: -self.prices[c])[:columns]:
            if best > enough:
                best = min(best, self.joints.setdefault(c, Joint(self, c)).bound(worths, enough))
        return best

    # ---- the search

    def search(self, worths, enough, nodes):
        """The most that it can hold, or enough if that is more; None: there was no end."""
        if len(self.device) > 1 or any(set(self.items[q][1]) & DEVICES for q in self.plain):
            return None                     # several kinds of devices, parts finer than a cell
        search = Search(self, worths, enough)
        found = search.run(min(nodes, FEW))
        if found is None and nodes > FEW:
            if self.jointly(worths, enough) <= enough:
                return enough
            search.make_grid()
            found = search.run(nodes)
        return found

    def worth(self, worths, enough=-1.0, nodes=NODES):
        """The most worth (of each item of the question) that it holds, or something above
        it; it may stop at anything not above `enough`.  nodes: steps of one search."""
        worths = [max(worths[i], 0.0) for i, _, _ in self.items]
        if not any(worths):
            return 0.0
        high, low = self.bound(worths, enough), max(enough, 0.0)
        goal = low
        for k in range(1 + HALVES):
            if high <= goal:
                break
            found = self.search(worths, goal, nodes)
            if found is None:
                low = goal
            else:
                high = min(high, found)
                if k == 0 or found > goal:      # there is nothing to find below
                    break
            goal = (low + high) / 2
        return high


class Joint(Fill):
    """A fill whose bound has one plain resource exact."""

    def __init__(self, fill, column):
        self.__dict__.update(fill.__dict__, warm=[], prices=fill.prices[:], scarce=[], scarce_price=[])
        key = self.keys[column]
        self.grid, self.units = check_joint.grid_of(self.row[key], [needs.get(key, 0) for _, needs, _ in self.items])

    def evaluate(self, worths, prices, scarce_price):
        profit = list(self.profits(worths, prices))
        for q, p in zip(self.scarce, scarce_price):
            profit[q] -= p
        devices, cells = next(iter(self.device.values()), (0, 0))
        wholes, parts = next(iter(self.of_device.values()), ([], []))
        value, take = check_joint.most(cells, devices, self.grid, *([
            (q, -self.kind[q][2], self.units[q], self.most[q], profit[q]) for q in places]
            for places in (parts, wholes, self.plain)))
        return value + sum(prices) + sum(p * self.most[q] for q, p in zip(self.scarce, scarce_price)), take


class Search:
    """All fills of a machine, but for those that cannot be worth enough by one of two
    bounds on what may still come: all plain resources at a price; or the dearest one
    exact and the others at a price, devices too if there are several.

    Items come in the order of the fill's: whole devices, parts, no device."""

    def __init__(self, fill, worths, enough):
        self.fill, self.worths, self.best = fill, worths, max(enough, 0.0)
        self.devices, self.cells = next(iter(fill.device.values()), (0, 1))
        self.profit = list(fill.profits(worths, fill.prices))
        for q, p in zip(fill.scarce, fill.scarce_price):
            self.profit[q] -= p
        self.take([q for q in range(len(worths)) if worths[q] > 0])
        self.make_tables()
        whole = self.whole[0][-1]           # of all devices
        self.cell_price = whole / (self.devices * self.cells) if self.devices else 0.0
        self.start = sum(fill.prices) + sum(p * fill.most[q] for q, p in zip(fill.scarce, fill.scarce_price))
        root = self.start + whole + self.plain[self.first_plain]
        self.take([q for k, q in enumerate(self.order) if root - self.loss(k) > enough])
        self.make_tables()
        self.grid = None

    def take(self, order):
        fill = self.fill
        plain = set(fill.plain)
        self.order = order
        self.size = [0 if q in plain else -fill.kind[q][2] for q in order]
        self.most = [fill.most[q] for q in order]
        self.first_part = sum(fill.kind[q][0] == 0 for q in order)
        self.first_plain = sum(q not in plain for q in order)

    def make_tables(self):
        """What items from the k-th on can add, all plain resources at a price: on one
        device with so many cells left, on so many whole devices, with none."""
        n, first_part, first_plain = len(self.order), self.first_part, self.first_plain
        gain = [max(self.profit[q], 0.0) for q in self.order]
        self.plain = {n: 0.0}
        for k in reversed(range(first_plain, n)):
            self.plain[k] = self.plain[k + 1] + gain[k] * self.most[k]
        self.part = {first_plain: [0.0] * (self.cells + 1)}
        for k in reversed(range(first_part, first_plain)):
            self.part[k] = raise_all(self.part[k + 1], self.size[k], gain[k], self.most[k])
        self.whole = {first_part: [j * self.part[first_part][-1] for j in range(self.devices + 1)]}
        for k in reversed(range(first_part)):
            self.whole[k] = raise_all(self.whole[k + 1], self.size[k], gain[k], self.most[k])

    def loss(self, k):
        """What any fill with the item is below the best, by these tables."""
        profit = self.profit[self.order[k]]
        if k >= self.first_plain:
            return max(-profit, 0.0)
        row = self.whole[0] if k < self.first_part else self.part[self.first_part]
        return row[-1] - row[-1 - self.size[k]] - profit

    def make_grid(self):
        """The same with the dearest resource exact: by how many cells are left of the
        only device (0 if there are several: then a cell has a price), and how much of
        the resource."""
        fill, n = self.fill, len(self.order)
        self.levels = self.cells if self.devices == 1 else 0
        if not fill.keys or n * (self.levels + 1) * GRID > TABLE:
            return
        column = max(range(len(fill.keys)), key=lambda c: fill.prices[c])
        other = [0.0 if c == column else p for c, p in enumerate(fill.prices)]
        profit = fill.profits(self.worths, other)
        self.units = [int(fill.shares[column][q] * GRID * (1 - 1e-12)) for q in self.order]
        in_cells = [s * (self.cells if k < self.first_part else 1) for k, s in enumerate(self.size)]
        best = INF
        for price in [0.0] if self.levels or not self.devices else [self.cell_price * f for f in (1, .85, .7, .5, .25)]:
            table = [[[0.0] * (GRID + 1) for _ in range(self.levels + 1)]]
            for k in reversed(range(n)):
                table.append(grid_row(table[-1], in_cells[k] if self.levels else 0, self.units[k],
                                      profit[self.order[k]] - price * in_cells[k], self.most[k]))
            start = sum(other) + price * self.cells * self.devices
            if start + table[-1][self.levels][GRID] < best:
                best = start + table[-1][self.levels][GRID]
                self.grid, self.grid_start = table[::-1], start
                self.grid_gone = [self.worths[q] - profit[q] + price * in_cells[k] for k, q in enumerate(self.order)]

    def run(self, most_nodes):
        fill, n = self.fill, len(self.order)
        first_part, first_plain, cells = self.first_part, self.first_plain, self.cells
        part, whole, plain, grid = self.part, self.whole, self.plain, self.grid
        size, most = self.size, self.most
        needs = [[fill.items[q][1].get(k, 0) for k in fill.keys] for q in self.order]
        gain = [self.worths[q] for q in self.order]
        # with an item goes its part of the price of what is free
        gone = [self.worths[q] - self.profit[q] for q in self.order]
        gone_grid, units = (self.grid_gone, self.units) if grid else ([0.0] * n, [0] * n)
        best, nodes, keys = self.best, 0, range(len(fill.keys))

        def hopeful(k, value, rest, untouched, levels):
            if k >= first_plain:
                more = plain[k]
            elif k < first_part:
                more = plain[first_plain] + whole[k][untouched]
            else:
                row = part[k]
                more = plain[first_plain] + untouched * row[cells] + sum(row[x] for x in levels)
            if value + rest[0] + more <= best * (1 + SAFE):
                return False
            if not grid:
                return True
            level = 0 if not self.levels else cells if untouched else levels[0] if levels else 0
            return value + rest[1] + grid[k][level][rest[2]] > best * (1 + SAFE)

        def grow(k, used, highest, value, rest, free, untouched, levels):
            """used: of the k-th; rest: what is free costs so much, by either bound, and how
            much of the exact resource it is; highest: the next of the k-th lies on no
            device with more left."""
            nonlocal best, nodes
            best = max(best, value)
            while k < n and nodes <= most_nodes:
                nodes += 1
                if not hopeful(k, value, rest, untouched, levels):
                    return
                need = needs[k]
                if used < most[k] and all(need[c] <= free[c] for c in keys):
                    now = [free[c] - need[c] for c in keys]
                    more = value + gain[k], (rest[0] - gone[k], rest[1] - gone_grid[k], rest[2] - units[k]), now
                    if k >= first_plain:
                        grow(k, used + 1, cells, *more, untouched, levels)
                    elif k < first_part:
                        if size[k] <= untouched:
                            grow(k, used + 1, cells, *more, untouched - size[k], levels)
                    else:
                        last = -1
                        for x, level in enumerate(levels):
                            if size[k] <= level <= highest and level != last:
                                rest_levels = levels[:x] + levels[x + 1:]
                                insort(rest_levels, level - size[k])
                                grow(k, used + 1, level, *more, untouched, rest_levels)
                            last = level
                        if untouched and highest >= cells:
                            rest_levels = levels[:]
                            insort(rest_levels, cells - size[k])
                            grow(k, used + 1, cells, *more, untouched - 1, rest_levels)
                k, used, highest = k + 1, 0, cells

        grow(0, 0, cells, 0.0, (self.start, self.grid_start if grid else 0.0, GRID),
             [fill.row[k] for k in fill.keys], self.devices, [])
        return None if nodes > most_nodes else best
