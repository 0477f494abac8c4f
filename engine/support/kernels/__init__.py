"""Kernels of the support points."""
