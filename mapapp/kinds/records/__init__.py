"""Synthetic worker records."""
