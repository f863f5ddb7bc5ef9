"""Experiments, tuning and comparisons: tasks with cached results."""

from ..models.spaces import SPACES, Arity, Kernels, Range, Real, Whole, space_of
from ..models.spec import ModelSpec, RankerSpec, parse_model
from .arities import SpectralCurve, family, parse_arities, spectral_curves
from .arity import ArityChoice, arity_from_spectrum, best_arity, validation_fold
from .compare import FOLDS, METRICS, compare_models
from .comparison import OURS, ModelResult, SetComparison, record
from .experiment import Experiment
from .run import Run, Summary, run_experiment, summarize
from .study import Study, Trial
from .toml import read_experiment, to_toml
from .tune import tune_model

__all__ = [
    "FOLDS",
    "METRICS",
    "OURS",
    "SPACES",
    "Arity",
    "ArityChoice",
    "Experiment",
    "Kernels",
    "ModelResult",
    "ModelSpec",
    "Range",
    "RankerSpec",
    "Real",
    "Run",
    "SetComparison",
    "SpectralCurve",
    "Study",
    "Summary",
    "Trial",
    "Whole",
    "arity_from_spectrum",
    "best_arity",
    "compare_models",
    "family",
    "parse_arities",
    "parse_model",
    "read_experiment",
    "record",
    "run_experiment",
    "space_of",
    "spectral_curves",
    "summarize",
    "to_toml",
    "tune_model",
    "validation_fold",
]
