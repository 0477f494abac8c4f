"""Kernels of the placement."""
