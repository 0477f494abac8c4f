"""The types of answers: plain values that pages, reports, the command line and Python share.

Every analysis is a method of :class:`mapapp.answers.release.Release` and returns one of the types below. All of them
are frozen dataclasses with

- ``about``: the release, area, side and workers of the answer, and every note that readers must see with it;
- numbers as `Number` fields of `mapapp.answers.analyses.measures`: ``value``, ``expected_error`` (None if unknown) and
  ``caution``; distances as `Miles`, ratios as `Ratio`;
- tables as pandas frames with **every** row, sorted for reading. In a table of workers, the columns that identify a row
  are followed by ``workers`` (int), ``share`` (0..1 of what the title says), ``expected_error`` (workers, NaN if
  unknown) and ``caution`` (see `mapapp.answers.analyses.measures.caution`);
- ``tables()``: the same frames by name, the main one first, for exports that work with any analysis;
- ``findings()``: what the answer found, in two or three sentences;
- ``to_dict()``: everything as plain JSON values.

Answers come without expected errors, which take longer: ``release.with_errors(answer, rows)`` returns the same answer
with errors for its numbers and for the first `rows` rows of its tables. So a page can show the answer first and the
errors later::

    answer = release.inflow_outflow("county:44007", Filters(age=(1,)))
    answer.inflow.value, answer.inflow.caution
    answer = release.with_errors(answer, rows=20)
    answer.inflow.expected_error
    for row in answer.segments.itertuples(): ...

A figure is made from ``answer.groups`` without another query. `mapapp.answers.analyses.short_tables.shortened` shortens
a table for display and adds an "all other" row; exports always have every row.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol, TypeAlias, TypeVar

import pandas

from geodata.json_objects import JsonObject
from mapapp.answers.analyses.about import About
from mapapp.answers.analyses.comparison_words import ComparisonWords, comparison_words
from mapapp.answers.analyses.measures import MEASURES, Miles, Number, Value
from mapapp.answers.map_image import MapImage
from mapapp.answers.publication import is_published
from mapapp.answers.release_names import names_apart
from mapapp.base.errors import UsageError
from mapapp.question.analyses import Show
from mapapp.question.fields import Theme

if TYPE_CHECKING:
    import geopandas

Kind = Literal["unit", "elsewhere", "none", "other"]
"""What a row of a table by area is: a unit of the layer; a whole state outside the imported area; workers whose block
is in no unit of the layer; or all omitted rows together."""

WORKER_COLUMNS: Final = ("workers", "share", "expected_error", "caution")
"""The last columns of every table of workers."""


NumbersOfSeveral: TypeAlias = dict[str, Any]
"""Numbers by name, each with its values in the answers of several releases."""

NUMBERS: Final = "numbers"
"""An additional table that every answer has: one row with all its numbers, or a row for each number and year."""

_NO_VALUES: Final = ("about", "presenter")
"""Fields that describe an answer and are not part of its values."""


class Presenter(Protocol):
    """Shows answers as sentences, frames, maps and HTML: a release opened with `commutemap.open_release`."""

    def findings(self, answer: Result) -> tuple[str, ...]:
        """Return what the answer found, in sentences."""
        ...

    def frame(self, answer: Result, table: str, about: bool) -> pandas.DataFrame:
        """Return a table as a pandas DataFrame."""
        ...

    def geodataframe(self, answer: Result, about: bool) -> geopandas.GeoDataFrame:
        """Return the rows with a geometry as a GeoPandas GeoDataFrame."""
        ...

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
        """Draw the map."""
        ...

    def html(self, answer: Result) -> str:
        """Return HTML for a notebook."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """The common part of all answers.

    Attributes
    ----------
    about : About
    presenter : Presenter or None
        Shows the answer; None on pages and in reports, which have their own display.
    """

    about: About
    presenter: Presenter | None = dataclasses.field(default=None, repr=False, compare=False)

    @property
    def has_several(self) -> bool:
        """Whether it puts the answers of several releases side by side."""
        return False

    def to_frame(self, table: str = "", *, about: bool | None = None) -> pandas.DataFrame:
        """Return one table as a pandas DataFrame with every row.

        Parameters
        ----------
        table : str
            One of `tables()`, or ``numbers`` for one row with all numbers; the main table by default.
        about : bool
            Whether to add release, year, area and side as first columns, so that frames of several answers can be
            concatenated. By default, only the table ``numbers`` has them, because its row has no other name.

        Raises
        ------
        UsageError
            If the answer does not have that table.
        """
        return self._presenter().frame(self, table, table == NUMBERS if about is None else about)

    def to_geodataframe(self, *, about: bool = False) -> geopandas.GeoDataFrame:
        """Return the answer as a GeoPandas GeoDataFrame in EPSG:4326.

        Rows are units with their outlines. For a flow matrix, they are flows as lines between the middles of units; for
        an answer without units, one row of numbers with the outline of the area. Rows without a place, such as homes
        outside the imported area, have no geometry.

        Parameters
        ----------
        about : bool
            Whether to add release, year, area and side as first columns.

        Raises
        ------
        UsageError
            If the answer is a change of something other than units.
        """
        return self._presenter().geodataframe(self, about)

    def plot(
        self,
        show: Show = "points",
        *,
        layer: str = "",
        theme: Theme = "light",
        size_in: tuple[float, float] = (7.5, 7.0),
        scale: int = 2,
        form: Literal["png", "svg"] = "png",
        title: str = "",
    ) -> MapImage:
        """Draw the map of a report; notebooks display it.

        Parameters
        ----------
        show : {"points", "areas", "density", "lines"}
            How to draw workers, if the analysis allows it; else its first way is used.
        layer : str
            Layer of the colored units if `show` is ``areas``; by default the answer's layer, or census tracts.
        theme : {"light", "dark"}
        size_in : tuple of float
            Width and height, inches.
        scale : int
            1 to 4; at 1 a PNG has 96 pixels per inch.
        form : {"png", "svg"}
        title : str
            Title above the map, in place of the analysis and the area.

        Raises
        ------
        UsageError
            If an argument is not allowed.
        """
        return self._presenter().map_image(
            self, show=show, layer=layer, theme=theme, size_in=size_in, scale=scale, form=form, title=title
        )

    def _repr_html_(self) -> str | None:
        return None if self.presenter is None else self.presenter.html(self)

    def _presenter(self) -> Presenter:
        if self.presenter is None:
            raise UsageError(
                "this answer's release was not opened with commutemap.open_release; open it with that and ask again"
            )
        return self.presenter

    def numbers(self) -> dict[str, Value]:
        """Return numbers by name: :class:`Number`, :class:`Miles`, :class:`Ratio`, or a plain share or None."""
        return {
            name: value
            for name, value in self._fields()
            if value is None or isinstance(value, (*MEASURES, int, float))
        }

    def tables(self) -> dict[str, pandas.DataFrame]:
        """Return tables by name, the main one first."""
        return {name: value for name, value in self._fields() if isinstance(value, pandas.DataFrame)}

    def findings(self) -> tuple[str, ...]:
        """Return what the answer found, in two or three sentences; they say more of an answer with expected errors.

        Raises
        ------
        UsageError
            If its release was not opened with `commutemap.open_release`; `mapapp.answers.findings.findings` works
            without.
        """
        return self._presenter().findings(self)

    def to_dict(self) -> JsonObject:
        """Return everything as plain JSON values: ``about``, ``findings``, then each field; tables as lists of rows."""
        return self.with_findings(self.findings())

    def with_findings(self, findings: Sequence[str]) -> JsonObject:
        """Return what :meth:`to_dict` returns, with these findings."""
        fields = {name: _plain(value) for name, value in self._fields()}
        return {"about": _plain(self.about.to_dict()), "findings": list(findings)} | fields

    def _fields(self) -> list[tuple[str, object]]:
        return [
            (field.name, getattr(self, field.name))
            for field in dataclasses.fields(self)
            if field.name not in _NO_VALUES
        ]


@dataclass(frozen=True, slots=True, kw_only=True)
class AreaProfile(Result):
    """Workers or residents of an area, by characteristic.

    Attributes
    ----------
    workers : Number
    bands : DataFrame
        ``characteristic`` ("age", "earnings", "industry"), ``band`` (1..3), ``label``, and worker columns: nine rows.
        Shares are within each characteristic.
    segments : DataFrame
        ``age``, ``earnings``, ``industry`` (1..3), ``label``, and worker columns: all 27 joint segments.
    margins : DataFrame
        The same columns for two characteristics together: 27 rows, with band 0 for every band of the third.
    attributes : DataFrame
        ``attribute``, ``title``, ``code``, ``label``, and worker columns: a row for each value of each further
        attribute of worker records; shares are within each attribute. Without rows for a release, and then not among
        `tables()`.
    """

    workers: Number
    bands: pandas.DataFrame
    segments: pandas.DataFrame
    margins: pandas.DataFrame
    attributes: pandas.DataFrame = dataclasses.field(default_factory=pandas.DataFrame)

    def _fields(self) -> list[tuple[str, object]]:
        fields = Result._fields(self)
        return fields if len(self.attributes) else [field for field in fields if field[0] != "attributes"]


@dataclass(frozen=True, slots=True, kw_only=True)
class AreaComparison(Result):
    """A comparison of the units of a layer within an area.

    Attributes
    ----------
    layer : str
        A key of `mapapp.answers.areas.levels.LEVEL_LABELS`.
    workers : Number
        All workers.
    units : DataFrame
        ``unit_id``, ``name``, ``kind``, ``partly`` (only some of the unit's blocks are in the area), worker columns,
        and a column of workers for each band: ``age_1`` … ``industry_3``. Most workers first.
    """

    layer: str
    workers: Number
    units: pandas.DataFrame


@dataclass(frozen=True, slots=True, kw_only=True)
class Destinations(Result):
    """Where the other ends of an area's commutes are.

    Attributes
    ----------
    layer : str
        Layer of the rows.
    workers : Number
    units : DataFrame
        ``unit_id``, ``name``, ``kind``, ``lon_deg``, ``lat_deg`` (mean place of the other ends; NaN for
        blocks in no unit) and
        worker columns. Most workers first; every row.
    """

    layer: str
    workers: Number
    units: pandas.DataFrame


@dataclass(frozen=True, slots=True, kw_only=True)
class DistanceDirection(Result):
    """Distances and directions from the area's end of a commute to its other end.

    Attributes
    ----------
    workers : Number
    median_mi : Miles
        Median distance between internal points; for an even number of workers, the mean of the two middle
        distances.
    mean_under_100_mi : Miles
        Mean of the commutes shorter than 100 miles. A home outside the imported area counts as the middle of its
        state here, too.
    edges_mi : tuple of float
        Edges between bands; an edge belongs to the upper band.
    cells : DataFrame
        ``band`` (0..), ``band_label``, ``direction`` ("N", "NE", … or "" if both ends are one place),
        and worker columns: every combination, including empty ones.
    bands, directions : DataFrame
        The margins of `cells`: ``band``, ``label``, or ``direction``, ``label``, and worker columns.
    """

    workers: Number
    median_mi: Miles
    mean_under_100_mi: Miles
    edges_mi: tuple[float, ...]
    cells: pandas.DataFrame
    bands: pandas.DataFrame
    directions: pandas.DataFrame


@dataclass(frozen=True, slots=True, kw_only=True)
class InflowOutflow(Result):
    """Workers who enter an area, leave it, or stay in it.

    Attributes
    ----------
    inflow, outflow, stay : Number
        Workers in the area who live outside; residents who work outside; workers who live and work in it.
    employed, living : Number
        inflow + stay, and outflow + stay.
    net_inflow : Number
        inflow - outflow, so employed - living.
    stay_of_living, stay_of_employed : float or None
        Self-containment: share of residents who work in the area, and share of its workers who live there.
    groups : DataFrame
        ``group`` ("inflow", "outflow", "stay"), ``label``, and worker columns; shares are of all three together.
    segments : DataFrame
        ``group``, ``characteristic``, ``band``, ``label``, and worker columns: 27 rows; shares are within each group.
    """

    inflow: Number
    outflow: Number
    stay: Number
    employed: Number
    living: Number
    net_inflow: Number
    stay_of_living: float | None
    stay_of_employed: float | None
    groups: pandas.DataFrame
    segments: pandas.DataFrame


@dataclass(frozen=True, slots=True, kw_only=True)
class PairedAreas(Result):
    """Workers who live in one area and work in another.

    Attributes
    ----------
    home_area, work_area : str
        In words.
    workers : Number
    living, employed : Number
        All residents of the home area, and all workers of the work area.
    share_of_living, share_of_employed : float or None
        The pair's share of each of them.
    median_mi : Miles
        As in :class:`DistanceDirection`.
    bands : DataFrame
        As in :class:`AreaProfile`.
    distances : DataFrame
        ``band``, ``label``, and worker columns.
    edges_mi : tuple of float
        Edges of the distance bands, miles.
    """

    home_area: str
    work_area: str
    workers: Number
    living: Number
    employed: Number
    share_of_living: float | None
    share_of_employed: float | None
    median_mi: Miles
    bands: pandas.DataFrame
    distances: pandas.DataFrame
    edges_mi: tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowMatrix(Result):
    """Workers from every unit of one layer to every unit of another.

    Attributes
    ----------
    home_layer, work_layer : str
    workers : Number
    cells : DataFrame
        ``home_id``, ``home_name``, ``home_kind``, ``work_id``, ``work_name``, ``work_kind`` and worker columns; most
        workers first, only cells with workers. `Release.flow_matrix_parts` yields them in parts instead.
    homes, works : DataFrame
        The margins: ``unit_id``, ``name``, ``kind``, ``lon_deg``, ``lat_deg``, and worker columns; most first.
    """

    home_layer: str
    work_layer: str
    workers: Number
    cells: pandas.DataFrame
    homes: pandas.DataFrame
    works: pandas.DataFrame

    def wide(self, limit: int | None = None) -> pandas.DataFrame:
        """Return a matrix of homes (rows) by workplaces (columns); at most the `limit` largest units of each."""
        homes, works = (margin["unit_id"].iloc[: limit or None] for margin in (self.homes, self.works))
        table = self.cells.pivot_table(index="home_id", columns="work_id", values="workers", aggfunc="sum")
        return table.reindex(index=homes, columns=works).fillna(0).astype("int64")


@dataclass(frozen=True, slots=True, kw_only=True)
class Change(Result):
    """The change of an answer from an earlier to a later release, or the difference of two releases of one year.

    Attributes
    ----------
    before, after : Result
        The two answers.
    rows : DataFrame
        The names of the main table's rows, ``before``, ``after``, ``change`` (workers, or the measure that the analysis
        declares), ``change_share`` (of before; NaN if that is 0), ``expected_error`` (of the change) and ``caution``
        (of the smaller count, or why a ratio has no change).
    sizes : DataFrame, optional
        What protection costs: if one of the two counts workers as published and the other has synthetic ones, the
        differences by the size of the published count. See `mapapp.answers.analyses.protection_cost`.
    """

    before: Result
    after: Result
    rows: pandas.DataFrame
    sizes: pandas.DataFrame | None = None

    @property
    def has_several(self) -> bool:
        """Whether it puts the answers of several releases side by side."""
        return True

    @property
    def names(self) -> tuple[str, str]:
        """Distinct names of the two releases, in their order."""
        abouts = (self.before.about, self.after.about)
        earlier, later = names_apart([(about.release, about.promise, about.version) for about in abouts])
        return earlier, later

    @property
    def words(self) -> ComparisonWords:
        """What the comparison is called."""
        return comparison_words(self.before.about.year, self.after.about.year)

    def numbers(self) -> NumbersOfSeveral:
        """Return the numbers of both answers and their difference.

        Returns
        -------
        dict
            ``name``: {"before", "after", "change", "expected_error"}; the error is that of the change, None if
            unknown.
        """
        later, public = self.after.numbers(), published_sides(self.before, self.after)
        return {
            name: {"before": _value(number), "after": _value(later.get(name))}
            | {"change": _difference(_value(number), _value(later.get(name)))}
            | {"expected_error": error_of_change(number, later.get(name), public)}
            for name, number in self.before.numbers().items()
        }

    def with_findings(self, findings: Sequence[str]) -> JsonObject:
        """Return the change; of the two answers themselves only ``about``."""
        return {
            "about": _plain(self.about.to_dict()),
            "findings": list(findings),
            "before": _plain(self.before.about.to_dict()),
            "after": _plain(self.after.about.to_dict()),
            "numbers": _plain(self.numbers()),
            "rows": _plain(self.rows),
            **({} if self.sizes is None else {"sizes": _plain(self.sizes)}),
        }


def published_sides(before: Result, after: Result) -> tuple[bool, bool]:
    """Return which side of a comparison with synthetic workers was published as it is, and so has no error there."""
    first, second = (is_published(answer.about.promise) for answer in (before, after))
    return first and not second, second and not first


_Answer = TypeVar("_Answer", bound=Result)


def replace_fields(answer: _Answer, changed: Mapping[str, object]) -> _Answer:
    """Return an answer with other values in the fields of these names."""
    fields: Mapping[str, Any] = changed  # which fields an answer has depends on its analysis
    return dataclasses.replace(answer, **fields)


def check_answers(*answers: object) -> None:
    """Raise UsageError if an argument is not an answer."""
    for answer in answers:
        if not isinstance(answer, Result):
            raise UsageError(
                f"{str(answer)[:60]!r} is not an answer; give the result of an analysis of a release"
            )


def _value(number: Value) -> float | None:
    return number.value if isinstance(number, MEASURES) else number


def error_of_change(before: Value, after: Value, public: tuple[bool, bool]) -> float | None:
    """Return the expected error of a change; None if that of a side is unknown. `public`: see `published_sides`."""
    return error_of_both([getattr(number, "expected_error", None) for number in (before, after)], public)


def error_of_both(known: Sequence[float | None], public: tuple[bool, bool]) -> float | None:
    """Return the same from the errors of the two sides."""
    errors = [0.0 if is_public else error for error, is_public in zip(known, public, strict=True)]
    return None if None in errors else math.hypot(*filter(None, errors))


def _difference(before: float | None, after: float | None) -> float | None:
    return None if before is None or after is None else after - before


def _plain(value: object) -> object:
    """Return JSON values: NaN becomes null, frames become lists of rows."""
    if isinstance(value, pandas.DataFrame):
        columns = {name: [_plain(item) for item in value[name].tolist()] for name in value.columns}
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    if isinstance(value, MEASURES):
        return value.to_dict()
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
