"""Kernels of the mechanisms."""
