"""Fit and rank on Spark: the same folders and the same lists as on one machine, bit for bit."""

from .._extras import needs

with needs("spark", "Spark"):
    import pyspark as _pyspark  # noqa: F401 - before py4j, so that an error names it

    from .cluster import start
    from .model import fit, recommend
    from .sources import read

__all__ = ["fit", "read", "recommend", "start"]
