"""Made-up data with planted tastes: films, and viewers who like one or two genres.

The film of popularity rank r has weight r**-0.9. A viewer draws films without replacement, and
sees them in the order of the draw, with weight

    popularity(film) * (0.03 + liking(viewer, taste of film))
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from ..data.interactions import Interactions
from ..data.vocabulary import Vocabulary

if TYPE_CHECKING:
    from numpy.typing import NDArray

# First and second words of the titles of each taste; each pair is a film.
TITLES = {
    "space": (
        ("Silent", "Distant", "Solar", "Lunar", "Cosmic", "Drifting"),
        ("Orbit", "Signal", "Comet", "Station", "Nebula", "Voyage"),
    ),
    "western": (
        ("Dusty", "Lonesome", "Crooked", "Prairie", "Desert", "Rattlesnake"),
        ("Saddle", "Canyon", "Sheriff", "Ranch", "Stagecoach", "Showdown"),
    ),
    "noir": (
        ("Midnight", "Smoky", "Double", "Perfect", "Rainy", "Missing"),
        ("Alibi", "Witness", "Detective", "Affair", "Blackmail", "Heist"),
    ),
    "romance": (
        ("Tender", "Parisian", "Unsent", "Summer", "Secret", "Second"),
        ("Letter", "Waltz", "Kiss", "Wedding", "Bouquet", "Promise"),
    ),
    "horror": (
        ("Haunted", "Whispering", "Buried", "Bleeding", "Hollow", "Cursed"),
        ("Attic", "Cellar", "Doll", "Asylum", "Grave", "Mirror"),
    ),
    "kitchen": (
        ("Burnt", "Sizzling", "Salty", "Golden", "Spicy", "Stolen"),
        ("Recipe", "Bakery", "Chef", "Truffle", "Noodle", "Pastry"),
    ),
}


@dataclass(frozen=True, eq=False)
class PlantedTastes:
    """Who saw what, and the tastes behind it."""

    events: Interactions
    tastes: tuple[str, ...]
    taste_of: NDArray[np.intp]  # the index of each film's taste
    liking: NDArray[np.float64]  # (viewers, tastes) shares


def plant_tastes(rng: np.random.Generator, n_users: int = 600) -> PlantedTastes:
    """Draw a catalogue and its viewers.

    >>> data = plant_tastes(np.random.default_rng(0), n_users=50)
    >>> data.events.shape
    (50, 216)
    >>> data.events.items[0], data.tastes[data.taste_of[0]]
    ('Bleeding Asylum', 'horror')
    """
    tastes = tuple(TITLES)
    titles = [" ".join(words) for pair in TITLES.values() for words in product(*pair)]
    items, number = Vocabulary.of(titles, "item")
    sizes = [len(first) * len(second) for first, second in TITLES.values()]
    taste_of = np.empty(len(items), np.intp)
    taste_of[number] = np.repeat(np.arange(len(tastes)), sizes)

    popularity = (1.0 + rng.permutation(len(items))) ** -0.9
    # With this parameter most viewers have one taste, and some have two.
    liking = rng.dirichlet(np.full(len(tastes), 0.15), size=n_users)
    weight = popularity * (0.03 + liking[:, taste_of])

    # The k largest of log(weight) + Gumbel noise are k draws without replacement.
    order = np.argsort(-(np.log(weight) + rng.gumbel(size=weight.shape)), axis=1)
    activity = rng.lognormal(np.log(14) - 0.32, 0.8, size=n_users)  # mean 14, long-tailed
    n_items = np.clip(np.rint(activity), 2, len(items) // 2).astype(np.intp)

    width = len(str(n_users))
    viewers, _ = Vocabulary.of([f"viewer {k:0{width}}" for k in range(1, n_users + 1)], "user")
    rows = np.repeat(np.arange(n_users), n_items)
    columns = np.concatenate([order[user, :k] for user, k in enumerate(n_items)])
    when = np.concatenate([np.arange(k) for k in n_items])
    events = Interactions.from_numbers(viewers, items, rows, columns, when)
    return PlantedTastes(events, tastes, taste_of, liking)
