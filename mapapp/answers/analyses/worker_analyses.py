"""Analyses of the workers at one end of their commutes: who they are, and how many there are in each unit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas

from geodata.store.characteristic_groups import LABEL_OF
from mapapp.answers.analyses import counts as counted
from mapapp.answers.analyses.about import ASSIGNED_TOGETHER, Note
from mapapp.answers.analyses.characteristics import Characteristics, group_of, two_way_rows, unit_rows
from mapapp.answers.analyses.counts import band_sums
from mapapp.answers.analyses.cross_table import (
    CrossTable,
    Ints,
    attribute_rows,
    cell_rows,
    chosen_attributes,
    total_rows,
)
from mapapp.answers.analyses.job_balance import JobBalance, balance_units, notes_on, ratio_of
from mapapp.answers.analyses.place_characteristics import (
    AreaCharacteristics,
    area_characteristics,
    class_rows,
)
from mapapp.answers.analyses.results import AreaComparison, AreaProfile
from mapapp.answers.areas.argument import Given
from mapapp.answers.areas.selection import Selected
from mapapp.answers.commutes.pick import Pick
from mapapp.answers.opened_release import ALL_WORKERS, COVERAGE, OpenedRelease
from mapapp.answers.publication import is_published
from mapapp.answers.published.words import PUBLISHED_TOGETHER
from mapapp.answers.records.certificate import edge_cautions
from mapapp.base.errors import UsageError
from mapapp.question.fields import USUAL, USUAL_CHARACTERISTIC, Side, characteristic_named
from mapapp.question.filters import BANDS, CHARACTERISTICS, Filters
from mapapp.question.question import EVERYTHING


class WorkerAnalyses(OpenedRelease):
    """Profile, cross table, area comparison, jobs per resident worker, and published characteristics."""

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
            union of its areas. See `mapapp.answers.areas.argument`. All analyses take areas in these forms.
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

        Examples
        --------
        >>> int(release.profile("Tarnwick city").workers)
        831
        """
        chosen = self._select(area)
        counts = self.flows.by_segment(Pick.at(side, chosen.blocks, filters))
        answer = AreaProfile(
            about=self._about("profile", chosen, filters, side),
            workers=counted.number(int(counts.sum())),
            bands=counted.bands(counts, self.attributes.shown),
            segments=counted.segments(counts, self.attributes.shown),
            margins=counted.margins(counts, self.attributes.shown),
            attributes=self._by_attribute(Pick.at(side, chosen.blocks, filters)),
        )
        return self._finish_answer(answer, errors)

    def characteristics(
        self,
        area: Given = EVERYTHING,
        characteristic: str = USUAL_CHARACTERISTIC,
        filters: Filters = ALL_WORKERS,
        *,
        side: Side = "work",
        layer: str = USUAL,
        errors: bool = False,
    ) -> Characteristics:
        """Return what LODES publishes about all jobs in an area (side "work"), or about those of its residents.

        Parameters
        ----------
        characteristic : str
            Class of jobs to count by unit: a column of WAC and RAC files, such as CNS16, or words of its label.
        filters : Filters
            Bands of one of age, earnings, and industry, of which the publication has the segment files.

        Raises
        ------
        UsageError
            Also if the publication does not have the files, or these do not have the characteristic.

        Examples
        --------
        >>> release.has_published_counts  # otherwise: release.characteristics("Tarnwick city", "health care")
        False
        """
        chosen, code = self._select(area), characteristic_named(characteristic)
        published = self._characteristics.of(chosen, side, filters)
        group = group_of(published, code)
        units = self._layer(layer, side, here=chosen)
        known = published.jobs(group.codes)
        n_known, n = int(known.sum()), int(known[group.codes.index(code)])
        about = self._about("characteristics", chosen, filters, side)
        notes = tuple(note for note in about.notes if note.code not in (COVERAGE, "published"))
        answer = Characteristics(
            about=replace(about, notes=(*published.notes, *notes)),
            layer=units.level,
            characteristic=code,
            label=LABEL_OF[code],
            counted=counted.number(n),
            share_of_known=n / n_known if n_known else None,
            known=counted.number(n_known),
            jobs=counted.number(int(published.jobs()[0])),
            units=unit_rows(published, units, code),
            classes=class_rows(published),
            two_way=two_way_rows(published),
        )
        return self._finish_answer(answer, errors)

    def published_profile(
        self, area: Given = EVERYTHING, *, side: Side = "work"
    ) -> AreaCharacteristics | None:
        """Return the published classes of all jobs in an area, for the card below its profile; None without files."""
        if not self._characteristics.has(side):
            return None
        try:
            return area_characteristics(self._characteristics.of(self._select(area), side, ALL_WORKERS), side)
        except UsageError:  # no file of the area's states
            return None

    def cross_table(
        self,
        area: Given = EVERYTHING,
        by: Sequence[str] = (),
        filters: Filters = ALL_WORKERS,
        *,
        side: Side = "work",
        errors: bool = False,
    ) -> CrossTable:
        """Count the people who work or live in an area, by one to three attributes together.

        Parameters
        ----------
        by : sequence of str
            Names of attributes: age, earnings, industry, and for worker records those of `attributes`. By default age
            and earnings, as far as the publication shows them.

        Raises
        ------
        UsageError
            Also if an attribute does not exist or is given twice, or the table would have too many cells.

        Examples
        --------
        >>> int(release.cross_table("Tarnwick city", ("age", "earnings")).workers)
        831
        """
        chosen = self._select(area)
        attributes = chosen_attributes(self.attributes, by)
        counts = self.flows.by_values(
            Pick.at(side, chosen.blocks, filters), [attribute.name for attribute in attributes]
        )
        about = self._about("cross-table", chosen, filters, side, edge_cautions(self.certificate, attributes))
        names = tuple(attribute.name for attribute in attributes)
        published = self._published_together(chosen, side, filters, names, counts)
        if published is not None:
            counts = published
            notes = tuple(note for note in about.notes if note.code != ASSIGNED_TOGETHER)
            about = replace(about, notes=(Note("together", PUBLISHED_TOGETHER), *notes))
        answer = CrossTable(
            about=about,
            by=names,
            attributes=attributes,
            workers=counted.number(int(counts.sum())),
            cells=cell_rows(attributes, counts),
            totals=total_rows(attributes, counts),
        )
        return self._finish_answer(answer, errors)

    def _published_together(
        self, chosen: Selected, side: Side, filters: Filters, names: tuple[str, ...], counts: Ints
    ) -> Ints | None:
        """Return the jobs by two attributes as segment files have them, in place of counts that were assigned.

        None if nothing was assigned, or no such files are there, or they are not about the same jobs: the files of
        residences have jobs in other states, too.
        """
        is_assigned = is_published(self.certificate) and self.facts.get("segments") == "assigned"
        if not is_assigned or len(names) != len(counts.shape) or len(names) != 2 or filters != ALL_WORKERS:
            return None
        if not self._characteristics.has(side):
            return None
        try:
            known = self._characteristics.of(chosen, side, ALL_WORKERS).two_way()
        except UsageError:  # no file of the area's states
            return None
        published = known.get((names[0], names[1]))
        if published is None and (names[1], names[0]) in known:
            published = known[names[1], names[0]].T
        if published is None or any(
            (published.sum(axis=axis) != counts.sum(axis=axis)).any() for axis in (0, 1)
        ):
            return None
        return published

    def _by_attribute(self, pick: Pick) -> pandas.DataFrame:
        """Return the workers of a pick by the values of every further attribute."""
        further = self.attributes.further
        return attribute_rows(
            [(attribute, self.flows.by_values(pick, [attribute.name])) for attribute in further]
        )

    def comparison(
        self,
        area: Given = EVERYTHING,
        filters: Filters = ALL_WORKERS,
        *,
        side: Side = "work",
        layer: str = USUAL,
        errors: bool = False,
    ) -> AreaComparison:
        """Compare the units of a layer that have blocks in an area; only those blocks are counted.

        Examples
        --------
        >>> release.comparison(layer="county").to_frame()["workers"].head(3).tolist()
        [903, 844, 360]
        """
        chosen = self._select(area)
        units = self._layer(layer, side, here=chosen)
        pick = Pick.at(side, chosen.blocks, filters)
        n = by_segment = self.flows.by_code_and_segment(pick, side, units.code, len(units.rows))
        names = [f"{name}_{band}" for name in CHARACTERISTICS for band in BANDS]
        bands = dict(zip(names, band_sums(by_segment).T, strict=True))
        codes = units.code if chosen.blocks is None else units.code[chosen.blocks]
        n_mine = np.bincount(codes, minlength=len(units.rows))
        workers = by_segment.sum(axis=1)
        rows = units.most_first(np.flatnonzero(n_mine), workers)
        table = units.table(rows, "unit_id", "name", "kind") | {
            "partly": (n_mine < units.n_blocks)[rows],
            **counted.columns(workers[rows], int(n.sum())),
            **{name: bands[name][rows] for name in names if name.rpartition("_")[0] in self.attributes.shown},
        }
        answer = AreaComparison(
            about=self._about("comparison", chosen, filters, side),
            layer=units.level,
            workers=counted.number(int(n.sum())),
            units=pandas.DataFrame(table),
        )
        return self._finish_answer(answer, errors)

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

        Examples
        --------
        >>> int(release.job_balance("Tarnwick city").jobs)
        831
        """
        chosen = self._select(area)
        blocks = self.areas.keep_workplaces(chosen.blocks)
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
        return self._finish_answer(answer, errors)
