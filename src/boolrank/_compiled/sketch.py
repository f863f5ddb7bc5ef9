"""A kernel matrix rounded to bytes, to bound scores at a fraction of their cost.

A value v of a row is stored as round(v / step), so a weighted sum of rows is right to half of
Σ weight·step. Long rows have a byte for each item and are added in vectors, which takes 0.05 ns per
item; others have entries, at 1 ns each. Items stand by class, in the order of a `Layout`: then the
background of a class is one number for a run of items, and popular items, which most entries are
of, share cache lines.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .compiler import loop, ranged
from .overlaps import lowest_bit
from .scores import add_background, support

# A row is long if it has an entry for this many items.
_LONG = 24
# Bytes of long rows for an entry of the matrix, which has 12.
_BYTES = 3
# Items whose sums stay in the first-level cache.
_BLOCK = 8192
# Half of the step of a byte, with room for the rounding of the quotient; the rounding of single
# precision, with room for conversions; and scores that lose digits in it, or may not fit.
_HALF, _SINGLE, _LEAST, _LARGEST = 0.5 + 2.0**-20, 2.0**-23, 2.0**-100, 2.0**100


class Sketch(NamedTuple):
    """The correction S as bytes, in units of ``steps`` for each row.

    ``order`` has the item at each place, ``place`` the place of each item, ``start`` the first
    place of each class, and ``base`` the scores for an empty profile, by place. ``which`` is the
    number of a long row, or -1 for those that have entries.
    """

    order: NDArray[np.int32]
    place: NDArray[np.int32]
    start: NDArray[np.int64]
    base: NDArray[np.float32]
    steps: NDArray[np.float64]
    which: NDArray[np.int32]
    long: NDArray[np.uint8]
    indptr: NDArray[np.int64]
    places: NDArray[np.uint32]
    entries: NDArray[np.uint8]

    @staticmethod
    def of(matrix, layout):
        """Return the sketch of a compressed matrix; None if batches cannot be used.

        Values must be finite and not negative, and the origin not moved.
        """
        if matrix.distance is not None:
            return None
        size, lengths = len(matrix.pull), np.diff(matrix.indptr)
        extremes = np.zeros((2, size))
        _fill_extremes(extremes, matrix.indptr, matrix.values)
        if extremes[0].min(initial=0.0) < 0 or extremes[1].max(initial=0.0) == np.inf:
            return None
        most = _BYTES * len(matrix.values) // max(size, 1)
        some = np.argsort(-lengths, kind="stable")[:most]
        some = some[lengths[some] * _LONG >= size]
        which = np.full(size, -1, np.int32)
        which[some] = np.arange(len(some))
        indptr = np.concatenate(([0], np.cumsum(np.where(which < 0, lengths, 0))))
        place = np.empty(size, np.int32)
        place[layout.order] = np.arange(size)
        long = np.zeros((len(some), size), np.uint8)
        # Zeros, since a forged row may name a column twice and leave places unused.
        places, entries = np.zeros(indptr[-1], np.uint32), np.zeros(indptr[-1], np.uint8)
        steps = extremes[1] / 255
        _fill_bytes((long, places, entries), matrix, place, steps, which, indptr)
        with np.errstate(over="ignore"):  # bounds are infinite then
            base = layout.base[layout.order].astype(np.float32)
        rows = steps, which, long, indptr, places, entries
        return Sketch(layout.order, place, layout.start, base, *rows)


@ranged(lambda out, _indptr, values: (out.shape[1], len(values)))
def _fill_extremes(begin, end, out, indptr, values):
    """Fill with the least and the largest value of each row and 0; NaN counts as infinite."""
    for i in range(begin, end):
        low = high = 0.0
        for k in range(indptr[i], indptr[i + 1]):
            low = min(low, values[k])
            high = max(high, values[k] if values[k] == values[k] else np.inf)
        out[0, i], out[1, i] = low, high


@ranged(lambda _out, matrix, *_: (len(matrix.pull), len(matrix.values)))
def _fill_bytes(begin, end, out, matrix, place, steps, which, indptr):
    long, places, entries = out
    by_place = np.zeros(len(place), np.uint8)
    words = np.zeros((len(place) + 63) // 64, np.uint64)
    for row in range(begin, end):
        step = steps[row] if steps[row] > 0 else 1.0
        to = long[which[row]] if which[row] >= 0 else by_place
        for k in range(matrix.indptr[row], matrix.indptr[row + 1]):
            to[place[matrix.columns[k]]] = np.uint8(min(matrix.values[k] / step + 0.5, 255.0))
        if which[row] >= 0:
            continue
        for k in range(matrix.indptr[row], matrix.indptr[row + 1]):
            at = np.uint32(place[matrix.columns[k]])
            words[at >> np.uint32(6)] |= np.uint64(1) << np.uint64(at & np.uint32(63))
        used = indptr[row]
        for w in range(len(words)):
            word = words[w]
            words[w] = 0
            while word != 0:
                at = (w << 6) + lowest_bit(word)
                word &= word - np.uint64(1)
                places[used], entries[used] = at, by_place[at]
                used += 1


@loop
def approximate(out, by_class, matrix, sketch, largest, own, alpha):
    """Fill with scores by place; return a bound of their errors, and one of the terms of a score.

    ``by_class`` gets the background. ``largest`` is the largest |base|.
    """
    rows, weights = support(own, alpha)
    of_class = add_background(by_class, matrix, rows, weights)
    most, error, used = largest, 0.0, 0
    for c in range(len(by_class)):
        most = max(most, largest + abs(by_class[c]))
        error += 0.0 * by_class[c]  # NaN if one is not finite
        low, high, under = sketch.start[c], sketch.start[c + 1], np.float32(by_class[c])
        part, base = out[low:high], sketch.base[low:high]
        for k in range(len(part)):
            part[k] = base[k] + under
    sketched, of_sketched = np.empty(len(rows), np.int64), np.empty(len(rows), np.float32)
    for s in range(len(rows)):
        row, weight, under = rows[s], weights[s], matrix.background[of_class[s], of_class[s]]
        diagonal = weight * (1.0 - under)
        out[sketch.place[row]] += np.float32(diagonal)
        step = weight * sketch.steps[row]
        error += _HALF * step
        most += 256 * step + abs(diagonal)
        if sketch.which[row] >= 0:
            sketched[used], of_sketched[used] = sketch.which[row], step
            used += 1
        else:
            _add_entries(out, sketch, row, np.float32(step))
    _add_long(out, sketch.long, sketched[:used], of_sketched[:used])
    error += _SINGLE * (len(rows) + 4) * max(most, _LEAST)
    return error if most < _LARGEST else np.inf, most


@loop(fastmath=True)
def _add_entries(sums, sketch, row, weight):
    for k in range(sketch.indptr[row], sketch.indptr[row + 1]):
        sums[sketch.places[k]] += weight * np.float32(sketch.entries[k])


@loop(fastmath=True)
def _add_long(sums, long, rows, weights):
    """Add weighted rows, four at a time."""
    whole = len(rows) - len(rows) % 4
    for low in range(0, len(sums), _BLOCK):
        high = min(low + _BLOCK, len(sums))
        out = sums[low:high]
        for s in range(0, whole, 4):
            a, b = long[rows[s], low:high], long[rows[s + 1], low:high]
            c, d = long[rows[s + 2], low:high], long[rows[s + 3], low:high]
            of_a, of_b, of_c, of_d = weights[s], weights[s + 1], weights[s + 2], weights[s + 3]
            for j in range(len(out)):
                first = of_a * np.float32(a[j]) + of_b * np.float32(b[j])
                out[j] += first + (of_c * np.float32(c[j]) + of_d * np.float32(d[j]))
        for s in range(whole, len(rows)):
            a, of_a = long[rows[s], low:high], weights[s]
            for j in range(len(out)):
                out[j] += of_a * np.float32(a[j])
