"""Made-up data with planted tastes: films, and viewers who like one or two genres.

The film of popularity rank r has weight r**-0.7. A viewer draws films without replacement, with
weight

    popularity(film) * (0.01 + liking(viewer, taste of film))
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..data.interactions import Interactions
from ..data.vocabulary import Vocabulary

_LINES = Path(__file__).with_name("titles.txt").read_text(encoding="utf-8").splitlines()
# First and second words of the titles of each taste; each pair is a film.
TITLES = {
    taste: (first.split(), second.split())
    for taste, first, second in (line.replace("|", ":").split(":") for line in _LINES)
}


@dataclass(frozen=True, eq=False)
class PlantedTastes:
    """Who saw what, and the tastes behind it."""

    events: Interactions
    tastes: tuple[str, ...]
    taste_of: NDArray[np.intp]  # the index of each film's taste
    liking: NDArray[np.float64]  # (viewers, tastes) shares


def plant_tastes(rng: np.random.Generator, n_users: int = 3000) -> PlantedTastes:
    """Draw a catalogue and its viewers.

    >>> data = plant_tastes(np.random.default_rng(0), n_users=50)
    >>> data.events.shape
    (50, 800)
    >>> data.events.items[0], data.tastes[data.taste_of[0]]
    ('Bitter Bakery', 'kitchen')
    """
    tastes = tuple(TITLES)
    titles = [" ".join(pair) for each in TITLES.values() for pair in product(*each)]
    items, number = Vocabulary.of(titles, "item")
    taste_of = np.empty(len(items), np.intp)
    sizes = [len(first) * len(second) for first, second in TITLES.values()]
    taste_of[number] = np.repeat(np.arange(len(tastes)), sizes)

    popularity = (1.0 + rng.permutation(len(items))) ** -0.7
    # With this parameter most viewers have one taste, and some have two.
    liking = rng.dirichlet(np.full(len(tastes), 0.08), size=n_users)
    weight = popularity * (0.01 + liking[:, taste_of])

    # The k largest of log(weight) + Gumbel noise are k draws without replacement.
    order = np.argsort(-(np.log(weight) + rng.gumbel(size=weight.shape)), axis=1)
    activity = rng.lognormal(np.log(7) - 0.32, 0.8, size=n_users)  # mean 7, long-tailed
    n_items = np.clip(np.rint(activity), 2, 60).astype(np.intp)

    width = len(str(n_users))
    viewers, _ = Vocabulary.of([f"viewer {k:0{width}}" for k in range(1, n_users + 1)], "user")
    rows = np.repeat(np.arange(n_users), n_items)
    columns = np.concatenate([order[user, :k] for user, k in enumerate(n_items)])
    return PlantedTastes(
        Interactions.from_numbers(viewers, items, rows, columns), tastes, taste_of, liking
    )
