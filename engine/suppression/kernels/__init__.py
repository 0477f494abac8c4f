"""Kernels of suppressed tables."""
