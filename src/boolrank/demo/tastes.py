"""Made-up data with planted tastes: films, and viewers who like one or two genres.

The film of popularity rank r has weight r**-0.7. A viewer draws films without replacement, with
weight

    popularity(film) * (0.01 + liking(viewer, taste of film))
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
        "Silent Distant Solar Lunar Cosmic Drifting Frozen Orbital Endless Fading",
        "Orbit Signal Comet Station Nebula Voyage Horizon Moon Asteroid Galaxy",
    ),
    "western": (
        "Dusty Lonesome Crooked Prairie Desert Rattlesnake Outlaw Rusty Wild Thunder",
        "Saddle Canyon Sheriff Ranch Stagecoach Showdown Mustang Saloon Posse Trail",
    ),
    "noir": (
        "Midnight Smoky Double Perfect Rainy Missing Crimson Velvet Nameless Final",
        "Alibi Witness Detective Affair Blackmail Heist Verdict Informer Motive Cigarette",
    ),
    "romance": (
        "Tender Parisian Unsent Summer Secret Second Moonlit Borrowed Reluctant Forever",
        "Letter Waltz Kiss Wedding Bouquet Promise Sweetheart Proposal Reunion Honeymoon",
    ),
    "horror": (
        "Haunted Whispering Buried Bleeding Hollow Cursed Crawling Screaming Rotten Faceless",
        "Attic Cellar Doll Asylum Grave Mirror Scarecrow Cemetery Puppet Séance",
    ),
    "kitchen": (
        "Burnt Sizzling Salty Golden Spicy Stolen Bitter Homemade Buttered Grandma’s",
        "Recipe Bakery Chef Truffle Noodle Pastry Soufflé Broth Banquet Dumpling",
    ),
    "sea": (
        "Sunken Stormy Drowned Salted Northern Pirate Deep Coral Wrecked Tidal",
        "Harbour Captain Lighthouse Anchor Reef Whale Voyager Mutiny Island Submarine",
    ),
    "sport": (
        "Underdog Last Winning Broken Rookie Bruised Muddy Extra Hometown Photo",
        "League Coach Penalty Relay Champion Marathon Knockout Overtime Stadium Finish",
    ),
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
    words = [(first.split(), second.split()) for first, second in TITLES.values()]
    titles = [" ".join(pair) for each in words for pair in product(*each)]
    items, number = Vocabulary.of(titles, "item")
    taste_of = np.empty(len(items), np.intp)
    taste_of[number] = np.repeat(np.arange(len(tastes)), [len(a) * len(b) for a, b in words])

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
