"""Experiments, tuning and comparisons: tasks with cached results."""

from ..models.spec import ModelSpec, parse_model
from .arity import (
    ArityChoice,
    Curve,
    arity_from_spectrum,
    best_arity,
    family,
    parse_arities,
    spectral_curves,
)
from .compare import METRICS, compare_models
from .comparison import OURS, ModelResult, SetComparison, record
from .experiment import Experiment
from .run import Run, Summary, run_experiment, summarize
from .study import Study, Trial, best_spec
from .toml import read_experiment, to_toml
from .tune import FOLDS, tune_model, validation_fold

__all__ = [
    "FOLDS",
    "METRICS",
    "OURS",
    "ArityChoice",
    "Curve",
    "Experiment",
    "ModelResult",
    "ModelSpec",
    "Run",
    "SetComparison",
    "Study",
    "Summary",
    "Trial",
    "arity_from_spectrum",
    "best_arity",
    "best_spec",
    "compare_models",
    "family",
    "parse_arities",
    "parse_model",
    "read_experiment",
    "record",
    "run_experiment",
    "spectral_curves",
    "summarize",
    "to_toml",
    "tune_model",
    "validation_fold",
]
