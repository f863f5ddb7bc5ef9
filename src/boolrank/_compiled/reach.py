"""The best items of a profile that reaches few of them, without a scan of all.

An item that no row of the profile reaches scores ``by_class[class] + base``: within a class, the
order by base is the order by score, and it is fixed once the model is fitted. So the list comes
from the items reached, and from the first few of each class.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .compiler import loop, ranged
from .ranking import before, best, offer, sort_best_first, sort_heap
from .vectors import copy_to
from .weights import SUMS, factor_of, settled

# States of items, as bits.
_REACHED, OWN, HIDDEN = 1, 2, 4
# How far below the list a run of equal scores is followed, in units of rounding; then all the way.
_MARGINS = (8.0, 1024.0, np.inf)
# Items that are scanned in the time of one entry of a row that is reached.
_SCAN = 8
# If one item in so many is left, a new layout costs less than stepping over hidden items.
_FEW_LEFT = 16


class Layout(NamedTuple):
    """Items by class, the highest base first, then by number.

    ``following`` has the place after the last item of the same class and base; ``largest`` is the
    largest |base|.
    """

    base: NDArray[np.float64]
    classes: NDArray[np.uint32]
    start: NDArray[np.int64]
    order: NDArray[np.int32]
    following: NDArray[np.int64]
    largest: float

    @staticmethod
    def of(base, classes, n_classes):
        """Return the layout of items with a base and a class each."""
        order = np.lexsort((np.arange(len(base)), -base, classes))
        start = np.searchsorted(classes[order], np.arange(n_classes + 1))
        new = np.ones(len(base), bool)
        new[1:] = classes[order[1:]] != classes[order[:-1]]
        new[1:] |= base[order[1:]] != base[order[:-1]]
        group = np.cumsum(new) - 1
        following = np.append(np.flatnonzero(new)[1:], len(order))[group] if len(order) else group
        kinds, largest = classes.astype(np.uint32), float(abs(base).max(initial=0.0))
        return Layout(base, kinds, start, order.astype(np.int32), following, largest)

    def without(self, hidden):
        """Return the layout of the other items where many are hidden, so that lists skip none."""
        if _FEW_LEFT * (len(self.order) - len(hidden)) > len(self.order):
            return self
        kept = np.ones(len(self.order), bool)
        kept[hidden] = False
        kept = kept[self.order]
        before = np.concatenate(([0], np.cumsum(kept)))
        following = before[self.following[kept]]
        return self._replace(start=before[self.start], order=self.order[kept], following=following)


@loop
def entries_if_few(indptr, items, weights, size):
    """Return the entries in the rows of a profile, or -1 if a scan of all items costs less."""
    length = np.int64(0)
    for s in range(len(items)):
        if len(weights) == 0 or weights[s] != 0:
            length += indptr[items[s] + 1] - indptr[items[s]]
    return length if _SCAN * length < size else np.int64(-1)


@loop
def hide(scores, states):
    """Give items that are hidden or the profile's own the score -inf."""
    for item in range(len(scores)):
        if states[item]:
            scores[item] = -np.inf


@loop
def reach(item, scores, states, reached, used, by_class, layout):
    """Give an item its score without the profile's rows, unless it has one; return the number."""
    if states[item] & _REACHED == 0:
        states[item] |= _REACHED
        scores[item] = by_class[layout.classes[item]] + layout.base[item]
        reached[used] = item
        return used + 1
    return used


@loop
def list_reached(reached, scores, states, by_class, layout, noise, items, values):
    """Fill ``items`` and ``values`` with the best, as `best` does; return nothing."""
    n = len(items)
    size = np.int64(0)
    for r in range(len(reached)):
        if states[reached[r]] == _REACHED and scores[reached[r]] > -np.inf:
            size = offer(values, items, size, scores[reached[r]], np.int64(reached[r]))
    for c in range(len(by_class) if n > 0 else 0):
        at = layout.start[c]
        while at < layout.start[c + 1]:
            item = np.int64(layout.order[at])
            score = by_class[c] + layout.base[item]
            if not score > -np.inf or (size == n and score < values[0]):
                break
            if size == n and not before(score, item, values[0], items[0]):
                at = layout.following[at]  # the others of this score have higher numbers
                continue
            if states[item] == 0:
                size = offer(values, items, size, score, item)
            at += 1
    sort_heap(values, items, size)
    if noise > 0 and size > 0:
        _settle_ties(reached, scores, states, by_class, layout, noise, size, items, values)


