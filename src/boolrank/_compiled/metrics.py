"""Where the relevant items of users stand in their rankings, and what metrics make of it."""

from __future__ import annotations

import numpy as np
from numba import njit, prange

from .loops import parallel
from .ranking import _before, best

# The rank of an item that is not in a list: past every cut.
NOWHERE = np.iinfo(np.int32).max


@njit(cache=True)
def _first_not_above(values, score):
    """How many of some values, in descending order, are above a score."""
    low, high = 0, len(values)
    while low < high:
        middle = (low + high) >> 1
        if values[middle] > score:
            low = middle + 1
        else:
            high = middle
    return low


@njit(cache=True)
def _rank_user(scores, allowed, relevant, ranks):
    """Fill `ranks`, in order; returns the pairs that are strictly right, those tied, and all.

    Only the relevant items are sorted; each other one is put in its place among them.
    `allowed` has 1 for candidates, relevant ones too.
    """
    size = len(relevant)
    items = relevant[np.argsort(-scores[relevant], kind="mergesort")]
    values = scores[items]
    allowed[items] = 2
    before = np.zeros(size + 1, np.int64)
    right, tied, others = 0, 0, 0
    for item in range(len(scores)):
        if allowed[item] != 1:
            continue
        score = scores[item]
        others += 1
        at = _first_not_above(values, score)
        right += at
        while at < size and values[at] == score:
            tied += 1
            at += 1
        # Of the tied ones, those with a lower number stand before.
        while at > 0 and _before(score, item, values[at - 1], items[at - 1]):
            at -= 1
        before[at] += 1
    ahead = 0
    for k in range(size):
        ahead += before[k]
        ranks[k] = ahead + k
        allowed[relevant[k]] = 1
    return right, tied, others * size


@parallel
def rank_scores(scores, known_ptr, known, relevant_ptr, relevant, n, parts):
    """From scores of users × items: ranks, both kinds of AUC, and the n best items (-1: none).

    The last array has 1 for users of whom an item is both known and relevant.
    """
    users, items = scores.shape
    ranks = np.empty(len(relevant), np.int32)
    strict = np.full(users, np.nan)
    half = np.full(users, np.nan)
    top = np.full((users, n), -1, np.int32)
    clashes = np.zeros(users, np.uint8)
    for part in prange(parts):
        allowed = np.ones(items, np.uint8)
        row = np.empty(items)
        values = np.empty(n)
        for user in range(part * users // parts, (part + 1) * users // parts):
            own = known[known_ptr[user] : known_ptr[user + 1]]
            first, last = relevant_ptr[user], relevant_ptr[user + 1]
            for item in own:
                allowed[item] = 0
            for item in relevant[first:last]:
                if allowed[item] == 0:
                    clashes[user] = 1
            row[:] = scores[user]
            row[own] = -np.inf
            best(row, row, 0.0, n, top[user], values)
            right, tied, pairs = _rank_user(
                scores[user], allowed, relevant[first:last], ranks[first:last]
            )
            if pairs:
                strict[user] = right / pairs
                half[user] = (right + 0.5 * tied) / pairs
            for item in own:
                allowed[item] = 1
    return ranks, strict, half, top, clashes


@parallel
def rank_lists(lists, relevant_ptr, relevant):
    """From ranked items (negative: none): ranks of the relevant ones, in order; who has repeats."""
    users, n = lists.shape
    ranks = np.empty(len(relevant), np.int32)
    taken = np.zeros(len(relevant), np.uint8)
    repeats = np.zeros(users, np.uint8)
    for user in prange(users):
        first, last = relevant_ptr[user], relevant_ptr[user + 1]
        found = first
        for k in range(n):
            item = lists[user, k]
            low, high = first, last
            while low < high:
                middle = (low + high) >> 1
                if relevant[middle] < item:
                    low = middle + 1
                else:
                    high = middle
            if low < last and relevant[low] == item:
                if taken[low]:
                    repeats[user] = 1
                    continue
                taken[low] = 1
                ranks[found] = k
                found += 1
        for k in range(found, last):
            ranks[k] = NOWHERE
    return ranks, repeats


@parallel
def cut_metrics(ptr, ranks, k, discount, ideal):
    """Metrics of the first k of each ranking, a row each, NaN for users with nothing relevant.

    Rows: hits / k, hits / relevant, hits / min(k, relevant), any hit, 1 / first place, sum of
    precisions / relevant, the same / min(k, relevant), discounted gain / the ideal one.
    """
    users = len(ptr) - 1
    out = np.full((8, users), np.nan)
    for user in prange(users):
        relevant = ptr[user + 1] - ptr[user]
        if relevant == 0:
            continue
        hits, precisions, gain, first = 0, 0.0, 0.0, 0.0
        for at in range(ptr[user], ptr[user + 1]):
            rank = ranks[at]
            if rank >= k:
                break
            hits += 1
            precisions += hits / (rank + 1)
            gain += discount[rank]
            if hits == 1:
                first = 1 / (rank + 1)
        most = min(k, relevant)
        out[0, user] = hits / k
        out[1, user] = hits / relevant
        out[2, user] = hits / most
        out[3, user] = 1.0 if hits else 0.0
        out[4, user] = first
        out[5, user] = precisions / relevant
        out[6, user] = precisions / most
        out[7, user] = gain / ideal[most]
    return out
