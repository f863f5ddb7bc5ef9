"""Made-up films and their viewers, with genres that a good list follows.

``python tests/films.py FOLDER`` writes events.csv (user, item) and items.csv (item, title, genre).
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path

import numpy as np

GENRES = {
    "space": "Nine Moons Late|The Quiet Orbit|Salt on Europa|Last Bus to Ceres|Gravity Is a Rumour"
    "|The Cartographer's Comet|A Window Facing Saturn|Dust and Docking Clamps",
    "noir": "The Umbrella Witness|Rain After Closing|Nobody Calls Marlow|A Debt in Small Coins"
    "|The Night Porter's Ledger|Smoke on Tuesday|Two Keys, One Door|The Wrong Envelope",
    "comedy": "Seven Weddings and a Goat|My Landlord the Mime|The Unfinished Cake|Parallel Parking"
    "|Cousins by Accident|The Very Minor Oracle|Soup for the Mayor|A Flat above the Circus",
    "nature": "The Patience of Herons|Moss: A Love Story|Wolves at Low Tide|Under the Frozen Lake"
    "|Where the Swifts Sleep|The Oldest Orchard|Salmon, Upstream|A Year in the Reeds",
    "ghosts": "The House Counts Back|Candle for the Miller|Footsteps in the Attic"
    "|The Borrowed Bride|Whispers at Gate Nine|Grandmother's Other Portrait"
    "|The Well Remembers|Ash Wednesday Lane",
}
NAMES = "ada ben cleo dan eva finn gwen hugo iris jan kim leo mara nils olga pia raul sara tom uma"


def write_films(folder: Path, titles: dict[str, str] | None = None, seed: int = 7) -> None:
    """Write 300 viewers of 40 films; `titles` replaces titles by item id."""
    rng = np.random.default_rng(seed)
    films = [(genre, title) for genre, row in GENRES.items() for title in row.split("|")]
    ids = [f"f{number:02d}" for number in range(1, len(films) + 1)]
    genre_of = np.repeat(np.arange(len(GENRES)), 8)
    fame = rng.permutation(1 / np.arange(1, len(films) + 1) ** 0.6)
    with (folder / "items.csv").open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(["item", "title", "genre"])
        for item, (genre, title) in zip(ids, films, strict=True):
            rows.writerow([item, (titles or {}).get(item, title), genre])
    names = NAMES.split()
    with (folder / "events.csv").open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(["user", "item"])
        for number in range(300):
            first, second = rng.choice(len(GENRES), 2, replace=False)
            taste = 1 + 14.0 * (genre_of == first) + 5.0 * (genre_of == second)
            share = fame * taste / (fame * taste).sum()
            user = names[number % 20] + (str(number // 20) if number >= 20 else "")
            for item in rng.choice(ids, int(rng.integers(4, 13)), replace=False, p=share):
                rows.writerow([user, item])


if __name__ == "__main__":
    write_films(Path(sys.argv[1]))
