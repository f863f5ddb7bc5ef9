"""Boolean kernels, exact at any size, for recommending items from implicit feedback."""

from . import _startup as _startup
from ._version import __version__
from .counts import Overlaps
from .data import load_dataset, synthetic
from .data.interactions import Interactions
from .data.items import ItemTable
from .data.protocols import hold_out, leave_one_out, make_split, paper_protocol
from .errors import (
    BoolrankError,
    InputError,
    ModelFileError,
    NotFittedError,
    ParameterError,
    UnknownIdError,
)
from .evaluation import compare, evaluate
from .kernels import (
    Conjunctive,
    Disjunctive,
    Kernel,
    Linear,
    MonotoneDNF,
    Tanimoto,
    Threshold,
    parse_kernel,
)
from .models import (
    MODELS,
    CfOmd,
    Ease,
    EcfOmd,
    Glslim,
    ItemKNN,
    KernelEase,
    KernelRanker,
    LRec,
    MeanRanker,
    Popularity,
    Recommendations,
    Recommender,
    Slim,
    SpectralRanker,
    load_model,
    make_model,
)
from .studies import Experiment, choose, compare_models, run_experiment, tune_model

__all__ = [
    "MODELS",
    "BoolrankError",
    "CfOmd",
    "Conjunctive",
    "Disjunctive",
    "Ease",
    "EcfOmd",
    "Experiment",
    "Glslim",
    "InputError",
    "Interactions",
    "ItemKNN",
    "ItemTable",
    "Kernel",
    "KernelEase",
    "KernelRanker",
    "LRec",
    "Linear",
    "MeanRanker",
    "ModelFileError",
    "MonotoneDNF",
    "NotFittedError",
    "Overlaps",
    "ParameterError",
    "Popularity",
    "Recommendations",
    "Recommender",
    "Slim",
    "SpectralRanker",
    "Tanimoto",
    "Threshold",
    "UnknownIdError",
    "__version__",
    "choose",
    "compare",
    "compare_models",
    "evaluate",
    "hold_out",
    "leave_one_out",
    "load_dataset",
    "load_model",
    "make_model",
    "make_split",
    "paper_protocol",
    "parse_kernel",
    "run_experiment",
    "synthetic",
    "tune_model",
]
