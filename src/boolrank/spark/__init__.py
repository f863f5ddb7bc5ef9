"""Fit and rank on Spark: the same folders and the same lists as on one machine, bit for bit."""

from .cluster import start
from .lists import recommend
from .model import fit
from .sources import read

__all__ = ["fit", "read", "recommend", "start"]
