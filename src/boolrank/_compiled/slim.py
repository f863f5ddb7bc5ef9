"""Sparse linear models between items: elastic nets by coordinate descent, and mixtures of two.

The target is the column of one item, predicted from those of all others. A feature is an item seen
by some users: feature p·m + i is item i of the users of subset p, times their weights; model 0 is
that of all users. With g the weight of a user in model 0, and 1 - g in that of the subset, all
products of features are sums over users who share two items: of g² for two features of model 0, of
g·(1 - g) for one of model 0 and one of a subset, and of (1 - g)² for two of one subset. These are
``gram``: one matrix of the first kind, then those of the second and of the third by subset.

Descent runs on few features, whose products are copied into a small matrix. Where it stands still,
those of the others that would move join.
"""

from __future__ import annotations

import numpy as np

from .compiler import loop, ranged
from .vectors import copy_to

# Passes over the features that joined, at most.
_PASSES = 10_000
# Features join by this many at least, or half as many as there are: the steepest.
_JOINING = 64
# While others would join, features settle to this part of the largest step of these.
_PATIENCE = 0.1


@ranged(lambda out, _first, users, *_: (len(out), 200 * len(users)))
def fill_products(start, stop, out, first, users, begin, items, weights):
    """Fill (items, items) sums of the weights of users whom two items share.

    Users of item i stand in ``users`` from ``first[i]`` on, items of user u in ``items`` from
    ``begin[u]`` on.
    """
    row = np.empty(len(out))
    for i in range(start, stop):
        row[:] = 0.0
        for u in users[first[i] : first[i + 1]]:
            if weights[u] != 0.0:
                for j in items[begin[u] : begin[u + 1]]:
                    row[j] += weights[u]
        out[i] = row


@loop
def _matrix(a, b, models):
    """Return the number of the matrix with the products of features of two models, -1 if 0."""
    if a == 0 or b == 0:
        return a + b
    return models - 1 + a if a == b else -1


@loop
def _add_row(out, factor, model, item, gram):
    """Add a multiple of the products of a feature with all features."""
    items, models = gram.shape[1], len(gram) // 2 + 1
    for other in range(models):
        matrix = _matrix(model, other, models)
        if matrix >= 0:
            row, part = gram[matrix, item], out[other * items : (other + 1) * items]
            for j in range(items):
                part[j] += factor * row[j]


@loop
def _shrunk(value, cost, positive):
    """Return the value moved towards 0 by the cost, 0 if it would pass it."""
    if value > cost:
        return value - cost
    if value < -cost and not positive:
        return value + cost
    return 0.0


@loop
def _settle(weights, slopes, products, costs, least, passes):
    """Step on features in turn until none moves; return the passes left and the largest last step.

    ``slopes`` are products with the residual, ``products`` those of features with each other.
    """
    l1, l2, positive = costs
    largest = np.inf
    while passes > 0 and largest > least:
        largest, passes = 0.0, passes - 1
        for k in range(len(weights)):
            old, square = weights[k], products[k, k]
            new = _shrunk(slopes[k] + square * old, l1[k], positive)
            if new != 0.0:
                new /= square + l2[k]
            if new != old:
                weights[k] = new
                for j in range(len(weights)):
                    slopes[j] -= (new - old) * products[k, j]
                largest = max(largest, abs(new - old) * np.sqrt(square))
    return passes, largest


@loop
def _joining(slopes, taken, target, squares, costs, least, most):
    """Return the steepest of the features outside that would move, and the largest of their steps.

    Steps are those of predictions.
    """
    l1, l2, positive = costs
    models = len(l1)
    items, found, largest = len(slopes) // models, 0, 0.0
    steep = np.zeros(len(slopes))
    for f in range(len(slopes)):
        model, square = f // items, squares[f]
        if not taken[f] and square > 0.0 and f % items != target:
            slope = abs(_shrunk(slopes[f], l1[model], positive))
            step = slope / (square + l2[model]) * np.sqrt(square)
            if step > least:
                steep[f] = slope
                found += 1
                largest = max(largest, step)
    return np.argsort(-steep)[: min(found, most)], largest


