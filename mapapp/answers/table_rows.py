"""The type of one row of a table."""

from typing import Any, TypeAlias

Row: TypeAlias = Any
"""A row as `DataFrame.itertuples` yields it. Its columns are attributes, and pandas knows neither names nor types."""
