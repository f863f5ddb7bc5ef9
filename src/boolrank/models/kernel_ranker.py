"""KernelRanker: CF-KOMD, one quadratic program over the simplex per profile, on any kernel."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from ..counts.overlaps import Overlaps
from ..data.interactions import Interactions
from ..data.vocabulary import plain_id
from ..errors import InputError
from ..kernels import Kernel
from ..kernels.rules import Machine, Rules, has_rules
from ..kernels.terms import Terms
from ..matrix import STORAGES, ItemMatrix, Tags, kernel_matrix
from .fitted import Fitted, Ids
from .parameters import (
    activity_cap_param,
    lowered,
    param,
    recency_param,
    threads_param,
    user_exponent_param,
)
from .profiles import Profiles
from .recommender import Recommender
from .scorer import Floats
from .search import Arity, Kernels, Real
from .simplex_scorer import SimplexScorer
from .tag_columns import SharedTags, tag_columns

# threshold(2, 2) is conjunctive(2).
_KERNELS = Kernels(
    {
        "disjunctive({})": (Arity(1),),
        "threshold(2, {})": (Arity(2, limit=16),),
        "tanimoto": (),
    },
    powers=4,
    tags=("linear", "tanimoto", "conjunctive(2)", "all_subset"),
)
_DEFAULT = "disjunctive(8)"
# Parts of a score below this share of all are rounding.
_ROUNDING = 2.0**-48
# Beyond this, weights are equal to about 1e-12.
MOST_REG = 1e12


@dataclass(repr=False, eq=False)
class KernelRanker(Recommender):
    """CF-KOMD with any boolean kernel. The defaults are the paper's.

    Parameters
    ----------
    kernel : a kernel, or text such as ``"linear"``; its normalised form is used. With fewer than
        8 users, the default has that number as arity, with a warning. Terms can be bound to columns
        of the item table, as in ``"disjunctive(8) + 0.2*conjunctive(2)[genres]"``: then items
        without users are ranked by their tags
    reg : spreads the weight more evenly over a user's items
    negative_weight : how much an item's mean similarity to all items counts against it
    storage : ``"auto"``, ``"dense"`` or ``"compressed"``

    >>> data = Interactions.from_pairs([1, 1, 2, 2, 3], ["a", "b", "a", "c", "b"])
    >>> model = KernelRanker("disjunctive(2)").fit(data)
    >>> model.recommend([3], n=2).lists()
    [['a', 'c']]
    """

    uses_overlaps: ClassVar[bool] = True
    keeps_overlaps: ClassVar[bool] = True
    scales: ClassVar[bool] = True
    scorers: ClassVar = (SimplexScorer,)

    kernel: Kernel | str = param(_DEFAULT, search=_KERNELS, tags=True)
    reg: float = param(0.1, low=0, high=MOST_REG, search=Real(1e-4, 1e2, log=True))
    negative_weight: float = param(1.0, low=0, high=MOST_REG, search=Real(0.0, 2.0))
    user_exponent: float = user_exponent_param()
    storage: str = param("auto", choices=STORAGES, technical=True)
    recency: float | str = recency_param()
    activity_cap: int | None = activity_cap_param()
    n_threads: int | None = threads_param()

    def needs_pairs(self) -> str:
        """Return why a fit needs all pairs in memory."""
        return "a dense matrix is made in memory" if self.storage == "dense" else ""

    def _learn(self, data: Interactions, overlaps: Overlaps | None) -> SimplexScorer:
        counts = overlaps or Overlaps.of(data, user_exponent=self.user_exponent)
        kernel = self.kernel_for(len(data.users))
        columns = tag_columns(kernel, data)
        tags = {name: Tags(each.rows, len(each.words)) for name, each in columns.items()}
        matrix = kernel_matrix(kernel, counts, self.storage, tags=tags)
        return SimplexScorer(matrix, self.reg, self.negative_weight, counts.degrees)

    def reasons(
        self, fitted: Fitted, profile: Profiles, items: Sequence[int]
    ) -> list[tuple[Sequence[Any], Floats]]:
        """Return the parts of items through users, and those of tags that they share."""
        found = super().reasons(fitted, profile, items)
        terms = Terms.of(fitted.params["kernel"])
        if not terms.bound:
            return found
        own = profile.indices
        alpha = fitted.scorer.weights(profile)  # type: ignore[attr-defined]  # see _learn
        for place, (item, (_, parts)) in enumerate(zip(items, found, strict=True)):
            through_users, of_tags = parts.copy(), dict[SharedTags, float]()
            for weight, term in terms.bound:
                tags = fitted.tags[term.column]
                values, mean = tags.values(term, own, item)
                adds = weight * alpha * (values - fitted.params["negative_weight"] * mean)
                through_users -= adds
                for reason, part in tags.shared(own, item, adds).items():
                    of_tags[reason] = of_tags.get(reason, 0.0) + part
            every = np.concatenate((through_users, list(of_tags.values())))
            # Nothing but tags speaks for items without users.
            some = np.flatnonzero(abs(every) > _ROUNDING * abs(every).sum())
            keys = [*own.tolist(), *of_tags]
            found[place] = [keys[k] for k in some.tolist()], every[some]
        return found

    def rules(self, user: Hashable, item: Hashable | None = None, n: int = 10) -> Rules:
        """Return the formulas that add most to a user's score of an item, or to all scores.

        The kernel, or one of its terms, must be conjunctive, disjunctive or a normal form. Rules
        over users name users, those over tags name tags; `Rule.satisfied` has the items of the
        profile that satisfy the formula. Other terms have no rules, but count in the score.

        >>> data = Interactions.from_pairs([1, 1, 2, 2, 3], ["a", "b", "a", "c", "b"])
        >>> found = KernelRanker("linear").fit(data).rules(1, "c")
        >>> [(each.formula, round(each.adds, 3), each.satisfied) for each in found.rules]
        [('users: 2', 0.257, ('a',))]
        """
        fitted = self.fitted
        users = np.array([fitted.interactions.users.number(user)])
        return self._rules(fitted, fitted.profiles(users), item, n)

    def rules_profile(
        self,
        items: Iterable[Hashable],
        item: Hashable | None = None,
        n: int = 10,
        unknown: str = "raise",
    ) -> Rules:
        """Return the same for somebody with these items, seen in training or not."""
        fitted = self.fitted
        return self._rules(fitted, fitted.new_profiles([items], unknown), item, n)

    def _rules(self, fitted: Fitted, profile: Profiles, item: Hashable | None, n: int) -> Rules:
        data = fitted.interactions.capped(fitted.params.get("activity_cap"))
        kernel = lowered(fitted.params["kernel"], _DEFAULT, len(data.users))
        terms, m = Terms.of(kernel), len(data.items)
        columns: list[tuple[float, Kernel, str]] = [
            (share, term, term.column) for share, term in terms.bound if has_rules(term)
        ]
        if terms.users and has_rules(terms.users) and not fitted.params["user_exponent"]:
            columns.append((terms.share, terms.users, ""))
        if not columns:
            weighted = " with weighted users" if fitted.params["user_exponent"] else ""
            raise InputError(
                f"{kernel} has no rules{weighted}",
                hint="fit a conjunctive, disjunctive or normal-form kernel, over tags for readable "
                "rules: --kernel 'disjunctive(8) + conjunctive(2)[genres]'",
                parameter="kernel",
            )
        own = profile.indices
        if not len(own):
            return Rules((), None, True)
        target = None if item is None else data.items.number(item)
        # score_j = Σ α_i·K_ij - negative_weight·(mean of K_ij over all other items i)
        beta = np.full(m, -fitted.params["negative_weight"] / m)
        if target is not None:
            beta[target] = 0.0
        beta[own] += fitted.scorer.weights(profile)  # type: ignore[attr-defined]  # see _learn
        has, parts = np.isin(np.arange(m), own), list[Rules]()
        for share, term, column in columns:
            if column:
                tags = fitted.tags[column]
                X, names = tags.sets[tags.numbers], tags.words.words
            else:
                X, names = data.T.matrix(), [str(plain_id(each)) for each in data.users]
            x = None if target is None else X[[target]].toarray()[0]
            found = Machine(share * term.normalized(), X, beta, names, has).rules(x, n)
            said = [replace(r, formula=f"{column or 'users'}: {r.formula}") for r in found.rules]
            parts.append(replace(found, rules=tuple(said)))
        scores = fitted.scorer.scores(profile)[0]
        # The decisions of a ranker are its lists: the first tenth of all items.
        listed = scores > np.sort(scores)[-max(m // 10, 1) - 1] if m > 1 else scores > 0
        joined, ids = Rules.joined(parts, n).against(listed), data.items
        if target is not None and len(columns) < len(terms.bound) + (terms.users is not None):
            joined = replace(joined, score=float(scores[target]))  # of other terms too
        shown = [
            replace(rule, satisfied=tuple(ids[k] for k in rule.satisfied if has[k]))
            for rule in joined.rules
        ]
        return replace(joined, rules=tuple(shown))

    @property
    def matrix(self) -> ItemMatrix:
        """The (items, items) kernel matrix."""
        scorer: SimplexScorer = self.scorer  # type: ignore[assignment]  # see _learn
        return scorer.matrix

    def weights(self, users: Ids) -> list[Floats]:
        """Return the weights of each user's items, which sum to 1, in the order of item ids."""
        fitted = self.fitted
        profiles = fitted.profiles(fitted.interactions.users.numbers(users))
        return np.split(fitted.scorer.weights(profiles), profiles.indptr[1:-1])  # type: ignore[attr-defined]
