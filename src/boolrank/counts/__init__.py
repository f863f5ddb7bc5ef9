"""Counts that every kernel derives from: users, item sizes, shared users."""

from .overlaps import Overlaps

__all__ = ["Overlaps"]
