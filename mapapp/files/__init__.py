"""Answers, releases and reports as files."""
