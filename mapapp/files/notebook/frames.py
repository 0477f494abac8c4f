"""Answers as pandas and GeoPandas frames."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import geopandas
import numpy as np
import pandas
import shapely

from mapapp.answers.release import Release
from mapapp.answers.results import Change, Result
from mapapp.base.errors import UsageError
from mapapp.files.answer_files import main_table, plain_table_of, table_of
from mapapp.files.exports.answers import shapes_of, unit_shapes

_DEGREES: Final = "EPSG:4326"


def frame_of(answer: Result, table: str = "", *, about: bool = False) -> pandas.DataFrame:
    """Return a copy of one table of an answer; see `Result.to_frame`."""
    found = (table_of if about else plain_table_of)(answer, table or main_table(answer))
    return found.copy()


def geodataframe_of(release: Release, answer: Result, *, about: bool = False) -> geopandas.GeoDataFrame:
    """Return the rows of an answer with their shapes; see `Result.to_geodataframe`."""
    if isinstance(answer, Change):
        table, shapes = _shapes_of_change(release, answer)
    else:
        table, shapes = shapes_of(release, answer)
    frame = frame_of(answer, table, about=about)
    geometry = np.empty(len(frame), dtype=object)
    geometry[:] = list(shapes)
    return geopandas.GeoDataFrame(frame, geometry=geometry, crs=_DEGREES)


def _shapes_of_change(release: Release, answer: Change) -> tuple[str, Sequence[shapely.Geometry | None]]:
    layer = getattr(answer.after, "layer", None)
    if layer is None:
        raise UsageError(
            f"{answer.about.title} has no rows by unit; use to_frame(), or the shapes of the two answers"
        )
    return "rows", unit_shapes(release, layer, answer.rows)
