"""Kernels of the accountants."""
