"""The paper's published results, and known reasons for differences from ours.

M. Polato and F. Aiolli. Boolean kernels for collaborative filtering in top-N item recommendation.
Neurocomputing, 2018. doi:10.1016/j.neucom.2018.01.057
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ..studies.experiment import PUBLISHED

# The columns of the results table.
COLUMNS = ("disjunctive", "conjunctive", "linear", "tanimoto", "monotone_dnf")


class Figure(NamedTuple):
    """An AUC and its standard deviation over five folds."""

    auc: float
    deviation: float


class Reading(NamedTuple):
    """Another reading of the protocol: its changes to the split, and its metrics."""

    title: str
    split: Mapping[str, Any]
    metrics: tuple[str, ...]


@dataclass(frozen=True)
class PaperSet:
    """A row of the results table."""

    title: str
    dataset: str  # its name here
    arity: int  # the best of the disjunctive kernel; that of the conjunctive one is always 2
    figures: Mapping[str, Figure]  # by column
    protocol: str = "paper"
    known: Mapping[str, str] = field(default_factory=dict)  # reasons by column, "" for all columns
    readings: tuple[Reading, ...] = ()
    by_name: str = ""  # why the set is measured only if it is named

    @property
    def kernels(self) -> dict[str, str]:
        """The kernel of each column, as text.

        >>> PAPER["ciaodvd"].kernels["disjunctive"]
        'disjunctive(116)'
        """
        with_arity = {"disjunctive": f"({self.arity})", "conjunctive": "(2)"}
        return {column: column + with_arity.get(column, "") for column in COLUMNS}

    def reason(self, column: str) -> str:
        """Return the known reasons for a difference from ours."""
        unknown = "The reason is unknown, and so are the paper's folds."
        return self.known.get(column, self.known.get("", unknown))


def _figures(*values: tuple[float, float]) -> dict[str, Figure]:
    return {column: Figure(*value) for column, value in zip(COLUMNS, values, strict=True)}


_EVERYBODY = Reading(
    "all users with two or more ratings are tested, ties count half", {"least": 2}, ("auc_ties",)
)

_ALL = (
    PaperSet(
        "BookCrossing",
        "bookcrossing-reduced",
        8,
        _figures(
            (0.7651, 0.0027), (0.7040, 0.0023), (0.7439, 0.0023), (0.7592, 0.0021), (0.7371, 0.0017)
        ),
        protocol=PUBLISHED,
        known={
            "": "This is the one fold that the authors published; the paper's figures are means of "
            "five. It tests all 2,802 users on a fifth of their ratings, which is not the protocol "
            "in the paper. How the set was reduced is unknown."
        },
    ),
    PaperSet(
        "Ciao",
        "ciaodvd",
        116,
        _figures(
            (0.8381, 0.0065), (0.5401, 0.0094), (0.7179, 0.0057), (0.7538, 0.0041), (0.7859, 0.0040)
        ),
        known={
            "": "Most users of this set have few ratings, so it matters who is tested. The reading "
            "below tests all users with two or more ratings, not five as the paper states, and "
            "counts ties half. Its figures are close to the paper's, whose folds may have been "
            "made this way. This is inferred from some twenty readings; the paper does not say it."
        },
        readings=(_EVERYBODY,),
    ),
    PaperSet(
        "FilmTrust",
        "filmtrust",
        38,
        _figures(
            (0.9705, 0.0036), (0.9511, 0.0075), (0.9611, 0.0049), (0.9640, 0.0054), (0.9608, 0.0056)
        ),
        known={
            "": "The set has no times. We use the order of its file; the order that the paper used "
            "is unknown."
        },
        readings=(_EVERYBODY,),
    ),
    PaperSet(
        "Jester",
        "jester",
        34,
        _figures(
            (0.7271, 0.0024), (0.6012, 0.0028), (0.6019, 0.0026), (0.6263, 0.0025), (0.5384, 0.0981)
        ),
        known={
            "": "The set has no times. We use the order of the jokes; the order that the paper "
            "used is unknown. It matters: random halves give the reading below."
        },
        readings=(Reading("random halves", {"order": "random"}, ("auc",)),),
    ),
    PaperSet(
        "MovieLens",
        "movielens-1m",
        2,
        _figures(
            (0.8946, 0.0004), (0.8923, 0.0004), (0.8961, 0.0003), (0.8922, 0.0004), (0.8065, 0.0027)
        ),
        known={
            "monotone_dnf": "Probably rounding. The values of this kernel are tiny beside its "
            "diagonal. If the diagonal is part of an item's mean, rounding removes the differences "
            "between items. We leave the diagonal out, as it is the same for all items.",
        },
    ),
    PaperSet(
        "Netflix",
        "netflix",
        2,
        _figures(
            (0.9436, 0.0010), (0.9362, 0.0009), (0.9427, 0.0011), (0.9381, 0.0012), (0.9000, 0.0013)
        ),
        known={
            "": "The paper used a part of the Netflix Prize data, with 93,705 users, 3,561 films "
            "and 3.3 million ratings, which is not published. These are other data."
        },
        by_name="The paper's part of the Netflix Prize data is not published. Name the whole, "
        "netflix, or other data, netflix=ratings.csv.",
    ),
)

PAPER: Mapping[str, PaperSet] = {each.dataset: each for each in _ALL}
