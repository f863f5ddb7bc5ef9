"""Item-item matrices: dense, or a background by item size plus a sparse correction."""

from .base import ItemMatrix, Scale
from .kernel_matrix import STORAGES, kernel_matrix
from .storages import CompressedMatrix, DenseMatrix
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
