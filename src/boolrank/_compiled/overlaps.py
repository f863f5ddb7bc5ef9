"""Co-occurrence counts of columns, row by row, from compressed rows and their transpose."""

from __future__ import annotations

import numpy as np
from numba import njit, prange


@njit(inline="always")
def _lowest_bit(word):
    """Number of the lowest set bit of a word that is not 0."""
    low = word & (~word + np.uint64(1))
    number = np.int64(0)
    if low >= np.uint64(1) << np.uint64(32):
        low >>= np.uint64(32)
        number += 32
    if low >= np.uint64(1) << np.uint64(16):
        low >>= np.uint64(16)
        number += 16
    if low >= np.uint64(1) << np.uint64(8):
        low >>= np.uint64(8)
        number += 8
    if low >= np.uint64(1) << np.uint64(4):
        low >>= np.uint64(4)
        number += 4
    if low >= np.uint64(1) << np.uint64(2):
        low >>= np.uint64(2)
        number += 2
    if low >= np.uint64(1) << np.uint64(1):
        number += 1
    return number


@njit(parallel=True, cache=True)
def count_rows(items, start, stop, reserved, item_ptr, item_users, user_ptr, user_items, n_parts):
    """Items that share users with each item from start to stop, in order, and how many users.

    Row i may use the places from ``reserved[i - start]`` on; returned are the columns, the counts,
    and how many places each row has used. Columns in order cost a scan of a bit set per row instead
    of a sort.
    """
    columns = np.empty(reserved[stop - start], np.int32)
    counts = np.empty(reserved[stop - start], np.int32)
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
                    if shared[j] == 0:
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
    return columns, counts, used


@njit(parallel=True, cache=True)
def pack_rows(out_columns, out_counts, offset, columns, counts, reserved, used):
    """Copy the used places of rows one after the other, from an offset on."""
    begin = np.empty(len(used) + 1, np.int64)
    begin[0] = offset
    for i in range(len(used)):
        begin[i + 1] = begin[i] + used[i]
    for i in prange(len(used)):
        at, place = begin[i], reserved[i]
        for k in range(used[i]):
            out_columns[at + k] = columns[place + k]
            out_counts[at + k] = counts[place + k]
