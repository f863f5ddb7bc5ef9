"""Experiments, tuning and comparisons: tasks with cached results."""

from .arity import (
    ArityChoice,
    Curve,
    arity_from_spectrum,
    best_arity,
    family,
    parse_arities,
    spectral_curve,
)
from .choose import Choice, choose
from .comparison import ModelResult, SetComparison, compare_models, record
from .experiment import Experiment, read_experiment
from .kernel_weights import KernelWeights, learn_kernel
from .run import Run, run_experiment
from .tune import FOLDS, Study, Trial, best_spec, tune_model, validation_fold

__all__ = [
    "FOLDS",
    "ArityChoice",
    "Choice",
    "Curve",
    "Experiment",
    "KernelWeights",
    "ModelResult",
    "Run",
    "SetComparison",
    "Study",
    "Trial",
    "arity_from_spectrum",
    "best_arity",
    "best_spec",
    "choose",
    "compare_models",
    "family",
    "learn_kernel",
    "parse_arities",
    "read_experiment",
    "record",
    "run_experiment",
    "spectral_curve",
    "tune_model",
    "validation_fold",
]
