"""What one would pick instead of the kernel ranker, under the same contract."""

from .popularity import Popularity

__all__ = ["Popularity"]
