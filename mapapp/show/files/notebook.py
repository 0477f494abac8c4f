"""A release for Python users, whose answers convert to frames, maps and HTML."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

import geopandas
import numpy as np
import pandas
import shapely

from mapapp.answers import release
from mapapp.answers.analyses.results import Change, Result
from mapapp.answers.asking import question_of
from mapapp.answers.findings.findings import findings, standings
from mapapp.answers.map_image import MapImage
from mapapp.answers.release import Release as ServedRelease
from mapapp.base.errors import UsageError
from mapapp.question.fields import VIEW, FieldValue, NotAllowed
from mapapp.question.view import View
from mapapp.show.exports.answers import shapes_of, unit_shapes
from mapapp.show.files.answers import main_table, plain_table_of, table_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from mapapp.answers.opened_release import Answer


# Answers as pandas and GeoPandas frames.

_DEGREES: Final = "EPSG:4326"


def frame_of(answer: Result, table: str = "", *, about: bool = False) -> pandas.DataFrame:
    """Return a copy of one table of an answer; see `Result.to_frame`."""
    frame = (table_of if about else plain_table_of)(answer, table or main_table(answer))
    return frame.copy()


def geodataframe_of(release: ServedRelease, answer: Result, *, about: bool = False) -> geopandas.GeoDataFrame:
    """Return the rows of an answer with their shapes; see `Result.to_geodataframe`."""
    if isinstance(answer, Change):
        table, shapes = _shapes_of_change(release, answer)
    else:
        table, shapes = shapes_of(release, answer)
    frame = frame_of(answer, table, about=about)
    geometry = np.empty(len(frame), dtype=object)
    geometry[:] = list(shapes)
    return geopandas.GeoDataFrame(frame, geometry=geometry, crs=_DEGREES)


def _shapes_of_change(
    release: ServedRelease, answer: Change
) -> tuple[str, Sequence[shapely.Geometry | None]]:
    layer = getattr(answer.after, "layer", None)
    if layer is None:
        raise UsageError(
            f"{answer.about.title} has no rows by unit; use to_frame(), or the shapes of the two answers"
        )
    return "rows", unit_shapes(release, layer, answer.rows)


class Release(release.Release):
    """A verified release that answers questions. It is safe to use from several threads. See :func:`open_release`.

    Its answers have `to_frame`, `to_geodataframe` and `plot`, and notebooks show them as tables.
    """

    def findings(self, answer: Result) -> tuple[str, ...]:
        """Return what an answer found, and of publications not for release why; see `Result.findings`."""
        return (*findings(answer), *standings(answer))

    def frame(self, answer: Result, table: str = "", about: bool = False) -> pandas.DataFrame:
        """Return a table of an answer as a DataFrame; see `Result.to_frame`."""
        return frame_of(answer, table, about=about)

    def geodataframe(self, answer: Result, about: bool = False) -> geopandas.GeoDataFrame:
        """Return an answer with its geometry; see `Result.to_geodataframe`."""
        return geodataframe_of(self, answer, about=about)

    def html(self, answer: Result) -> str:
        """Return the notebook view of an answer: key numbers, first rows, notes and the promise."""
        from mapapp.show.files.notebook_html import html_of  # loads the templates of reports, and matplotlib

        return html_of(answer, self.certificate)

    def map_image(
        self,
        answer: Result,
        *,
        show: str,
        layer: str,
        theme: str,
        size_in: tuple[float, float],
        scale: int,
        form: Literal["png", "svg"],
        title: str,
    ) -> MapImage:
        """Draw the map of an answer; see `Result.plot`."""
        from mapapp.show.content.map_content import MapContent
        from mapapp.show.paper import map_picture, map_words

        view = View(**{name: _check_field(name, value) for name, value in (("show", show), ("theme", theme))})
        latest = answer.after if isinstance(answer, Change) else answer
        question = question_of(latest)
        if layer:
            question = replace(question, layer=self._layer(layer).level)
        before = self._before(answer) if isinstance(answer, Change) else None
        shown = MapContent(self, self.areas.usual.settle(question), view, before)
        picture = map_picture(shown, size_in=size_in, scale=scale, form=form, title=title)
        return MapImage(picture, form, map_words(shown, size_in=size_in))

    def _before(self, answer: Change) -> Release:
        earlier = answer.before.presenter
        assert isinstance(earlier, Release), "both answers of a change come from releases of this class"
        return earlier

    def _finish_answer(self, answer: Answer, errors: bool) -> Answer:
        return replace(super()._finish_answer(answer, errors), presenter=self)

    def __reduce__(self) -> tuple[Callable[..., Release], tuple[Path]]:
        return Release.open, (self.store.path,)  # another process opens its own copy

    def __repr__(self) -> str:
        return f"<commutemap release {self.title!r}, version {self.version}>"


open_release = Release.open


def _check_field(name: str, value: object) -> FieldValue:
    try:
        return VIEW[name].check(value)
    except NotAllowed as error:
        raise UsageError(f"{name} {str(value)[:40]!r}: give {error}") from None


# Answers in a notebook: pandas and GeoPandas frames, maps, and HTML. Users import this from `commutemap`.
