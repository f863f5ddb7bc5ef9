"""Compiled loops: arrays in, arrays out. Nothing here knows of kernels, users or items."""
