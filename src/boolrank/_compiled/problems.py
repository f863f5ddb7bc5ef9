"""The problems of many profiles at once: the value of each pair of items is read row by row.

One by one, a profile searches its pairs in sparse rows. Here a row is spread out, and the values of
the pairs of all profiles that have its item are taken from it. The value of a pair is taken from
the row of its first item, so K must be symmetric to the last bit: it is unless its origin is moved.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .compiler import loop
from .profiles import multiply_weights, solve_profile
from .vectors import place

# Pairs of items in problems that are solved together: 32 MB.
_PAIRS = 1 << 22
# Spreading an entry of a row takes a part of the time of a search in it.
_SEARCH = 24


class Uses(NamedTuple):
    """The users of a batch, and their entries by item.

    The entries of user u of the batch begin at ``entry[u]``, and its pairs at ``pair[u]``. Those of
    an item stand from ``first[item]`` on: the user of each, and the place in its profile.
    """

    users: NDArray[np.int64]
    entry: NDArray[np.int64]
    pair: NDArray[np.int64]
    first: NDArray[np.int64]
    user: NDArray[np.int32]
    place: NDArray[np.int32]


@loop
def uses_of(profiles, users, size):
    """Return the uses of a batch of users."""
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
    return Uses(users, entry, pair, first, of_user, at_place)


@loop
def is_worth_spreading(entries, searches):
    """Return whether spreading a row takes less time than searches in it."""
    return entries < _SEARCH * searches


@loop
def spread(dense, matrix, low, high):
    """Write the entries of a row at the places of their columns."""
    for k in range(low, high):
        dense[matrix.columns[k]] = matrix.values[k]


@loop
def clear(dense, matrix, low, high):
    """Write zeros in place of a row that was spread."""
    for k in range(low, high):
        dense[matrix.columns[k]] = 0.0


@loop
def weights_of(uses, gaps, dense, matrix, profiles, scoring):
    """Return the weights of all entries of a batch, solving a part of its problems at a time."""
    users, entry, pair = uses.users, uses.entry, uses.pair
    alpha, first = np.empty(entry[-1]), 0
    longest = np.int64(0)
    for u in range(len(users)):
        longest = max(longest, pair[u + 1] - pair[u])
    cells = np.empty(min(pair[-1], max(_PAIRS, longest)))
    while first < len(users):
        last = first + 1
        while last < len(users) and pair[last + 1] - pair[first] <= _PAIRS:
            last += 1
        part = uses_of(profiles, users[first:last], len(dense))
        _fill_pairs(cells, dense, matrix, profiles, part)
        _solve(alpha[entry[first] : entry[last]], gaps, cells, matrix, profiles, part, scoring)
        first = last
    return alpha


@loop
def _fill_pairs(cells, dense, matrix, profiles, uses):
    """Fill with the value of each pair of items of each profile: row by row of upper triangles."""
    start, items = profiles[:2]
    users, entry, pair, first = uses.users, uses.entry, uses.pair, uses.first
    classes = np.empty(entry[-1], np.uint32)  # of all entries: those of a profile stand together
    for u in range(len(users)):
        for s in range(entry[u + 1] - entry[u]):
            classes[entry[u] + s] = matrix.classes[items[start[users[u]] + s]]
    for item in range(len(first) - 1):
        if first[item] == first[item + 1]:
            continue
        searches = np.int64(0)
        for at in range(first[item], first[item + 1]):
            user = users[uses.user[at]]
            searches += start[user + 1] - start[user] - uses.place[at] - 1
        low, high = matrix.indptr[item], matrix.indptr[item + 1]
        low = place(matrix.columns, low, high, item)
        spreads = is_worth_spreading(high - low, searches)
        if spreads:
            spread(dense, matrix, low, high)
        under = matrix.background[matrix.classes[item]]
        for at in range(first[item], first[item + 1]):
            u, s = uses.user[at], uses.place[at]
            own = items[start[users[u]] : start[users[u] + 1]]
            to = pair[u] + s * (2 * len(own) - s - 1) // 2
            of_pairs = cells[to : to + len(own) - s - 1]
            if spreads:
                following, of_class = own[s + 1 :], classes[entry[u] + s + 1 : entry[u + 1]]
                for t in range(len(of_pairs)):
                    of_pairs[t] = under[of_class[t]] + dense[np.uint32(following[t])]
            else:
                _search(of_pairs, own[s + 1 :], under, matrix, low, high)
        if spreads:
            clear(dense, matrix, low, high)


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
def _solve(alpha, gaps, cells, matrix, profiles, uses, scoring):
    """Fill with the weights of all entries."""
    start, items, factors = profiles
    users, entry = uses.users, uses.entry
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
        A, at = room[: size * size].reshape((size, size)), uses.pair[u]
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
