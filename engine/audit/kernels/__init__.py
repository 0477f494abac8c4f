"""Kernels of the audit."""
