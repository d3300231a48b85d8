"""The most that a machine's items can earn with its devices and one plain resource exact.

The resource comes on a grid, needs rounded down, so it is never less than the truth.
A device's best fill is known for each amount of the resource; devices are added one
after the other, those that are taken whole beside them, then what needs none.  How
many there are of an item counts within one device alone.  An item is (place, size,
share, most, profit): size in cells of a device, or whole devices; share: of all that the
machine has of the resource.
"""
import numpy as np

GRID = 192


class Table:
    """[size][units]: the most profit with at most so much, and how it came to be."""

    def __init__(self, top, items):
        self.value, self.steps = np.zeros((top + 1, GRID + 1)), []
        for place, size, share, most, profit in items:
            units = int(share * GRID * (1 - 1e-12))
            most = min(most, top // size if size else most, GRID // units if units else most)
            n = 1
            while profit > 0 and most > 0:      # 1, 2, 4, ... of them at once
                n = min(n, most)
                self.add(place, n, n * size, n * units, n * profit)
                most -= n
                n *= 2

    def add(self, place, n, size, units, gain):
        value = self.value
        more = value[:len(value) - size, :GRID + 1 - units] + gain
        took = np.zeros(value.shape, bool)
        took[size:, units:] = more > value[size:, units:]
        self.value = value.copy()
        self.value[size:, units:] = np.maximum(more, value[size:, units:])
        self.steps.append((place, n, size, units, took))

    def read(self, size, units, take):
        for place, n, s, u, took in reversed(self.steps):
            if took[size, units]:
                take[place] = take.get(place, 0) + n
                size, units = size - s, units - u


def join(a, b):
    """The best of both for each amount, and how much of it a has."""
    best, at = np.full(GRID + 1, -1.0), np.zeros(GRID + 1, int)
    for y in range(GRID + 1):
        more = a[y] + b[:GRID + 1 - y]
        better = more > best[y:]
        best[y:][better] = more[better]
        at[y:][better] = y
    return best, at


def most(cells, devices, parts, wholes, plain):
    """(profit, {place: how many})."""
    part, whole, none = Table(cells, parts), Table(devices, wholes), Table(0, plain)
    shared = [(np.zeros(GRID + 1), None)]
    for _ in range(devices):
        shared.append(join(part.value[cells], shared[-1][0]))
    split = [join(whole.value[j], shared[devices - j][0]) for j in range(devices + 1)]
    free = np.arange(GRID, -1, -1)              # of what is left beside the others
    value = np.max([best for best, _ in split], 0)[free] + none.value[0]
    units = int(value.argmax())
    take, left = {}, GRID - units
    none.read(0, units, take)
    j = max(range(devices + 1), key=lambda j: split[j][0][left])
    whole.read(j, split[j][1][left], take)
    left -= split[j][1][left]
    for k in range(devices - j, 0, -1):
        part.read(cells, shared[k][1][left], take)
        left -= shared[k][1][left]
    return float(value.max()), take
