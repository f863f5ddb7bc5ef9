"""Compile loops for rare forms of models, beside those that ``boolrank doctor --all`` compiles.

Tests of several files need them, and would compile them at the same time.
"""

from __future__ import annotations

from folder_fuzz import fitted

FORMS = (
    "kernel-ranker scaled",
    "kernel-ranker scaled compressed",
    "kernel-ranker centred",
    "kernel-ranker centred dense",
    "kernel-ranker tags",
    "ease sparse",
)


if __name__ == "__main__":
    for name in FORMS:
        model = fitted(name)
        model.recommend(n=5)
        model.score()
