"""Experiments: data, split, models and metrics as a value; runs that can be stopped and go on."""

from .arities import family, parse_arities
from .experiment import Experiment, RankerSpec
from .run import Run, run_experiment
from .spectrum import SpectralCurve, spectral_curves
from .summary import Summary, summarize
from .toml import read_experiment, to_toml

__all__ = [
    "Experiment",
    "RankerSpec",
    "Run",
    "SpectralCurve",
    "Summary",
    "family",
    "parse_arities",
    "read_experiment",
    "run_experiment",
    "spectral_curves",
    "summarize",
    "to_toml",
]
