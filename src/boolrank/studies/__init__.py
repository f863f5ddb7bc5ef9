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
from .comparison import METRICS, OURS, ModelResult, SetComparison, compare_models, record
from .experiment import Experiment, read_experiment, to_toml
from .run import Run, Summary, run_experiment, summarize
from .tune import FOLDS, Study, Trial, best_spec, tune_model, validation_fold

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
