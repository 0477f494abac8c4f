"""Kernels of worker records."""
