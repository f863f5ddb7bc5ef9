"""The best model that a tuning or a comparison found."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..errors import InputError, ParameterError
from ..models.spec import ModelSpec
from .cache import read_json
from .study import Study

__all__ = ["best_spec"]


def best_spec(folder: str | Path, metric: str | None = None) -> ModelSpec:
    """Return the best model in a folder of `tune_model`, or of `compare_models` and `record`.

    Several studies in a folder must be of one validation fold; the best of all is returned.

    Parameters
    ----------
    folder : the folder, or the file of one study
    metric : by default the first metric

    >>> from tempfile import TemporaryDirectory
    >>> from boolrank import paper_protocol, synthetic, tune_model
    >>> fold = paper_protocol(synthetic(60, 30, 700), folds=6)[0]
    >>> with TemporaryDirectory() as folder:
    ...     study = tune_model("popularity", fold, folder=folder)
    ...     print(best_spec(folder))
    popularity
    """
    folder = Path(folder)
    if (folder / "results.json").is_file():
        return _of_comparison(folder / "results.json", metric)
    paths = [folder] if folder.is_file() else sorted((folder / "studies").glob("*.json"))
    if not paths:
        raise InputError(
            f"{folder} has no study and no comparison", hint="run boolrank tune or compare first"
        )
    studies = [Study.from_dict(_read(path)) for path in paths]
    if len({(study.fold, study.metrics) for study in studies}) > 1:
        names = ", ".join(path.name for path in paths)
        raise InputError(
            f"{folder} has studies of different data or metrics",
            hint=f"name one file of {folder / 'studies'}: {names}",
        )
    metric = metric or studies[0].metrics[0]
    worked = [study for study in studies if study.failed < len(study.trials)]
    sign = -1 if metric in studies[0].lower else 1
    best = max(worked or studies, key=lambda s: sign * s.best(metric).metrics[metric])
    return best.spec(metric)


def _of_comparison(path: Path, metric: str | None) -> ModelSpec:
    sets: list[dict[str, Any]] = _read(path)["sets"]
    if len(sets) != 1:
        raise InputError(
            f"{path} compares models on {len(sets)} data sets",
            hint="compare on the data that you want to fit on, with another --out",
        )
    winners, metric = sets[0]["winners"], metric or sets[0]["metrics"][0]
    if metric not in sets[0]["metrics"]:
        raise ParameterError(
            f"{metric!r} was not measured", hint=f"there are {', '.join(sets[0]['metrics'])}"
        )
    if metric not in winners:
        raise InputError(f"no model of {path} worked", hint="look at the errors in it")
    return ModelSpec.from_dict(winners[metric])


def _read(path: Path) -> dict[str, Any]:
    try:
        return read_json(path)
    except (OSError, ValueError) as error:
        raise InputError(
            f"{path} cannot be read: {error}", hint="run the same command again to write it anew"
        ) from None
