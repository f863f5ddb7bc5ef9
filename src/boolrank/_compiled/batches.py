"""Lists of many profiles at once, on a compressed kernel matrix: the same bits as one by one.

One by one, a profile adds up all its rows. A batch takes three steps:

1. The problems of all profiles are solved (`problems`).
2. Scores in single precision, with long rows as bytes (`sketch`), tell which items may be listed.
3. Each row is spread out for all profiles that have its item, and the scores of these candidates
   are summed in double precision.

No item outside the candidates of a profile could be listed, so lists equal those of all scores.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .compiler import loop, ranged
from .problems import clear, is_worth_spreading, spread, uses_of, weights_of
from .profiles import NOISE, score_reached, sums_of_rows
from .ranges import N_THREADS, most_threads
from .ranking import best, nth_highest, sort_best_first
from .reach import HIDDEN, OWN, entries_if_few, forget, hide, list_reached, set_state
from .scores import fill_scores
from .sketch import approximate
from .vectors import place

# Ranges per thread: few, since the more profiles a batch has, the more of them share a row.
_RANGES = 2
# Candidates of a batch: 48 MB.
_CANDIDATES = 1 << 22
# Items of which the highest score is known.
_STRIDES = 64
# Candidates are at most this part of all items; beyond, adding up all rows is faster.
_SHARE = 16
# Distance from the last of a list below which scores may count as equal, in units of noise.
_MARGIN = 8.0


class Candidates(NamedTuple):
    """The items that may be listed for the users of a batch, and sums of their scores.

    Those of user u are ``items[first[u]:first[u + 1]]``, ascending. No other item scores more than
    ``limits[u]``, which is infinite where there are no candidates and the profile is still to be
    listed, and -inf where it is listed. ``terms`` bound the terms of a score.
    """

    items: NDArray[np.int32]
    scores: NDArray[np.float64]
    first: NDArray[np.int64]
    limits: NDArray[np.float64]
    terms: NDArray[np.float64]


def rank_batches(matrix, base, layout, sketch, scoring, profiles, hidden, hide_own, n, order):
    """Return the n best items of each profile, as `profiles.rank` does."""
    count = len(profiles[0]) - 1
    chosen, scores = np.full((count, n), -1, np.int32), np.full((count, n), np.nan)
    gaps = np.zeros(count)
    scoring = base, *map(float, scoring)
    # Each range gets profiles of all kinds, so that all take about as long.
    ranges = _RANGES * (N_THREADS.get() or most_threads())
    order = np.concatenate([order[k::ranges] for k in range(ranges)])
    request = hidden, bool(hide_own), order
    _rank((chosen, scores, gaps), matrix, layout, tuple(profiles), scoring, sketch, request)
    return chosen, scores, gaps


@ranged(sums_of_rows, ranges=_RANGES)
def _rank(begin, end, out, matrix, layout, profiles, scoring, sketch, request):
    hidden, _, order = request
    states, dense = np.zeros(len(matrix.pull), np.uint8), np.zeros(len(matrix.pull))
    set_state(states, hidden, HIDDEN, True)
    most = max(_CANDIDATES // (4 * out[0].shape[1] + 64), 1)
    for first in range(begin, end, most):
        uses = uses_of(profiles, order[first : min(first + most, end)], len(dense))
        alpha = weights_of(uses, out[2], dense, matrix, profiles, scoring)
        found = _candidates(
            out, alpha, states, matrix, layout, profiles, uses, scoring, sketch, request
        )
        _sum_candidates(found, dense, alpha, matrix, uses)
        _list_candidates(out, found, matrix, profiles, alpha, states, uses, scoring, request)


@loop
def _candidates(out, alpha, states, matrix, layout, profiles, uses, scoring, sketch, request):
    """List profiles with few entries; return the candidates of the others."""
    chosen, scores, _ = out
    start, items, _ = profiles
    users, entry = uses.users, uses.entry
    base, (hidden, hide_own, _) = scoring[0], request
    n, size = chosen.shape[1], len(base)
    exact, scores_by_place = np.empty(size), np.empty(size, np.float32)
    tops = np.empty(size // _STRIDES + 1, np.float32)
    first, limits = np.zeros(len(users) + 1, np.int64), np.full(len(users), -np.inf)
    pool, values, terms = (
        np.empty(_CANDIDATES, np.int32),
        np.empty(_CANDIDATES),
        np.zeros(len(users)),
    )
    for u in range(len(users)):
        k, used = users[u], first[u]
        first[u + 1] = used
        own, weights = items[start[k] : start[k + 1]], alpha[entry[u] : entry[u + 1]]
        if len(own) == 0:
            continue
        set_state(states, own, OWN, hide_own)
        by_class = np.zeros(len(matrix.background))
        length = entries_if_few(matrix.indptr, own, weights, size)
        if length >= 0:
            reached = np.empty(length + len(own), np.int32)
            profile = own, weights
            reached = score_reached(
                reached, exact, states, by_class, matrix, matrix.distance, layout, profile
            )
            list_reached(reached, exact, states, by_class, layout, NOISE, chosen[k], scores[k])
            forget(states, reached)
        else:
            error, most = approximate(
                scores_by_place, by_class, matrix, sketch, layout.largest, own, weights
            )
            _hide(scores_by_place, sketch.place, hidden)
            if hide_own:
                _hide(scores_by_place, sketch.place, own)
            _fill_tops(tops, scores_by_place)
            # As many items as there are in a list score at least the n-th highest top.
            lowest = nth_highest(tops, n) - 2 * error - _MARGIN * NOISE * most
            limits[u], terms[u] = np.inf, most
            if error < np.inf and lowest > -np.inf:
                room = min(size // _SHARE + n, len(pool) - used)
                found = _at_least(scores_by_place, sketch.order, tops, lowest, room)
                if len(found) <= room:
                    for c in range(len(found)):
                        pool[used + c] = found[c]
                        values[used + c] = by_class[matrix.classes[found[c]]] + base[found[c]]
                    first[u + 1] = used + len(found)
                    limits[u] = lowest + error
        set_state(states, own, OWN, False)
    return Candidates(pool, values, first, limits, terms)


@loop
def _hide(scores, place, items):
    for item in items:
        scores[place[item]] = -np.inf


@loop
def _fill_tops(tops, scores):
    """Fill with the highest score among each item and those that follow it at a fixed distance."""
    tops[:] = -np.inf
    for low in range(0, len(scores), len(tops)):
        part = scores[low : low + len(tops)]
        for c in range(len(part)):
            tops[c] = max(tops[c], part[c])


@loop
def _at_least(scores, order, tops, lowest, most):
    """Return the items that score at least the lowest, ascending; more than ``most`` if they do."""
    pool, keys, used = np.empty(most + 1, np.int32), np.empty(most + 1), np.int64(0)
    for c in range(len(tops)):
        if tops[c] >= lowest:
            for at in range(c, len(scores), len(tops)):
                if scores[at] >= lowest and used <= most:
                    pool[used], keys[used] = order[at], -order[at]
                    used += 1
    sort_best_first(keys[:used], pool[:used])
    return pool[:used]


@loop
def _sum_candidates(found, dense, alpha, matrix, uses):
    """Add the rows of profiles to the scores of their candidates, in the order of the rows."""
    items, scores, start, entry = found.items, found.scores, found.first, uses.entry
    for item in range(len(uses.first) - 1):
        searches = np.int64(0)
        for at in range(uses.first[item], uses.first[item + 1]):
            u, s = uses.user[at], uses.place[at]
            if alpha[entry[u] + s] != 0:
                searches += start[u + 1] - start[u]
        if searches == 0:
            continue
        low, high = matrix.indptr[item], matrix.indptr[item + 1]
        class_ = matrix.classes[item]
        own = 1.0 - matrix.background[class_, class_]
        spreads = is_worth_spreading(high - low, searches)
        if spreads:
            spread(dense, matrix, low, high)
            dense[item] = own
        for at in range(uses.first[item], uses.first[item + 1]):
            u, s = uses.user[at], uses.place[at]
            weight = alpha[entry[u] + s]
            if weight == 0:
                continue
            if spreads:
                for c in range(start[u], start[u + 1]):
                    scores[c] += weight * dense[np.uint32(items[c])]
            else:
                after = low
                for c in range(start[u], start[u + 1]):
                    column = items[c]
                    if column == item:
                        scores[c] += weight * own
                    after = place(matrix.columns, after, high, column)
                    if after < high and matrix.columns[after] == column:
                        scores[c] += weight * matrix.values[after]
        if spreads:
            clear(dense, matrix, low, high)
            dense[item] = 0.0


@loop
def _list_candidates(out, found, matrix, profiles, alpha, states, uses, scoring, request):
    """List the candidates of each profile, or all items where they do not decide."""
    chosen, scores, _ = out
    start, items, _ = profiles
    users, entry = uses.users, uses.entry
    (base, negative_weight), hide_own = scoring[:2], request[1]
    row = np.empty(len(base))
    for u in range(len(users)):
        k, limit = users[u], found.limits[u]
        if limit == -np.inf:
            continue
        first, last = found.first[u], found.first[u + 1]
        own, of_own = found.items[first:last], found.scores[first:last]
        low = -np.inf
        if limit < np.inf:
            low = best(of_own, base[own], NOISE, chosen.shape[1], chosen[k], scores[k])
        if low - limit > NOISE * found.terms[u]:
            for at in range(chosen.shape[1]):
                if chosen[k, at] >= 0:
                    chosen[k, at] = own[chosen[k, at]]
        else:
            chosen[k] = -1
            scores[k] = np.nan
            profile = items[start[k] : start[k + 1]]
            fill_scores(row, matrix, base, negative_weight, profile, alpha[entry[u] : entry[u + 1]])
            set_state(states, profile, OWN, hide_own)
            hide(row, states)
            set_state(states, profile, OWN, False)
            best(row, base, NOISE, chosen.shape[1], chosen[k], scores[k])
