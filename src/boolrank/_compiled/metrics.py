"""Ranks of the relevant items of users, and metrics of them."""

from __future__ import annotations

import numpy as np

from .compiler import loop, ranged
from .ranking import before, best, sort_best_first

# The rank of an item that is not in a list: past every cut.
NOWHERE = np.iinfo(np.int32).max


@loop
def _first_not_above(values, score):
    """Return how many of some values, in descending order, are above a score."""
    low, high = 0, len(values)
    while low < high:
        middle = (low + high) >> 1
        if values[middle] > score:
            low = middle + 1
        else:
            high = middle
    return low


@loop
def _rank_user(scores, allowed, relevant, ranks):
    """Fill `ranks`, in order; return the numbers of pairs in right order, tied, and of all.

    Only the relevant items are sorted; each other one is put in its place among them. `allowed` has
    1 for candidates, and 2 for relevant ones on return.
    """
    size = len(relevant)
    items, values, ahead = relevant.copy(), np.empty(size), np.zeros(size + 1, np.int64)
    for k in range(size):
        values[k] = scores[relevant[k]]
        allowed[relevant[k]] = 2
    sort_best_first(values, items)
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
        # Tied items with a lower number stand before.
        while at > 0 and before(score, item, values[at - 1], items[at - 1]):
            at -= 1
        ahead[at] += 1
    rank = 0
    for k in range(size):
        rank += ahead[k]
        ranks[k] = rank + k
        allowed[items[k]] = 1
    return right, tied, others * size


def rank_scores(scores, known_ptr, known, relevant_ptr, relevant, n):
    """Return ranks, both kinds of AUC and the n best items (-1: none) for scores of users × items.

    The last array has 1 for users with an item that is both known and relevant.
    """
    users = len(scores)
    ranks, top = np.empty(len(relevant), np.int32), np.full((users, n), -1, np.int32)
    strict, half = np.full((2, users), np.nan)
    out = ranks, strict, half, top, np.zeros(users, np.uint8)
    _rank_scores(out, scores, known_ptr, known, relevant_ptr, relevant)
    return out


@ranged(lambda _out, scores, *_: (len(scores), 5 * scores.size))
def _rank_scores(begin, end, out, scores, known_ptr, known, relevant_ptr, relevant):
    ranks, strict, half, top, clashes = out
    n_items, n = scores.shape[1], top.shape[1]
    allowed, row, values = np.ones(n_items, np.uint8), np.empty(n_items), np.empty(n)
    for user in range(begin, end):
        first, last = relevant_ptr[user], relevant_ptr[user + 1]
        for item in range(n_items):
            row[item] = scores[user, item]
        for k in range(known_ptr[user], known_ptr[user + 1]):
            allowed[known[k]] = 0
            row[known[k]] = -np.inf
        for k in range(first, last):
            if allowed[relevant[k]] == 0:
                clashes[user] = 1
        best(row, row, 0.0, n, top[user], values)
        right, tied, pairs = _rank_user(
            scores[user], allowed, relevant[first:last], ranks[first:last]
        )
        if pairs:
            strict[user] = right / pairs
            half[user] = (right + 0.5 * tied) / pairs
        for k in range(known_ptr[user], known_ptr[user + 1]):
            allowed[known[k]] = 1


def rank_lists(lists, relevant_ptr, relevant):
    """Return the ranks of relevant items in lists (negative: none), and who has repeated items."""
    ranks, taken = np.empty(len(relevant), np.int32), np.zeros(len(relevant), np.uint8)
    repeats = np.zeros(len(lists), np.uint8)
    _rank_lists((ranks, taken, repeats), lists, relevant_ptr, relevant)
    return ranks, repeats


@ranged(lambda _out, lists, *_: (len(lists), 10 * lists.size))
def _rank_lists(begin, end, out, lists, relevant_ptr, relevant):
    ranks, taken, repeats = out
    for user in range(begin, end):
        first, last = relevant_ptr[user], relevant_ptr[user + 1]
        found = first
        for k in range(lists.shape[1]):
            item = lists[user, k]
            at = first + np.searchsorted(relevant[first:last], item)
            if at < last and relevant[at] == item:
                if taken[at]:
                    repeats[user] = 1
                    continue
                taken[at] = 1
                ranks[found] = k
                found += 1
        for k in range(found, last):
            ranks[k] = NOWHERE


def cut_metrics(ptr, ranks, k, discount, ideal):
    """Return metrics of the first k of each ranking, a row each; NaN without relevant items.

    Rows: hits / k, hits / relevant, hits / min(k, relevant), any hit, 1 / first place, sum of
    precisions / relevant, the same / min(k, relevant), discounted gain / the ideal one.
    """
    out = np.full((8, len(ptr) - 1), np.nan)
    _cut_metrics(out, ptr, ranks, k, discount, ideal)
    return out


@ranged(lambda _out, ptr, ranks, *_: (len(ptr) - 1, 10 * len(ranks)))
def _cut_metrics(begin, end, out, ptr, ranks, k, discount, ideal):
    for user in range(begin, end):
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
