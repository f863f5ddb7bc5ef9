"""Item-item matrices: dense, or a background by item size plus a sparse correction."""

from .base import ItemMatrix, Scale
from .compressed import CompressedMatrix
from .dense import DenseMatrix
from .kernel_matrix import STORAGES, kernel_matrix
from .tag_part import Tags, distinct_sets

__all__ = [
    "STORAGES",
    "CompressedMatrix",
    "DenseMatrix",
    "ItemMatrix",
    "Scale",
    "Tags",
    "distinct_sets",
    "kernel_matrix",
]
