"""Lists of many profiles at once, on a compressed kernel matrix: the same bits as one by one.

One by one, a profile searches its pairs of items in sparse rows, and adds up all its rows. A batch
reads each row for all profiles that have its item:

1. A row is spread out, and the values of pairs are taken from it, for the problems of profiles.
2. Problems are solved.
3. Scores in single precision, with long rows as bytes (`sketch`), tell which items may be listed.
4. Rows are spread out again, and the scores of these items are summed in double precision.

No item outside the candidates of a profile could be listed, so lists equal those of all scores. The
value of a pair is taken from the row of its first item, so K must be symmetric to the last bit: it
is unless its origin is moved.
"""

from __future__ import annotations

import numpy as np

from .compiler import loop, ranged
from .profiles import NOISE, multiply_weights, score_reached, solve_profile, sums_of_rows
from .ranges import N_THREADS, most_threads
from .ranking import best, nth_highest, sort_best_first
from .reach import HIDDEN, OWN, entries_if_few, forget, hide, list_reached, set_state
from .scores import fill_scores
from .sketch import approximate
from .vectors import place

# Ranges per thread: few, since the more profiles a batch has, the more of them share a row.
_RANGES = 2
# Pairs of items in problems that are solved together, and candidates of a batch: 32 and 48 MB.
_PAIRS, _CANDIDATES = 1 << 22, 1 << 22
# Spreading an entry of a row takes a part of the time of a search in it.
_SEARCH = 24
# Items of which the highest score is known.
_STRIDES = 64
# Candidates are at most this part of all items; beyond, adding up all rows is faster.
_SHARE = 16
# Distance from the last of a list below which scores may count as equal, in units of noise.
_MARGIN = 8.0


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
        uses = _uses(profiles, order[first : min(first + most, end)], len(dense))
        alpha = _solve_all(out[2], dense, matrix, profiles, uses, scoring)
        found = _candidates(
            out, alpha, states, matrix, layout, profiles, uses, scoring, sketch, request
        )
        _sum_candidates(found, dense, alpha, matrix, uses)
        _list_candidates(out, found, matrix, profiles, alpha, states, uses, scoring, request)


@loop
def _solve_all(gaps, dense, matrix, profiles, uses, scoring):
    """Return the weights of all entries of the batch, solving a part of its problems at a time."""
    users, entry, pair = uses[:3]
    alpha, first = np.empty(entry[-1]), 0
    longest = np.int64(0)
    for u in range(len(users)):
        longest = max(longest, pair[u + 1] - pair[u])
    cells = np.empty(min(pair[-1], max(_PAIRS, longest)))
    while first < len(users):
        last = first + 1
        while last < len(users) and pair[last + 1] - pair[first] <= _PAIRS:
            last += 1
        part = _uses(profiles, users[first:last], len(dense))
        _fill_pairs(cells, dense, matrix, profiles, part)
        _solve_part(alpha[entry[first] : entry[last]], gaps, cells, matrix, profiles, part, scoring)
        first = last
    return alpha


@loop
def _uses(profiles, users, size):
    """Return the users of a batch, and their entries by item.

    The entries of user u of the batch begin at ``entry[u]``, and its pairs at ``pair[u]``. Those of
    an item stand from ``first[item]`` on: the user of each, and the place in its profile.
    """
    start, items = profiles[:2]
    entry, pair = np.zeros(len(users) + 1, np.int64), np.zeros(len(users) + 1, np.int64)
    first = np.zeros(size + 1, np.int64)
    for u in range(len(users)):
        low, high = start[users[u]], start[users[u] + 1]
        entry[u + 1] = entry[u] + high - low
        pair[u + 1] = pair[u] + (high - low) * (high - low - 1) // 2
        for at in range(low, high):
            first[items[at] + 1] += 1
    for item in range(size):
        first[item + 1] += first[item]
    of_user, at_place = np.empty(entry[-1], np.int32), np.empty(entry[-1], np.int32)
    filled = first[:-1].copy()
    for u in range(len(users)):
        low = start[users[u]]
        for s in range(start[users[u] + 1] - low):
            at = filled[items[low + s]]
            of_user[at], at_place[at] = u, s
            filled[items[low + s]] += 1
    return users, entry, pair, first, of_user, at_place


@loop
def _fill_pairs(cells, dense, matrix, profiles, uses):
    """Fill with the value of each pair of items of each profile: row by row of upper triangles."""
    start, items = profiles[:2]
    users, entry, pair, first, of_user, at_place = uses
    classes = np.empty(entry[-1], np.uint32)  # of all entries: those of a profile stand together
    for u in range(len(users)):
        for s in range(entry[u + 1] - entry[u]):
            classes[entry[u] + s] = matrix.classes[items[start[users[u]] + s]]
    for item in range(len(first) - 1):
        if first[item] == first[item + 1]:
            continue
        searches = np.int64(0)
        for at in range(first[item], first[item + 1]):
            u, s = of_user[at], at_place[at]
            searches += start[users[u] + 1] - start[users[u]] - s - 1
        low, high = matrix.indptr[item], matrix.indptr[item + 1]
        low = place(matrix.columns, low, high, item)
        spread = high - low < _SEARCH * searches
        if spread:
            for k in range(low, high):
                dense[matrix.columns[k]] = matrix.values[k]
        under = matrix.background[matrix.classes[item]]
        for at in range(first[item], first[item + 1]):
            u, s = of_user[at], at_place[at]
            own = items[start[users[u]] : start[users[u] + 1]]
            to = pair[u] + s * (2 * len(own) - s - 1) // 2
            of_pairs = cells[to : to + len(own) - s - 1]
            if spread:
                following, of_class = own[s + 1 :], classes[entry[u] + s + 1 : entry[u + 1]]
                for t in range(len(of_pairs)):
                    of_pairs[t] = under[of_class[t]] + dense[np.uint32(following[t])]
            else:
                _search(of_pairs, own[s + 1 :], under, matrix, low, high)
        if spread:
            for k in range(low, high):
                dense[matrix.columns[k]] = 0.0


