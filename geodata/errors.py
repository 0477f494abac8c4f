"""Errors about files, tables and stores, each with a message of one line.

A message names the file (with row, column or key, if any), the value found, what was expected, and the remedy.
"""


class GeodataError(ValueError):
    """Base of every error that a user of `geodata` can cause and correct."""


class SourceFileError(GeodataError):
    """A source file is missing, unreadable, truncated or in the wrong format."""


class SourceRowError(GeodataError):
    """A row of a source file holds a value that its column does not allow."""


class GeometryError(GeodataError):
    """A geometry is missing, empty or invalid, or its coordinate reference system is missing or wrong."""


class StoreError(GeodataError):
    """A dataset or publication directory is missing, incomplete, altered or of the wrong kind."""