@loop
def _grown(products, active, gram):
    """Return the products of active features with each other; those of the first ones are known."""
    items, models = gram.shape[1], len(gram) // 2 + 1
    known, size = len(products), len(active)
    out = np.zeros((size, size))
    out[:known, :known] = products
    for a in range(known, size):
        model, row = active[a] // items, active[a] % items
        for b in range(a + 1):
            matrix = _matrix(model, active[b] // items, models)
            if matrix >= 0:
                out[a, b] = out[b, a] = gram[matrix, row, active[b] % items]
    return out


@ranged(lambda out, *_: (len(out[0]), 500 * out[0].size))
def descend(start, stop, out, targets, squares, gram, costs, tolerance):
    """Solve for the weights of targets.

    ``out`` has (targets, features) weights, from which the descent starts, and the last step of
    each target; ``squares`` are the square lengths of features. Costs are l1 and l2 by model, and
    whether weights must be positive. The descent ends when no step moves a prediction by more than
    the tolerance times the target's length.
    """
    solved, steps = out
    l1, l2, positive = costs
    items, models = gram.shape[1], len(gram) // 2 + 1
    slopes, taken = np.empty(len(squares)), np.zeros(len(squares), np.bool_)
    for row in range(start, stop):
        target, weights = targets[row], solved[row]
        least = tolerance * np.sqrt(float(gram[0, target, target]))
        active, passes, goal = np.flatnonzero(weights), _PASSES, np.inf
        products = _grown(np.empty((0, 0)), active, gram)
        taken[active] = True
        # Slopes are the products of features with what weights leave of the target.
        slopes[:] = 0.0
        for model in range(models):  # g = g² + g·(1 - g): a target is the sum of its own features
            _add_row(slopes, 1.0, model, target, gram)
        for f in active:
            _add_row(slopes, -weights[f], f // items, f % items, gram)
        while passes > 0:
            most = max(_JOINING, len(active) // 2)
            new, step = _joining(slopes, taken, target, squares, costs, least, most)
            if len(new) == 0 and goal <= least:
                break
            goal = max(_PATIENCE * step, least)
            active = np.concatenate((active, new))
            taken[new] = True
            products = _grown(products, active, gram)
            own, of = weights[active], active // items
            here = (l1[of], l2[of], positive)
            passes, steps[row] = _settle(own, slopes[active], products, here, goal, passes)
            for k, f in enumerate(active):
                if own[k] != weights[f]:
                    _add_row(slopes, weights[f] - own[k], f // items, f % items, gram)
                    weights[f] = own[k]
        taken[active] = False


@loop
def _predict(out, profile, model, indptr, columns, values):
    """Fill with the sum of the rows of a profile's items."""
    out[:] = 0.0
    for item in profile:
        for k in range(indptr[model, item], indptr[model, item + 1]):
            out[columns[k]] += values[k]


@ranged(lambda out, _, profiles, *__: (len(out[0]), 100 * profiles.size + out[0].size))
def mix(start, stop, out, start_of, profiles, indptr, columns, values):
    """Choose the model of a subset for each profile, and its share against that of all users.

    ``out`` has subsets, shares of model 0, and scores of all items unless it has no columns. The
    choice predicts the profile best, by squares.
    """
    chosen, shares, scores = out
    models, items = len(indptr), indptr.shape[1] - 1
    whole, local, best = np.empty(items), np.empty(items), np.empty(items)
    for row in range(start, stop):
        profile = profiles[start_of[row] : start_of[row + 1]]
        _predict(whole, profile, 0, indptr, columns, values)
        least = np.inf
        chosen[row], shares[row] = 0, 1.0
        for model in range(1, models):
            _predict(local, profile, model, indptr, columns, values)
            # |y - local - g·(whole - local)|² as a function of g; y is 1 at the profile.
            a = b = c = 0.0
            for j in range(items):
                d = whole[j] - local[j]
                a += d * d
                b -= d * local[j]
                c += local[j] * local[j]
            for j in profile:
                b += whole[j] - local[j]
                c += 1.0 - 2.0 * local[j]
            share = min(max(b / a, 0.0), 1.0) if a > 0.0 else 0.5
            error = c - 2.0 * share * b + share * share * a
            if error < least:
                least = error
                chosen[row], shares[row] = model - 1, share
                copy_to(best, local)
        if scores.shape[1]:
            g = shares[row]
            for j in range(items):
                scores[row, j] = whole[j] if g == 1.0 else g * whole[j] + (1.0 - g) * best[j]
