"""Kernels of validity."""
