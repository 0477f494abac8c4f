"""Releases: synthetic workers of the jobs of a dataset."""
