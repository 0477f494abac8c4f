"""A release for Python users, whose answers convert to frames, maps and HTML."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from mapapp.answers import release
from mapapp.answers.asking import question_of
from mapapp.answers.findings import findings
from mapapp.answers.map_image import MapImage
from mapapp.answers.results import Change, Result
from mapapp.base.errors import UsageError
from mapapp.files.notebook.frames import frame_of, geodataframe_of
from mapapp.question.fields import VIEW, FieldValue, NotAllowed
from mapapp.question.view import View

if TYPE_CHECKING:
    from collections.abc import Callable

    import geopandas
    import pandas

    from mapapp.answers.opened_release import Answer


class Release(release.Release):
    """A verified release that answers questions. It is safe to use from several threads. See :func:`open_release`.

    Its answers have `to_frame`, `to_geodataframe` and `plot`, and notebooks show them as tables.
    """

    def findings(self, answer: Result) -> tuple[str, ...]:
        """Return what an answer found; see `Result.findings`."""
        return findings(answer)

    def frame(self, answer: Result, table: str = "", about: bool = False) -> pandas.DataFrame:
        """Return a table of an answer as a DataFrame; see `Result.to_frame`."""
        return frame_of(answer, table, about=about)

    def geodataframe(self, answer: Result, about: bool = False) -> geopandas.GeoDataFrame:
        """Return an answer with its geometry; see `Result.to_geodataframe`."""
        return geodataframe_of(self, answer, about=about)

    def html(self, answer: Result) -> str:
        """Return the notebook view of an answer: key numbers, first rows, notes and the promise."""
        from mapapp.files.notebook.html import (
            html_of,
        )  # imports reports and matplotlib, which takes half a second

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
        from mapapp.drawing.map_content import MapContent
        from mapapp.drawing.paper import map_picture, map_words

        view = View(**{name: _checked(name, value) for name, value in (("show", show), ("theme", theme))})
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

    def _answered(self, answer: Answer, errors: bool) -> Answer:
        return replace(super()._answered(answer, errors), presenter=self)

    def __reduce__(self) -> tuple[Callable[..., Release], tuple[Path]]:
        return Release.open, (self.store.path,)  # another process opens its own copy

    def __repr__(self) -> str:
        return f"<commutemap release {self.title!r}, version {self.version}>"


open_release = Release.open


def _checked(name: str, value: object) -> FieldValue:
    try:
        return VIEW[name].check(value)
    except NotAllowed as error:
        raise UsageError(f"{name} {str(value)[:40]!r}: give {error}") from None
