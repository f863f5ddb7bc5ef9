"""Named data sets, their downloads and formats, and synthetic data."""

from .catalogue import DATASETS
from .dataset import Dataset, Download, Size, data_folder
from .fetch import fetch_dataset
from .formats import Delimited, read_lists
from .inputs import find_dataset, load_dataset
from .rows import Rows
from .synthetic import synthetic

__all__ = [
    "DATASETS",
    "Dataset",
    "Delimited",
    "Download",
    "Rows",
    "Size",
    "data_folder",
    "fetch_dataset",
    "find_dataset",
    "load_dataset",
    "read_lists",
    "synthetic",
]
