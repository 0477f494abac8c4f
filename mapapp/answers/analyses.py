"""The analyses, as methods of a release. They return the types of `mapapp.answers.results`."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from typing import Final, Self, TypeVar, cast

import numpy as np
import numpy.typing as npt
import pandas

from geodata.json_objects import JsonObject
from geodata.progress import Progress, silent
from geodata.store import Store, store_digest
from mapapp.answers import counted, words
from mapapp.answers.about import About, Note, edge_notes, far_notes
from mapapp.answers.answer_errors import ROWS
from mapapp.answers.area_argument import Given, select_given
from mapapp.answers.areas import Areas, level_named
from mapapp.answers.cells import Cells
from mapapp.answers.certificate_reader import promise_of, read_certificate
from mapapp.answers.counted import band_sums, most_first
from mapapp.answers.cross_table import (
    USUAL_ATTRIBUTES,
    CrossTable,
    attribute_rows,
    cell_rows,
    chosen_attributes,
    total_rows,
)
from mapapp.answers.flows import Flows, Pick
from mapapp.answers.job_balance import JobBalance, balance_units, notes_on, ratio_of
from mapapp.answers.layer_units import LayerUnits
from mapapp.answers.measures import Miles
from mapapp.answers.picks import CellPicks, by_unit
from mapapp.answers.place_characteristics import AreaCharacteristics, PlaceCharacteristics
from mapapp.answers.prepared import DIRECTIONS, prepare
from mapapp.answers.publication import RELEASED, open_publication
from mapapp.answers.publication_errors import errors_of
from mapapp.answers.records.certificate import edge_cautions, read_attributes
from mapapp.answers.results import (
    AreaComparison,
    AreaProfile,
    Destinations,
    DistanceDirection,
    FlowMatrix,
    InflowOutflow,
    PairedAreas,
    Result,
    check_answers,
)
from mapapp.answers.selection import Selected
from mapapp.answers.unit_names import state_names
from mapapp.answers.words import coverage
from mapapp.errors import UsageError
from mapapp.question.analyses import ANALYSES
from mapapp.question.distance_bands import EDGES_MI, band_labels, check_edges
from mapapp.question.fields import USUAL, Side
from mapapp.question.filters import BANDS, CHARACTERISTICS, Filters
from mapapp.question.question import EVERYTHING, OTHER_END

Answer = TypeVar("Answer", bound=Result)

ALL_WORKERS: Final = Filters()
COVERAGE: Final = "coverage"
"""Code of the note that residents who work in other states are not counted."""
GROUPS: Final = {
    "inflow": "Work here, live elsewhere",
    "outflow": "Live here, work elsewhere",
    "stay": "Live and work here",
}


class Release:
    """A verified release and its analyses; safe to use from several threads at once.

    Parameters
    ----------
    store : Store
        The release's store; :meth:`open` opens it.
    report : callable
        Called with (stage, done, total) while the release is prepared, once per machine.
    """

    def __init__(self, store: Store, *, report: Progress = silent) -> None:
        self.store = store
        self.facts: JsonObject = store.manifest
        self.certificate: JsonObject = read_certificate(store)
        self.digest = store_digest(store.path)
        self.version = self.digest[:12]
        self.attributes = read_attributes(store, self.certificate)
        prepared = prepare(store, report=report)
        self._lease = prepared.lease
        self.areas = Areas(store, Cells(prepared.cells), prepared.folder)
        self.outlines = self.areas.outlines
        self.flows = Flows(prepared, store, self.attributes)
        self._characteristics = PlaceCharacteristics(store)
        self.errors = errors_of(store, self.areas, self.flows, self.certificate)

    @classmethod
    def open(cls, path: str | os.PathLike[str], *, report: Progress = silent) -> Self:
        """Open a release, verify it, and prepare it for questions. The preparation is cached on this machine.

        Parameters
        ----------
        path : str or path
            Directory of the release; a dataset is refused.
        report : callable
            Called with (stage, done, total).

        Raises
        ------
        StoreError
            If it is not a complete, unaltered release.
        UsageError
            If the path is not a path.
        """
        return cls(open_publication(path, *RELEASED), report=report)

    @property
    def title(self) -> str:
        """Title for readers, with the year."""
        title = str(self.facts.get("title") or self.store.path.name)
        return title if not self.year or self.year in title else f"{title}, {self.year}"

    @property
    def year(self) -> str:
        """Year of the jobs; empty if the release does not state it."""
        return str(self.facts.get("year") or "")

    @property
    def job_type(self) -> str:
        """LODES code of the job type, such as JT00; empty if the release does not state it."""
        return str(self.facts.get("job_type") or "")

    def warm(self, layers: Sequence[str] = ()) -> None:
        """Read in advance what the first questions need: the units of some layers, and the bounds of cells.

        By default, the layers are those that are usual where everything is shown.
        """
        for layer in layers or (self.areas.usual.of("work"), self.areas.usual.named):
            self.areas.units(layer)
        _ = self.areas.place_index
        self.areas.cells.warm()

    def profile(
        self,
        area: Given = EVERYTHING,
        filters: Filters = ALL_WORKERS,
        *,
        side: Side = "work",
        errors: bool = False,
    ) -> AreaProfile:
        """Count the people who work (side "work") or live (side "home") in an area, by characteristic.

        Parameters
        ----------
        area : str, polygon or sequence
            An area as text, such as ``county:44007``; the name of a unit; a polygon in degrees; or a list, which is the
            union of its areas. See `mapapp.answers.area_argument`. All analyses take areas in these forms.
        filters : Filters
            Which workers to count.
        side : {"work", "home"}
            Whether the workers work or live in the area.
        errors : bool
            Whether the answer has the expected errors of its numbers and of the first rows of its tables
            (:meth:`with_errors`). All analyses take it.

        Raises
        ------
        UsageError, GeometryError
            If this release does not have the area, or an argument is not allowed. All analyses raise these.
        """
        chosen = self._select(area)
        counts = self.flows.by_segment(Pick.at(side, chosen.blocks, filters))
        answer = AreaProfile(
            about=self._about("profile", chosen, filters, side),
            workers=counted.number(int(counts.sum())),
            bands=counted.bands(counts),
            segments=counted.segments(counts),
            margins=counted.margins(counts),
            attributes=self._by_attribute(Pick.at(side, chosen.blocks, filters)),
        )
        return self._answered(answer, errors)

    def characteristics(self, area: Given = EVERYTHING, *, side: Side = "work") -> AreaCharacteristics | None:
        """Return what LODES publishes about all jobs in an area, or of its residents (side "home").

        The release has these counts only if its dataset was imported with public characteristics; else None. They are
        not drawn, and cannot be filtered.
        """
        return self._characteristics.of(self._select(area), side)

    def cross_table(
        self,
        area: Given = EVERYTHING,
        by: Sequence[str] = USUAL_ATTRIBUTES,
        filters: Filters = ALL_WORKERS,
        *,
        side: Side = "work",
        errors: bool = False,
    ) -> CrossTable:
        """Count the people who work or live in an area, by one to three attributes together.

        Parameters
        ----------
        by : sequence of str
            Names of attributes: age, earnings, industry, and for worker records those of `attributes`.

        Raises
        ------
        UsageError
            Also if an attribute does not exist or is given twice, or the table would have too many cells.
        """
        chosen = self._select(area)
        attributes = chosen_attributes(self.attributes, by)
        counts = self.flows.by_values(
            Pick.at(side, chosen.blocks, filters), [each.name for each in attributes]
        )
        answer = CrossTable(
            about=self._about(
                "cross-table", chosen, filters, side, edge_cautions(self.certificate, attributes)
            ),
            by=tuple(each.name for each in attributes),
            attributes=attributes,
            workers=counted.number(int(counts.sum())),
            cells=cell_rows(attributes, counts),
            totals=total_rows(attributes, counts),
        )
        return self._answered(answer, errors)

    def _by_attribute(self, pick: Pick) -> pandas.DataFrame:
        """Return the workers of a pick by the values of every further attribute."""
        further = self.attributes.further
        return attribute_rows([(each, self.flows.by_values(pick, [each.name])) for each in further])

    def comparison(
        self,
        area: Given = EVERYTHING,
        filters: Filters = ALL_WORKERS,
        *,
        side: Side = "work",
        layer: str = USUAL,
        errors: bool = False,
    ) -> AreaComparison:
        """Compare the units of a layer that have blocks in an area; only those blocks are counted."""
        chosen = self._select(area)
        units = self._layer(layer, side, here=chosen)
        block, segment, n = self.flows.by_block_and_segment(Pick.at(side, chosen.blocks, filters), side)
        by_segment = np.zeros((len(units.rows), 27), dtype=np.int64)
        np.add.at(by_segment, (units.code[block], segment), n)
        bands = band_sums(by_segment)
        names = [f"{name}_{band}" for name in CHARACTERISTICS for band in BANDS]
        mine = units.code if chosen.blocks is None else units.code[chosen.blocks]
        n_mine = np.bincount(mine, minlength=len(units.rows))
        rows = units.rows[["unit_id", "name", "kind"]].assign(
            partly=n_mine < units.rows["n_blocks"],
            **counted.columns(by_segment.sum(axis=1), int(n.sum())),
            **dict(zip(names, bands.T, strict=True)),
        )
        answer = AreaComparison(
            about=self._about("comparison", chosen, filters, side),
            layer=units.level,
            workers=counted.number(int(n.sum())),
            units=most_first(rows[n_mine > 0], "unit_id"),
        )
        return self._answered(answer, errors)

    def destinations(
        self,
        area: Given = EVERYTHING,
        filters: Filters = ALL_WORKERS,
        *,
        side: Side = "work",
        layer: str = USUAL,
        errors: bool = False,
    ) -> Destinations:
        """Count the other ends of an area's commutes: its workers' homes (side "work") or its residents' workplaces."""
        chosen = self._select(area)
        units = self._layer(layer, OTHER_END[side], there=chosen)
        found = units.of(*self.flows.by_block(Pick.at(side, chosen.blocks, filters), OTHER_END[side]))
        table = counted.unit_table(units, found)
        answer = Destinations(
            about=self._about("destinations", chosen, filters, side, far_notes(table)),
            layer=units.level,
            workers=counted.number(int(found.sum())),
            units=table,
        )
        return self._answered(answer, errors)

    def distance_direction(
        self,
        area: Given = EVERYTHING,
        filters: Filters = ALL_WORKERS,
        *,
        side: Side = "work",
        edges_mi: Sequence[float] = EDGES_MI,
        errors: bool = False,
    ) -> DistanceDirection:
        """Count an area's commutes by distance and direction to their other ends.

        Raises
        ------
        UsageError
            Also if the edges do not increase from above 0, or there are more than 20.
        """
        edges = check_edges(edges_mi)
        chosen = self._select(area)
        pick = Pick.at(side, chosen.blocks, filters)
        found = self.flows.distances(pick, side, edges, own_block=False)
        n = int(found.workers.sum())
        labels, directions = band_labels(edges), words.DIRECTION_NAMES.values()
        cells = pandas.DataFrame(
            [(band, labels[band], direction) for band in range(len(labels)) for direction in DIRECTIONS],
            columns=["band", "band_label", "direction"],
        ).assign(**counted.columns(found.workers.ravel(), n))
        notes = (
            Note(
                "internal-points",
                "Distances and directions are measured between internal points of blocks; "
                "a home outside the imported area counts as the middle of its state.",
            ),
        )
        answer = DistanceDirection(
            about=self._about("distance-direction", chosen, filters, side, notes),
            workers=counted.number(n),
            median_mi=Miles(self.flows.median_mi(pick)),
            mean_under_100_mi=Miles(found.mean_near_mi),
            edges_mi=edges,
            cells=cells,
            bands=counted.labeled("band", range(len(labels)), labels, found.workers.sum(axis=1)),
            directions=counted.labeled("direction", DIRECTIONS, directions, found.workers.sum(axis=0)),
        )
        return self._answered(answer, errors)

    def inflow_outflow(
        self, area: Given, filters: Filters = ALL_WORKERS, *, errors: bool = False
    ) -> InflowOutflow:
        """Count the workers who enter an area to work, leave it to work, or live and work in it."""
        chosen = self._select(area)
        blocks = _blocks(chosen, len(self.areas.places))
        inflow, stay = self.flows.by_segment_within(Pick(work=blocks, filters=filters), "home", blocks)
        outflow = self.flows.by_segment_within(Pick(home=blocks, filters=filters), "work", blocks)[0]
        counts = {"inflow": inflow, "outflow": outflow, "stay": stay}
        n = {name: int(each.sum()) for name, each in counts.items()}
        living, employed = n["outflow"] + n["stay"], n["inflow"] + n["stay"]
        segments = pandas.concat(
            [counted.bands(each).assign(group=name) for name, each in counts.items()], ignore_index=True
        )
        number = counted.number
        # A difference is as certain as its smaller part; if only one part is 0, it counts as 1.
        fewest = max(min(n["inflow"], n["outflow"]), min(n["inflow"] + n["outflow"], 1))
        net = replace(number(n["inflow"] - n["outflow"]), caution=number(fewest).caution)
        answer = InflowOutflow(
            about=self._about("inflow-outflow", chosen, filters, None, self._cover_notes()),
            inflow=number(n["inflow"]),
            outflow=number(n["outflow"]),
            stay=number(n["stay"]),
            employed=number(employed),
            living=number(living),
            net_inflow=net,
            stay_of_living=n["stay"] / living if living else None,
            stay_of_employed=n["stay"] / employed if employed else None,
            groups=counted.labeled("group", GROUPS, GROUPS.values(), list(n.values())),
            segments=segments[["group", *(name for name in segments.columns if name != "group")]],
        )
        return self._answered(answer, errors)

    def job_balance(
        self,
        area: Given = EVERYTHING,
        filters: Filters = ALL_WORKERS,
        *,
        layer: str = USUAL,
        errors: bool = False,
    ) -> JobBalance:
        """Jobs, resident workers, and jobs per resident worker, in each unit of a layer within an area.

        Blocks whose jobs the release does not have are left out, with their residents; the answer says so.
        """
        chosen = self._select(area)
        blocks = self.areas.with_workplaces(chosen.blocks)
        units = self._layer(layer, "work", here=chosen)
        jobs, residents, table = balance_units(self.flows, units, blocks, filters)
        n_counted = len(self.areas.places) if blocks is None else len(blocks)
        notes = notes_on(self._cover_notes(), n_left_out=chosen.n_blocks - n_counted)
        workers = counted.number(residents)
        answer = JobBalance(
            about=self._about("job-balance", chosen, filters, None, notes),
            layer=units.level,
            jobs=counted.number(jobs),
            workers=workers,
            jobs_per_resident=ratio_of(jobs, workers),
            units=table,
        )
        return self._answered(answer, errors)

    def paired(
        self,
        home_area: Given,
        work_area: Given | None = None,
        filters: Filters = ALL_WORKERS,
        *,
        edges_mi: Sequence[float] = EDGES_MI,
        errors: bool = False,
    ) -> PairedAreas:
        """Count the workers who live in one area and work in another; the areas may overlap.

        Without a second area, both ends are in the first.
        """
        edges = check_edges(edges_mi)
        home = self._select(home_area)
        work = home if work_area is None else self._select(work_area)
        pick = Pick(home=home.blocks, work=work.blocks, filters=filters)
        counts = self.flows.by_segment(pick)
        n = int(counts.sum())
        living = int(self.flows.by_segment(Pick(home=home.blocks, filters=filters)).sum())
        employed = int(self.flows.by_segment(Pick(work=work.blocks, filters=filters)).sum())
        bands = self.flows.distances(pick, "home", edges, own_block=False).workers.sum(axis=1)
        labels = band_labels(edges)
        answer = PairedAreas(
            about=self._about_pair("paired", home, work, filters),
            home_area=home.name,
            work_area=work.name,
            workers=counted.number(n),
            living=counted.number(living),
            employed=counted.number(employed),
            share_of_living=n / living if living else None,
            share_of_employed=n / employed if employed else None,
            median_mi=Miles(self.flows.median_mi(pick)),
            bands=counted.bands(counts),
            distances=counted.labeled("band", range(len(labels)), labels, bands),
            edges_mi=edges,
        )
        return self._answered(answer, errors)

    def flow_matrix(
        self,
        home_layer: str = USUAL,
        work_layer: str = USUAL,
        filters: Filters = ALL_WORKERS,
        *,
        home_area: Given = EVERYTHING,
        work_area: Given = EVERYTHING,
        errors: bool = False,
    ) -> FlowMatrix:
        """Count workers from every unit of one layer to every unit of another, within given areas or everywhere."""
        home, work = self._select(home_area), self._select(work_area)
        homes = self._layer(home_layer, "home", here=home, there=work)
        works = self._layer(work_layer, "work", here=work, there=home)
        parts = list(self.flows.matrix(_pick(home, work, filters), homes.code, works.code))
        from_unit, to_unit, n = (
            np.concatenate([part[place] for part in parts]) if parts else np.empty(0, dtype=np.int64)
            for place in range(3)
        )
        total = int(n.sum())
        margins = [
            np.bincount(code, weights=n, minlength=len(units.rows)).astype(np.int64)
            for code, units in ((from_unit, homes), (to_unit, works))
        ]
        answer = FlowMatrix(
            about=self._about_pair("flow-matrix", home, work, filters),
            home_layer=homes.level,
            work_layer=works.level,
            workers=counted.number(total),
            cells=counted.pair_table(homes, works, (from_unit, to_unit, n), total),
            homes=counted.unit_table(homes, margins[0]),
            works=counted.unit_table(works, margins[1]),
        )
        return self._answered(answer, errors)

    def flow_matrix_parts(
        self,
        home_layer: str = USUAL,
        work_layer: str = USUAL,
        filters: Filters = ALL_WORKERS,
        *,
        home_area: Given = EVERYTHING,
        work_area: Given = EVERYTHING,
        error_rows: int = 0,
    ) -> Iterator[pandas.DataFrame]:
        """Yield the `cells` of a flow matrix for export, in parts of about 100,000 rows, most workers first.

        The first `error_rows` rows have an expected error.
        """
        home, work = self._select(home_area), self._select(work_area)
        homes = self._layer(home_layer, "home", here=home, there=work)
        works = self._layer(work_layer, "work", here=work, there=home)
        pick = _pick(home, work, filters)
        total = int(self.flows.by_segment(pick).sum())
        pick_of = CellPicks(pick, by_unit(pick, "home", homes), by_unit(pick, "work", works))
        for part in self.flows.matrix(pick, homes.code, works.code):
            yield self.errors.of_pairs(counted.pair_table(homes, works, part, total), pick_of, error_rows)
            error_rows -= len(part[0])

    def with_errors(
        self,
        answer: Answer,
        rows: int = ROWS,
        tables: Collection[str] | None = None,
        shown: int | None = None,
    ) -> Answer:
        """Return the answer with expected errors of its numbers and of the first rows of all or some of its tables.

        If a table is shortened to its `shown` first rows (by default `rows`), the sums of the others have one, too.
        This takes some milliseconds per number. Releases whose mechanism has no formula get no errors. See
        `mapapp.answers.answer_errors`.
        """
        check_answers(answer)
        return cast(Answer, self.errors.of_answer(answer, rows, tables, shown))

    def _answered(self, answer: Answer, errors: bool) -> Answer:
        """Return the answer of an analysis, with expected errors if requested."""
        return self.with_errors(answer) if errors else answer

    def _select(self, area: Given) -> Selected:
        return select_given(self.areas, area)

    def _layer(
        self,
        layer: object,
        end: Side = "work",
        *,
        here: Selected | None = None,
        there: Selected | None = None,
    ) -> LayerUnits:
        """Return the units of a layer, given by its key or by an everyday word.

        The usual layer depends on the end of the commutes and on the areas chosen at that end and at the other.
        """
        if not isinstance(layer, str):
            raise UsageError(
                f"layer {str(layer)[:40]!r}: give the name of a layer, such as 'county' or 'town'"
            )
        level = level_named(layer)
        return self.areas.units(self.areas.usual.of(end, here, there) if level == USUAL else level)

    def _about(
        self,
        analysis: str,
        area: Selected,
        filters: Filters,
        side: Side | None,
        notes: tuple[Note, ...] = (),
    ) -> About:
        if side == "home":
            notes += self._cover_notes()
        return About(
            analysis=analysis,
            title=ANALYSES[analysis].title,
            release=self.title,
            version=self.version,
            year=self.year,
            job_type=self.job_type,
            side=side,
            area=area.name,
            area_text=area.text,
            n_blocks=area.n_blocks,
            n_edge_blocks=area.n_edge_blocks,
            filters=self.attributes.words(filters),
            kept_bands=(tuple(filters.age), tuple(filters.earnings), tuple(filters.industry)),
            kept_attributes=tuple(filters.attributes),
            promise=self.promise,
            notes=notes + edge_notes(area.n_edge_blocks),
        )

    def _about_pair(self, analysis: str, home: Selected, work: Selected, filters: Filters) -> About:
        about = self._about(analysis, home, filters, None)
        edge = home.n_edge_blocks + work.n_edge_blocks
        return replace(
            about,
            area=f"homes: {home.name}; workplaces: {work.name}",
            area_text=f"{home.text} | {work.text}",
            n_blocks=home.n_blocks + work.n_blocks,
            n_edge_blocks=edge,
            notes=edge_notes(edge),
        )

    @property
    def promise(self) -> JsonObject:
        """The certificate's promise, as a short dictionary."""
        return promise_of(self.certificate)

    def _cover_notes(self) -> tuple[Note, ...]:
        """Return the note that workplaces in other states are not in the release."""
        given = self.facts.get("destination_states")
        if not isinstance(given, list) or not given:
            return ()
        names = state_names(self.store, [str(state) for state in given])
        return (Note(COVERAGE, coverage(names, of_residents=True)),)


def _blocks(chosen: Selected, n_blocks: int) -> npt.NDArray[np.int32]:
    return np.arange(n_blocks, dtype=np.int32) if chosen.blocks is None else chosen.blocks


def _pick(home: Selected, work: Selected, filters: Filters) -> Pick:
    return Pick(home=home.blocks, work=work.blocks, filters=filters)
