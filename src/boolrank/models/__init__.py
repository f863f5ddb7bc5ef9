"""What one would pick instead of the kernel ranker, under the same contract."""

from .popularity import Popularity
from .table import MODELS, ModelEntry, make_model

__all__ = ["MODELS", "ModelEntry", "Popularity", "make_model"]
