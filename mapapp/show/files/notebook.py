"""A release for Python users, whose answers convert to frames, maps and HTML."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

import geopandas
import numpy as np
import pandas
import shapely

from mapapp.answers import release
from mapapp.answers.analyses.results import NUMBERS, Change, Result
from mapapp.answers.areas.sentence_names import why_not_understood
from mapapp.answers.asking import answers, asked_in, question_of
from mapapp.answers.errors.answer_errors import ROWS
from mapapp.answers.findings.findings import findings, standings
from mapapp.answers.map_image import MapImage
from mapapp.answers.release import Release as ServedRelease
from mapapp.base.errors import UsageError
from mapapp.question.analyses import ANALYSES
from mapapp.question.fields import VIEW, FieldValue, NotAllowed
from mapapp.question.options import OPTIONS, questions_from
from mapapp.question.question import Question, Questions
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


class Answers(tuple[Result, ...]):
    """Answers to one question about several areas, in the order of the areas."""

    __slots__ = ()

    def to_frame(self, table: str = NUMBERS) -> pandas.DataFrame:
        """Return one table of all answers as one frame; release, year, area and side are its first columns.

        Parameters
        ----------
        table : str
            As of `Result.to_frame`; by default ``numbers``, with one row for each area.

        Raises
        ------
        UsageError
            If the answers do not have that table.
        """
        if not self:
            raise UsageError("there are no answers: the area has no unit of that layer")
        return pandas.concat([answer.to_frame(table, about=True) for answer in self], ignore_index=True)

    def to_geodataframe(self) -> geopandas.GeoDataFrame:
        """Return the rows of all answers with their shapes, as `Result.to_geodataframe` does, in EPSG:4326."""
        return pandas.concat([answer.to_geodataframe(about=True) for answer in self], ignore_index=True)

    def __repr__(self) -> str:
        return f"<{len(self)} answers: {self[0].about.title}>" if self else "<no answers>"

    def _repr_html_(self) -> str:
        return self.to_frame().to_html(index=False, na_rep="")


class Release(release.Release):
    """A verified release that answers questions. It is safe to use from several threads. See :func:`open_release`.

    Its answers have `to_frame`, `to_geodataframe` and `plot`, and notebooks show them as tables.
    """

    def ask(self, sentence: str, *, errors: bool = False) -> Result:
        """Answer a question that is asked in plain English, as `commutemap ask` does.

        Parameters
        ----------
        sentence : str
            Such as "Where do low-wage workers of Newport live, by town?"
        errors : bool
            Whether the numbers and the first rows have expected errors.

        Raises
        ------
        UsageError
            If nothing in the sentence is understood, or it is about another year or several.

        Warns
        -----
        UserWarning
            If words were not understood, or something was assumed.

        Examples
        --------
        >>> answer = release.ask("inflow of Tarnwick")
        >>> answer.about.analysis
        'inflow-outflow'
        """
        question = self._question_of(sentence)
        (answer,) = answers(self, question, ROWS if errors else None)
        return replace(answer, presenter=self)

    def answers(self, question: str, *, each: str = "", errors: bool = False, **options: object) -> Answers:
        """Answer one question about several areas, as `commutemap analyze` does.

        Parameters
        ----------
        question : str
            A sentence; or the name of an analysis, such as "inflow-outflow", which takes the options.
        each : str
            Layer, by key or everyday word: each of its units within the area gets an answer.
        errors : bool
            Whether the numbers and the first rows have expected errors.
        **options
            Those of `commutemap analyze` that describe a question, with underscores: `area` (one, or a list), `side`,
            `layer`, `age` (such as ``(1, 2)``), `home_area`, and so on; `within` is in miles.

        Raises
        ------
        UsageError, GeometryError
            If the question, an option, an area, or a layer does not exist.

        Examples
        --------
        >>> counties = release.answers("inflow-outflow", each="county").to_frame()
        >>> counties["area"].tolist()[:2]
        ['Lantern County', 'Quarrel County']
        """
        if question in ANALYSES:
            several = questions_from(_option_values(options) | {"each": each}, question)
        elif options:
            raise UsageError(
                f"{next(iter(options))}: a sentence says this itself; or give the name of an analysis"
            )
        else:
            asked = self._question_of(question)
            several = Questions(question=asked, areas=(asked.area,), each=each)
        return Answers(
            replace(answer, presenter=self) for answer in answers(self, several, ROWS if errors else None)
        )

    def _question_of(self, sentence: str) -> Question:
        asked = asked_in(self, sentence)
        if asked.is_empty:
            raise UsageError(why_not_understood(self.areas))
        if asked.against_year is not None:
            raise UsageError(
                "this asks about two years; ask each release, and compare with commutemap.change"
            )
        if asked.year not in (None, self.year):
            raise UsageError(
                f"this release is of {self.year}, not {asked.year}; open the release of that year"
            )
        unknown = [f"“{words[:60]}” was not understood and was left out." for words in asked.unknown]
        for note in (*asked.notes, *unknown):
            warnings.warn(note, UserWarning, stacklevel=3)  # points to the call of the release's method
        return asked.question

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


def _option_values(options: Mapping[str, object]) -> dict[str, object]:
    """Return options as `questions_from` takes them; UsageError for one that does not exist."""
    values = {name.replace("_", "-"): value for name, value in options.items()}
    for name in values:
        if name not in OPTIONS:
            known = ", ".join(option.replace("-", "_") for option in OPTIONS)
            raise UsageError(f"option {name[:40]!r} does not exist; choose from {known}")
    if isinstance(values.get("area"), str):
        values["area"] = [values["area"]]
    return values


def _check_field(name: str, value: object) -> FieldValue:
    try:
        return VIEW[name].check(value)
    except NotAllowed as error:
        raise UsageError(f"{name} {str(value)[:40]!r}: give {error}") from None


# Answers in a notebook: pandas and GeoPandas frames, maps, and HTML. Users import this from `commutemap`.
