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


@dataclass(frozen=True)
class PaperSet:
    """A row of the results table."""

    title: str
    dataset: str  # its name here
    arity: int  # the best of the disjunctive kernel; that of the conjunctive one is always 2
    figures: Mapping[str, Figure]  # by column
    protocol: str = "paper"
    known: Mapping[str, str] = field(default_factory=dict)  # reasons by column, "" for all columns
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


# Name here, title, arity of the disjunctive kernel, and AUC/deviation of each column.
_TABLE = """
bookcrossing-reduced BookCrossing   8 .7651/.0027 .7040/.0023 .7439/.0023 .7592/.0021 .7371/.0017
ciaodvd              Ciao         116 .8381/.0065 .5401/.0094 .7179/.0057 .7538/.0041 .7859/.0040
filmtrust            FilmTrust     38 .9705/.0036 .9511/.0075 .9611/.0049 .9640/.0054 .9608/.0056
jester               Jester        34 .7271/.0024 .6012/.0028 .6019/.0026 .6263/.0025 .5384/.0981
movielens-1m         MovieLens      2 .8946/.0004 .8923/.0004 .8961/.0003 .8922/.0004 .8065/.0027
netflix              Netflix        2 .9436/.0010 .9362/.0009 .9427/.0011 .9381/.0012 .9000/.0013
"""

_MORE: dict[str, dict[str, Any]] = {
    "bookcrossing-reduced": {
        "protocol": PUBLISHED,
        "known": {
            "": "This is the one fold that the authors published; the paper's figures are means of "
            "five. It tests all 2,802 users on a fifth of their ratings, which is not the protocol "
            "in the paper. How the set was reduced is unknown."
        },
    },
    "ciaodvd": {
        "known": {
            "": "Most users of this set have few ratings, so it matters who is tested. With all "
            "users of two or more ratings tested, not five as the paper states, and ties counted "
            "half, results are close to the paper's: `boolrank evaluate ciaodvd --least 2 "
            "--metrics auc_ties --kernel linear`. This is one of some twenty readings that were "
            "tried; the paper does not say it."
        },
    },
    "filmtrust": {
        "known": {
            "": "The set has no times. We use the order of its file; the order that the paper used "
            "is unknown."
        },
    },
    "jester": {
        "known": {
            "": "The set has no times. We use the order of the jokes; the order that the paper "
            "used is unknown. It matters: see `boolrank evaluate jester --order random`."
        },
    },
    "movielens-1m": {
        "known": {
            "monotone_dnf": "Probably rounding. The values of this kernel are tiny beside its "
            "diagonal. If the diagonal is part of an item's mean, rounding removes the differences "
            "between items. We leave the diagonal out, as it is the same for all items.",
        },
    },
    "netflix": {
        "known": {
            "": "The paper used a part of the Netflix Prize data, with 93,705 users, 3,561 films "
            "and 3.3 million ratings, which is not published. These are other data."
        },
        "by_name": "The paper's part of the Netflix Prize data is not published. Name the whole, "
        "netflix, or other data, netflix=ratings.csv.",
    },
}


def _paper_set(row: str) -> PaperSet:
    name, title, arity, *pairs = row.split()
    figures = (Figure(*map(float, pair.split("/"))) for pair in pairs)
    return PaperSet(
        title, name, int(arity), dict(zip(COLUMNS, figures, strict=True)), **_MORE[name]
    )


PAPER: Mapping[str, PaperSet] = {
    each.dataset: each for each in map(_paper_set, _TABLE.strip().splitlines())
}