@loop
def _search(out, columns, under, matrix, low, high):
    """Fill with the values of ascending columns in a row, by search."""
    for t in range(len(columns)):
        column = columns[t]
        out[t] = under[matrix.classes[column]]
        low = place(matrix.columns, low, high, column)
        if low < high and matrix.columns[low] == column:
            out[t] += matrix.values[low]


@loop
def _solve_part(alpha, gaps, cells, matrix, profiles, uses, scoring):
    """Fill with the weights of all entries."""
    start, items, factors = profiles
    users, entry, pair = uses[:3]
    reg, tolerance = scoring[2:]
    longest = np.int64(0)
    for u in range(len(users)):
        longest = max(longest, entry[u + 1] - entry[u])
    room = np.empty(2 * longest * longest)
    b, ready = np.empty(longest), np.ones(longest, np.bool_)
    for u in range(len(users)):
        size, first = entry[u + 1] - entry[u], start[users[u]]
        if size == 0:
            continue
        own, weights = items[first : first + size], alpha[entry[u] : entry[u + 1]]
        A, at = room[: size * size].reshape((size, size)), pair[u]
        for s in range(size):
            b[s] = matrix.pull[own[s]]
            A[s, s] = 1.0 + reg
            for t in range(s + 1, size):
                A[s, t] = cells[at]
                at += 1
        for s in range(size):
            for t in range(s):
                A[s, t] = A[t, s]
        given = room, ready[:size]
        gaps[users[u]] = solve_profile(matrix, own, reg, b[:size], tolerance, weights, *given)
        multiply_weights(weights, factors, first)


@loop
def _candidates(out, alpha, states, matrix, layout, profiles, uses, scoring, sketch, request):
    """List profiles with few entries; return the candidates of the others, and limits of scores.

    Those of user u of the batch are ``items[first[u]:first[u + 1]]``, ascending, with scores for
    an empty profile, and no other item scores more than ``limits[u]``. Without candidates, the
    limit is infinite where the profile is still to be listed.
    """
    chosen, scores, _ = out
    start, items, _ = profiles
    users, entry = uses[:2]
    base, (hidden, hide_own, _) = scoring[0], request
    n, size = chosen.shape[1], len(base)
    exact, scores_by_place = np.empty(size), np.empty(size, np.float32)
    tops = np.empty(size // _STRIDES + 1, np.float32)
    first, limits = np.zeros(len(users) + 1, np.int64), np.full((len(users), 2), -np.inf)
    pool, values = np.empty(_CANDIDATES, np.int32), np.empty(_CANDIDATES)
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
            limits[u, 0], limits[u, 1] = np.inf, most
            if error < np.inf and lowest > -np.inf:
                room = min(size // _SHARE + n, len(pool) - used)
                found = _at_least(scores_by_place, sketch.order, tops, lowest, room)
                if len(found) <= room:
                    for c in range(len(found)):
                        pool[used + c] = found[c]
                        values[used + c] = by_class[matrix.classes[found[c]]] + base[found[c]]
                    first[u + 1] = used + len(found)
                    limits[u, 0] = lowest + error
        set_state(states, own, OWN, False)
    return pool, values, first, limits


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
    pool, values, start, _ = found
    _, entry, _, first, of_user, at_place = uses
    for item in range(len(first) - 1):
        if first[item] == first[item + 1]:
            continue
        searches = np.int64(0)
        for at in range(first[item], first[item + 1]):
            u, s = of_user[at], at_place[at]
            if alpha[entry[u] + s] != 0:
                searches += start[u + 1] - start[u]
        if searches == 0:
            continue
        low, high = matrix.indptr[item], matrix.indptr[item + 1]
        class_ = matrix.classes[item]
        own = 1.0 - matrix.background[class_, class_]
        spread = high - low < _SEARCH * searches
        if spread:
            for k in range(low, high):
                dense[matrix.columns[k]] = matrix.values[k]
            dense[item] = own
        for at in range(first[item], first[item + 1]):
            u, s = of_user[at], at_place[at]
            weight = alpha[entry[u] + s]
            if weight == 0:
                continue
            if spread:
                for c in range(start[u], start[u + 1]):
                    values[c] += weight * dense[np.uint32(pool[c])]
            else:
                after = low
                for c in range(start[u], start[u + 1]):
                    column = pool[c]
                    if column == item:
                        values[c] += weight * own
                    after = place(matrix.columns, after, high, column)
                    if after < high and matrix.columns[after] == column:
                        values[c] += weight * matrix.values[after]
        if spread:
            dense[item] = 0.0
            for k in range(low, high):
                dense[matrix.columns[k]] = 0.0


@loop
def _list_candidates(out, found, matrix, profiles, alpha, states, uses, scoring, request):
    """List the candidates of each profile, or all items where they do not decide."""
    chosen, scores, _ = out
    start, items, _ = profiles
    users, entry = uses[:2]
    (base, negative_weight), hide_own = scoring[:2], request[1]
    pool, values, first, limits = found
    row = np.empty(len(base))
    for u in range(len(users)):
        k, limit, most = users[u], limits[u, 0], limits[u, 1]
        if limit == -np.inf:
            continue
        own = pool[first[u] : first[u + 1]]
        of_own = base[own]
        low = -np.inf
        if limit < np.inf:
            low = best(
                values[first[u] : first[u + 1]],
                of_own,
                NOISE,
                chosen.shape[1],
                chosen[k],
                scores[k],
            )
        if low - limit > NOISE * most:
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
