"""Co-occurrence counts of columns, row by row, from compressed rows and their transpose.

Each row (user) counts as its weight; sums have the type of the weights.
"""

from __future__ import annotations

import numpy as np

from .compiler import loop, ranged
from .ranking import offer

_SQUARE = 64
# The lowest set bit of a word times this has its number, permuted, in the six highest bits.
_SEQUENCE = 0x03F79D71B4CB0A89
_NUMBER = np.zeros(64, np.int64)
_NUMBER[[((_SEQUENCE << bit) & (2**64 - 1)) >> 58 for bit in range(64)]] = np.arange(64)


@loop
def lowest_bit(word):
    """Return the number of the lowest set bit of a word other than 0."""
    low = word & (~word + np.uint64(1))
    return _NUMBER[(low * np.uint64(_SEQUENCE)) >> np.uint64(58)]


@ranged(lambda _out, _first, _items, reserved, *_: (len(reserved) - 1, reserved[-1]))
def count_rows(begin, end, out, first, items, reserved, weights, by_item, by_user):
    """Fill with numbers and sizes of rows, and the items they share users with, by how many.

    Rows are those of the items from ``first`` on. The k-th one may use the places from
    ``reserved[k]`` on. Lists are pairs (indptr, indices): the users of these items, and the items
    of all users. Columns in order cost a scan of a bit set per row instead of a sort.
    """
    used, sizes, columns, counts = out
    (item_ptr, item_users), (user_ptr, user_items) = by_item, by_user
    shared = np.zeros(items, weights.dtype)
    words = np.zeros((items + 63) // 64, np.uint64)
    for row in range(begin, end):
        i = first + row
        for k in range(item_ptr[row], item_ptr[row + 1]):
            user = item_users[k]
            weight = weights[user]
            for at in range(user_ptr[user], user_ptr[user + 1]):
                # Unsigned indices need no test for counting from the end.
                j = np.uint32(user_items[at])
                words[j >> np.uint32(6)] |= np.uint64(1) << np.uint64(j & np.uint32(63))
                shared[j] += weight
        sizes[row] = shared[i]
        shared[i] = 0
        words[i >> 6] &= ~(np.uint64(1) << np.uint64(i & 63))
        place = reserved[row]
        for w in range(len(words)):
            word = words[w]
            words[w] = 0
            while word != 0:
                j = (w << 6) + lowest_bit(word)
                word &= word - np.uint64(1)
                columns[place] = j
                counts[place] = shared[j]
                shared[j] = 0
                place += 1
        used[row] = place - reserved[row]


def pack_rows(out, first, columns, counts, reserved, used):
    """Copy the used places of rows to two arrays, one after the other, from a first place on."""
    ends = first + np.cumsum(used)
    _pack_rows(out[0], used, ends, columns, reserved)
    _pack_rows(out[1], used, ends, counts, reserved)


@ranged(lambda _out, used, *_: (len(used), used.sum()))
def _pack_rows(begin, end, out, used, ends, values, reserved):
    for i in range(begin, end):
        at, place = ends[i] - used[i], reserved[i]
        for k in range(used[i]):
            out[at + k] = values[place + k]


def count_matrix(out, weights, item_ptr, item_users, places, user_ptr, user_items):
    """Fill a matrix with the weights of shared users: each pair is counted once, and mirrored.

    ``places`` tells where each entry of the items' lists stands in the users' lists: the entries
    after it are the items after this one.
    """
    _count_matrix(out, weights, item_ptr, item_users, places, user_ptr, user_items)
    _mirror(out)


@ranged(lambda out, _weights, _factors, _by_item, by_user: (len(out[2]), 8 * len(by_user[1])))
def count_nearest(begin, end, out, weights, factors, by_item, by_user):
    """Fill with the most similar items of each item, ascending, without keeping other pairs.

    The similarity of items i and j that share the weight c is (c·own[i]·other[j])^locality, with
    ``factors`` = (own, other, locality). The last of ``out`` gets the number of items of each row.
    """
    near, values, lengths = out
    (item_ptr, item_users), (user_ptr, user_items) = by_item, by_user
    own, other, locality = factors
    shared = np.zeros(len(lengths), weights.dtype)
    touched, found = np.empty(len(lengths) + 1, np.int32), np.empty(len(lengths))
    words = np.zeros((len(lengths) + 63) // 64, np.uint64)
    for i in range(begin, end):
        used = 0
        for k in range(item_ptr[i], item_ptr[i + 1]):
            user = item_users[k]
            for at in range(user_ptr[user], user_ptr[user + 1]):
                j = np.uint32(user_items[at])
                touched[used] = j
                used += shared[j] == 0  # a branch would often be guessed wrong
                shared[j] += weights[user]
        of_i, row, items, size = own[i], values[i], near[i], np.int64(0)
        for t in range(used):
            j = np.int64(touched[t])
            value = shared[j] * of_i * other[j]
            shared[j] = 0
            if locality != 1:
                value = value**locality
            if j != i and (size < len(row) or value >= row[0]):
                size = offer(row, items, size, value, j)
        lengths[i] = size
        for k in range(size):
            j = items[k]
            words[j >> 6] |= np.uint64(1) << np.uint64(j & 63)
            found[j] = row[k]
        place = 0
        for w in range(len(words) if size > 0 else 0):
            word = words[w]
            words[w] = 0
            while word != 0:
                j = (w << 6) + lowest_bit(word)
                word &= word - np.uint64(1)
                items[place], row[place] = j, found[j]
                place += 1


@ranged(lambda out, *_: (len(out), out.size))
def _count_matrix(begin, end, out, weights, item_ptr, item_users, places, user_ptr, user_items):
    size = len(out)
    shared = np.zeros(size, weights.dtype)
    for i in range(begin, end):
        for k in range(item_ptr[i], item_ptr[i + 1]):
            weight = weights[item_users[k]]
            for at in range(places[k], user_ptr[item_users[k] + 1]):
                shared[np.uint32(user_items[at])] += weight
        for j in range(i, size):
            out[i, j] = shared[j]
            shared[j] = 0


@ranged(lambda out: (-(-len(out) // _SQUARE), out.size))
def _mirror(begin, end, out):
    """Copy the upper triangle, in squares: reading along columns then stays in cache."""
    size = len(out)
    for a in range(begin, end):
        for b in range(a + 1):
            for i in range(a * _SQUARE, min((a + 1) * _SQUARE, size)):
                for j in range(b * _SQUARE, min((b + 1) * _SQUARE, i)):
                    out[i, j] = out[j, i]
