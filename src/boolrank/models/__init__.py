"""What one would pick instead of the kernel ranker, under the same contract."""

from .cf_omd import CfOmd
from .ease import Ease, LRec
from .ecf_omd import EcfOmd
from .item_knn import ItemKNN
from .kernel_ease import KernelEase
from .mean_ranker import MeanRanker
from .popularity import Popularity
from .registry import MODELS, ModelEntry, make_model

__all__ = [
    "MODELS",
    "CfOmd",
    "Ease",
    "EcfOmd",
    "ItemKNN",
    "KernelEase",
    "LRec",
    "MeanRanker",
    "ModelEntry",
    "Popularity",
    "make_model",
]
