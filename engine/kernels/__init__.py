"""Kernels that several rooms use: random bits, chances, sorting, and the types of arrays."""
