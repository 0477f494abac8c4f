"""Exports of a release or an answer to common formats; every file names the release it comes from."""
