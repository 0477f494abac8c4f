"""Errors about files, tables and stores, each with a message of one line.

A message names the file (with row, column or key, if any), the value found, what was expected, and the remedy.
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType


class GeodataError(ValueError):
    """Base of every error that a user of `geodata` can cause and correct."""


class SourceFileError(GeodataError):
    """A source file is missing, unreadable, truncated or in the wrong format."""


class FaultyRecordsError(SourceFileError):
    """Worker records hold faults. The message neither counts nor quotes any of them.

    Attributes
    ----------
    confidential_lines : tuple of str
    edits : mapping of str to object
        How many there are of each kind, as lines and as plain values, for the analyst's standard output.
    """

    def __init__(
        self,
        message: str,
        confidential_lines: Sequence[str] = (),
        edits: Mapping[str, object] = MappingProxyType({}),
    ) -> None:
        super().__init__(message)
        self.confidential_lines = tuple(confidential_lines)
        self.edits = edits


class SourceRowError(GeodataError):
    """A row of a source file holds a value that its column does not allow."""


class GeometryError(GeodataError):
    """A geometry is missing, empty or invalid, or its coordinate reference system is missing or wrong."""


class StoreError(GeodataError):
    """A dataset or publication directory is missing, incomplete, altered or of the wrong kind."""
