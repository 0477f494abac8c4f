"""What can go wrong with files, tables and stores, each said in one line.

Every message names the file (and the row, column or key where there is one), the value found, what was
expected and what to do about it.
"""


class GeodataError(ValueError):
    """Base of every error that a user of `geodata` can cause and mend."""


class SourceFileError(GeodataError):
    """A source file is missing, unreadable, truncated or not of the format it should be."""


class SourceRowError(GeodataError):
    """A row of a source file holds a value that its column does not allow."""


class GeometryError(GeodataError):
    """A geometry is missing, empty or invalid, or its coordinate reference system is missing or wrong."""


class StoreError(GeodataError):
    """A dataset or release directory is missing, incomplete, altered or of the wrong kind."""
