"""Answers, publications, and reports as files."""
