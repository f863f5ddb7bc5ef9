"""Co-occurrence counts of columns, row by row, from compressed rows and their transpose."""

from __future__ import annotations

import numpy as np
from numba import njit, prange

from .loops import parallel

_SQUARE = 64
# The lowest set bit of a word times this has its number, permuted, in the six highest bits.
_SEQUENCE = 0x03F79D71B4CB0A89
_NUMBER = np.zeros(64, np.int64)
_NUMBER[[((_SEQUENCE << bit) & (2**64 - 1)) >> 58 for bit in range(64)]] = np.arange(64)


@njit(inline="always")
def _lowest_bit(word):
    """Number of the lowest set bit of a word that is not 0."""
    low = word & (~word + np.uint64(1))
    return _NUMBER[(low * np.uint64(_SEQUENCE)) >> np.uint64(58)]


@parallel
def count_rows(
    columns,
    counts,
    items,
    start,
    stop,
    reserved,
    item_ptr,
    item_users,
    user_ptr,
    user_items,
    n_parts,
):
    """Items that share users with each item from start to stop, in order, and how many users.

    Row i may use the places from ``reserved[i - start]`` on; returned is how many it has used.
    Columns in order cost a scan of a bit set per row instead of a sort.
    """
    used = np.zeros(stop - start, np.int64)
    for part in prange(n_parts):
        shared = np.zeros(items, np.int32)
        words = np.zeros((items + 63) // 64, np.uint64)
        # Rows next to each other may be alike in length, where ids follow time: deal them out.
        for i in range(start + part, stop, n_parts):
            for k in range(item_ptr[i], item_ptr[i + 1]):
                user = item_users[k]
                for at in range(user_ptr[user], user_ptr[user + 1]):
                    j = user_items[at]
                    words[j >> 6] |= np.uint64(1) << np.uint64(j & 63)
                    shared[j] += 1
            shared[i] = 0
            words[i >> 6] &= ~(np.uint64(1) << np.uint64(i & 63))
            place = reserved[i - start]
            for w in range(len(words)):
                word = words[w]
                if word == 0:
                    continue
                words[w] = 0
                while word != 0:
                    j = (w << 6) + _lowest_bit(word)
                    word &= word - np.uint64(1)
                    columns[place] = j
                    counts[place] = shared[j]
                    shared[j] = 0
                    place += 1
            used[i - start] = place - reserved[i - start]
    return used


@parallel
def pack_rows(out_columns, out_counts, first, columns, counts, reserved, used):
    """Copy the used places of rows to others that follow each other, from a first one on."""
    begin = np.empty(len(used), np.int64)
    for i in range(len(used)):
        begin[i] = first
        first += used[i]
    for i in prange(len(used)):
        at, place = begin[i], reserved[i]
        for k in range(used[i]):
            out_columns[at + k] = columns[place + k]
            out_counts[at + k] = counts[place + k]


@parallel
def count_matrix(out, item_ptr, item_users, places, user_ptr, user_items, n_parts):
    """Fill a matrix with the numbers of shared users: each pair is counted once, and mirrored.

    ``places`` tells where each entry of the items' lists stands in the users' lists, so that what
    follows there are the items after this one.
    """
    size = len(item_ptr) - 1
    for part in prange(n_parts):
        shared = np.zeros(size, np.int32)
        for i in range(part, size, n_parts):
            for k in range(item_ptr[i], item_ptr[i + 1]):
                for at in range(places[k] + 1, user_ptr[item_users[k] + 1]):
                    shared[user_items[at]] += 1
            for j in range(i + 1, size):
                out[i, j] = shared[j]
                shared[j] = 0
            out[i, i] = item_ptr[i + 1] - item_ptr[i]
    # In squares, so that what is read along columns stays in cache.
    squares = (size + _SQUARE - 1) // _SQUARE
    for a in prange(squares):
        for b in range(a + 1):
            for i in range(a * _SQUARE, min((a + 1) * _SQUARE, size)):
                for j in range(b * _SQUARE, min((b + 1) * _SQUARE, i)):
                    out[i, j] = out[j, i]