@loop
def _settle_ties(reached, scores, states, by_class, layout, noise, size, items, values):
    """Order scores that differ by rounding alone by number, at the end of the list too."""
    most = 0.0  # no score has larger terms
    for c in range(len(by_class)):
        most = max(most, abs(by_class[c]))
    most += layout.largest
    for r in range(len(reached)):
        base = layout.base[reached[r]]
        most = max(most, abs(scores[reached[r]] - base) + abs(base))
    last = values[size - 1] if size == len(items) else -np.inf
    for margin in _MARGINS:
        limit = last - margin * noise * most if margin < np.inf else -np.inf
        if np.isnan(limit):
            limit = -np.inf
        pool = _pool(reached, scores, states, by_class, layout, limit, len(items))
        found, base = np.empty(len(pool)), np.empty(len(pool))
        for k in range(len(pool)):
            item = pool[k]
            base[k] = layout.base[item]
            found[k] = scores[item]
            if states[item] == 0:
                found[k] = by_class[layout.classes[item]] + base[k]
        items[:] = -1
        low = best(found, base, noise, len(items), items, values)
        if limit == -np.inf or low - limit > noise * most:
            break
    for k in range(len(items)):
        if items[k] >= 0:
            items[k] = pool[items[k]]


@loop
def _pool(reached, scores, states, by_class, layout, limit, n):
    """Return the items that score at least the limit, ascending; of equal ones of a class n."""
    pool, used = np.empty(len(reached) + n + 64, np.int32), 0
    for r in range(len(reached)):
        score = scores[reached[r]]
        if states[reached[r]] == _REACHED and score >= limit and score > -np.inf:
            pool[used] = reached[r]
            used += 1
    for c in range(len(by_class)):
        at, equal = layout.start[c], 0
        while at < layout.start[c + 1]:
            item = layout.order[at]
            score = by_class[c] + layout.base[item]
            if not (score >= limit and score > -np.inf):
                break
            if states[item] == 0:
                if used == len(pool):
                    longer = np.empty(2 * used, np.int32)
                    longer[:used] = pool
                    pool = longer
                pool[used] = item
                used += 1
                equal += 1
            if equal == n or at + 1 == layout.following[at]:
                at, equal = layout.following[at], 0
            else:
                at += 1
    keys, order = np.empty(used), np.empty(used, np.int32)
    for k in range(used):
        keys[k], order[k] = -np.float64(pool[k]), pool[k]
    sort_best_first(keys, order)
    return order


@loop
def set_state(states, items, bit, on):
    """Mark items as a profile's own or hidden, or no longer."""
    for k in range(len(items)):
        if on:
            states[items[k]] |= bit
        else:
            states[items[k]] &= ~bit


@loop
def forget(states, reached):
    """Make the states of items ready for the next profile."""
    for r in range(len(reached)):
        states[reached[r]] &= ~_REACHED


@ranged(lambda _out, _sparse, _layout, profiles, _: (len(profiles[0]) - 1, 256 * len(profiles[1])))
def rank_sums(begin, end, out, sparse, layout, profiles, request):
    """Fill with the best items of each profile by the settled sums of its sparse rows."""
    chosen, values = out
    (start, items, factors), (hidden, hide_own) = profiles, request
    size = len(layout.base)
    scores, states, by_class = np.empty(size), np.zeros(size, np.uint8), np.zeros(1)
    set_state(states, hidden, HIDDEN, True)
    for k in range(begin, end):
        own, of_own = items[start[k] : start[k + 1]], factors[start[k] : start[k + 1]]
        set_state(states, own, OWN, hide_own)
        length = entries_if_few(sparse[0], own, factors[:0], size)
        if length >= 0:
            reached = np.empty(length, np.int32)
            reached = _reach_sums(reached, scores, states, layout.base, sparse, own, of_own)
            list_reached(reached, scores, states, by_class, layout, 0.0, chosen[k], values[k])
            forget(states, reached)
        else:
            _fill_sums(scores, layout.base, sparse, own, of_own)
            hide(scores, states)
            best(scores, layout.base, 0.0, chosen.shape[1], chosen[k], values[k])
        set_state(states, own, OWN, False)


@loop
def _fill_sums(scores, base, sparse, own, factors):
    """Fill with the sums of the rows of a profile, on top of a base."""
    indptr, columns, weights = sparse
    copy_to(scores, base)
    for s in range(len(own)):
        factor = factor_of(factors, s)
        for at in range(indptr[own[s]], indptr[own[s] + 1]):
            scores[columns[at]] += factor * weights[at]
    for item in range(len(scores)):
        scores[item] = settled(scores[item], scores[item], SUMS)


@loop
def _reach_sums(reached, scores, states, base, sparse, own, factors):
    """Sum the rows of a profile, and return the items reached."""
    (indptr, columns, weights), used = sparse, np.int64(0)
    for s in range(len(own)):
        factor = factor_of(factors, s)
        for at in range(indptr[own[s]], indptr[own[s] + 1]):
            item = columns[at]
            if states[item] & _REACHED == 0:
                states[item] |= _REACHED
                scores[item] = base[item]
                reached[used] = item
                used += 1
            scores[item] += factor * weights[at]
    for r in range(used):
        score = scores[reached[r]]
        scores[reached[r]] = settled(score, score, SUMS)
    return reached[:used]
