"""Experiments: data, split, models and metrics as a value; runs that can be stopped and go on."""

from .arities import SpectralCurve, family, parse_arities, spectral_curves
from .experiment import Experiment
from .run import Run, Summary, run_experiment, summarize
from .specs import ModelSpec, RankerSpec, parse_model
from .toml import read_experiment, to_toml

__all__ = [
    "Experiment",
    "ModelSpec",
    "RankerSpec",
    "Run",
    "SpectralCurve",
    "Summary",
    "family",
    "parse_arities",
    "parse_model",
    "read_experiment",
    "run_experiment",
    "spectral_curves",
    "summarize",
    "to_toml",
]
