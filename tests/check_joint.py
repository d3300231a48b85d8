"""The most that a machine's items can earn with its devices and one plain resource exact.

The resource comes in units that all needs are multiples of, or, if there are too many of
those, on a grid, needs rounded down, so it is never less than the truth.  A device's best
fill is known for each amount of the resource; devices are added one after the other, those
that are taken whole beside them, then what needs none.  How many there are of an item
counts within one device alone.  An item is (place, size, units, most, profit): size in cells
of a device, or whole devices.
"""
from math import gcd

import numpy as np

MOST = 1024             # units that are exact, at most
GRID = 512              # that needs are rounded to


def grid_of(has, needs):
    """(units that there are, those of each need)."""
    unit = gcd(*needs)
    if unit and has // unit <= MOST:
        return has // unit, [need // unit for need in needs]
    return GRID, [int(need / has * GRID * (1 - 1e-12)) for need in needs]


def sums_of(sizes, top):
    """All sums of sizes up to the top."""
    any = [True] + [False] * top
    for size in set(sizes) - {0}:
        for s in range(size, top + 1):
            any[s] |= any[s - size]
    return np.flatnonzero(any)


class Table:
    """[row][units]: the most profit with at most so much, and how it came to be.  A row is
    a sum of sizes."""

    def __init__(self, top, grid, items):
        items = [x for x in items if x[1] <= top and x[4] > 0]
        self.sums, self.steps = sums_of([x[1] for x in items], top), []
        self.value = np.zeros((len(self.sums), grid + 1))
        for place, size, units, most, profit in items:
            most = min(most, top // size if size else most, grid // units if units else most)
            n = 1
            while most > 0:                     # 1, 2, 4, ... of them at once
                n = min(n, most)
                self.add(place, n, n * size, n * units, n * profit)
                most -= n
                n *= 2

    def below(self, size):
        """The last row that has no more."""
        return np.searchsorted(self.sums, size, "right") - 1

    def add(self, place, n, size, units, gain):
        value, rows = self.value, np.flatnonzero(self.sums >= size)
        more = value[self.below(self.sums[rows] - size), :value.shape[1] - units] + gain
        took = np.zeros(value.shape, bool)
        took[rows, units:] = more > value[rows, units:]
        self.value = value.copy()
        self.value[rows, units:] = np.maximum(more, value[rows, units:])
        self.steps.append((place, n, size, units, took))

    def read(self, row, units, take):
        for place, n, size, u, took in reversed(self.steps):
            if took[row, units]:
                take[place] = take.get(place, 0) + n
                row, units = self.below(self.sums[row] - size), units - u


def join(a, b):
    """The best of both for each amount, and how much of it a has."""
    best, at = np.full(len(a), -1.0), np.zeros(len(a), int)
    for y in range(len(a)):
        if y and a[y] <= a[y - 1]:
            continue                            # one unit less does as well
        more = a[y] + b[:len(b) - y]
        better = more > best[y:]
        best[y:][better] = more[better]
        at[y:][better] = y
    return best, at


def most(cells, devices, grid, parts, wholes, plain):
    """(profit, {place: how many})."""
    part, whole, none = Table(cells, grid, parts), Table(devices, grid, wholes), Table(0, grid, plain)
    shared = [(np.zeros(grid + 1), None)]
    for _ in range(devices):
        shared.append(join(part.value[-1], shared[-1][0]))
    split = [join(whole.value[r], shared[devices - j][0]) for r, j in enumerate(whole.sums)]
    free = np.arange(grid, -1, -1)              # of what is left beside the others
    value = np.max([best for best, _ in split], 0)[free] + none.value[0]
    units = int(value.argmax())
    take, left = {}, grid - units
    none.read(0, units, take)
    r = max(range(len(split)), key=lambda r: split[r][0][left])
    whole.read(r, split[r][1][left], take)
    left -= split[r][1][left]
    for k in range(devices - whole.sums[r], 0, -1):
        part.read(-1, shared[k][1][left], take)
        left -= shared[k][1][left]
    return float(value.max()), take
