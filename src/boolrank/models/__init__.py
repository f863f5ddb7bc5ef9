"""Models with one interface: fit, recommend, explain, save; and the table that names them."""

from ..storage.state import array
from .disk_fit import fit_on_disk
from .ease import Ease, KernelEase, LRec
from .item_knn import ItemKNN
from .kernel_ranker import KernelRanker
from .mean_ranker import MeanRanker
from .model_folder import load_model, model_info
from .omd import CfOmd, EcfOmd
from .parameters import Parameter, param, recency_param, threads_param
from .popularity import Popularity
from .profiles import Profiles
from .recommendations import Recommendations
from .recommender import Recommender
from .registry import MODELS, ModelEntry, find_model, make_model
from .scorer import Scorer
from .search import Kernels, Real, Whole
from .slim import Glslim, Slim
from .spec import ModelSpec, labels, parse_model
from .spectral_ranker import SpectralRanker

__all__ = [
    "MODELS",
    "CfOmd",
    "Ease",
    "EcfOmd",
    "Glslim",
    "ItemKNN",
    "KernelEase",
    "KernelRanker",
    "Kernels",
    "LRec",
    "MeanRanker",
    "ModelEntry",
    "ModelSpec",
    "Parameter",
    "Popularity",
    "Profiles",
    "Real",
    "Recommendations",
    "Recommender",
    "Scorer",
    "Slim",
    "SpectralRanker",
    "Whole",
    "array",
    "find_model",
    "fit_on_disk",
    "labels",
    "load_model",
    "make_model",
    "model_info",
    "param",
    "parse_model",
    "recency_param",
    "threads_param",
]
