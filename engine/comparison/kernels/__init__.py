"""Kernels of the mechanisms that serve as comparisons."""
