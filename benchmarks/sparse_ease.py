"""Sparse weights of EASE and KernelEase: quality by density, and a large catalogue.

    python benchmarks/sparse_ease.py [--sets movielens-1m,ciaodvd] [--large 200000x100000x3000000]

Quality is that of `boolrank evaluate` with the paper's protocol, dense storage first. The large run
has a process of its own with two threads for each model: seconds of the fit with counting, of the
ten best items of 10,000 users, and the peak of memory with the data and the libraries loaded.
"""

from __future__ import annotations

import argparse
import json
import sys
import time

from measuring import Found, forget_peak, in_own_process, memory

from boolrank import Experiment, load_dataset, make_model, run_experiment, synthetic
from boolrank.errors import DatasetNotFoundError
from boolrank.models.spec import ModelSpec

MODELS = {"ease": {"reg": 500.0}, "kernel-ease": {"kernel": "disjunctive(2)", "reg": 100.0}}
DENSITIES = (0.001, 0.003, 0.01, 0.03, 0.1, 1.0)
METRICS = "ndcg@10,recall@10,auc"
RANKED = 10_000


def quality(name: str, model: str) -> None:
    """Print a row for dense storage, and one for each density."""
    stored = [{"storage": "dense"}]
    stored += [{"storage": "sparse", "density": density} for density in DENSITIES]
    specs = tuple(ModelSpec(model, MODELS[model] | each) for each in stored)
    run = run_experiment(Experiment((name,), specs, metrics=METRICS))
    print(f"\n{name}, {specs[0]}")
    for each, result in zip(stored, run.evaluations.values(), strict=True):
        figures = "".join(f"{value:>12.4f}" for value in result.means.values())
        print(
            f"{each.get('density', 'dense')!s:>8}{figures}{result.seconds[0]:>10.1f} s", flush=True
        )


def large(size: str, model: str) -> Found:
    """Return the seconds and the peak of memory of one model on synthetic data."""
    params = MODELS[model] | {"storage": "sparse"}
    make_model(model, **params, density=0.01).fit(synthetic(900, 900, 9_000)).recommend(n=10)
    data = load_dataset(f"synthetic:{size}")
    forget_peak()
    start = time.perf_counter()
    fitted = make_model(model, **params).fit(data)
    done = time.perf_counter()
    fitted.recommend(list(data.users)[:RANKED], n=10)
    ranked = time.perf_counter()
    weights = len(fitted.scorer.values)
    return {"fit": done - start, "rank": ranked - done, "GB": memory() / 1e3, "weights": weights}


def main() -> None:
    """Print both tables."""
    if sys.argv[1:2] == ["--run"]:
        print(json.dumps(large(*sys.argv[2:])))
        return
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--sets", default="movielens-1m,ciaodvd", help="data sets by name")
    parser.add_argument("--large", default="200000x100000x3000000", help="users x items x events")
    options = parser.parse_args()
    for name in filter(None, options.sets.split(",")):
        try:
            load_dataset(name)
        except DatasetNotFoundError as error:
            print(f"\n{name}: left out, {error}")
            continue
        print(f"\n{name}: nDCG@10, recall@10, AUC, and seconds of a fit, by density")
        for model in MODELS:
            quality(name, model)
    if options.large:
        print(f"\n{options.large}, density of the default")
        for model in MODELS:
            found = in_own_process(__file__, "--run", options.large, model)
            print(
                f"{model:<14}fit {found['fit']:.0f} s, 10 best of {RANKED:,} users "
                f"{found['rank']:.1f} s, peak {found['GB']:.1f} GB, {found['weights']:,} weights",
                flush=True,
            )


if __name__ == "__main__":
    main()
