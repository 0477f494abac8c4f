"""A release that is open for questions: its facts, its areas, and what every analysis of it needs."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Final, Self, TypeVar, cast

from geodata.json_objects import JsonObject
from geodata.progress import Progress, silent
from geodata.store.store import Store, store_digest
from mapapp.answers.analyses.about import About, Note, edge_notes
from mapapp.answers.analyses.place_characteristics import PlaceCharacteristics
from mapapp.answers.analyses.results import Result, check_answers
from mapapp.answers.areas.areas import open_areas
from mapapp.answers.areas.argument import Given, select_given
from mapapp.answers.areas.layer_units import LayerUnits
from mapapp.answers.areas.levels import level_named
from mapapp.answers.areas.selection import Selected
from mapapp.answers.areas.unit_names import state_names
from mapapp.answers.certificate_reader import promise_of, read_certificate
from mapapp.answers.commutes.attributes import attributes_of
from mapapp.answers.commutes.flows import Flows
from mapapp.answers.commutes.prepared import attribute_columns, prepare
from mapapp.answers.downtowns import downtown_named
from mapapp.answers.errors.answer_errors import ROWS, Errors
from mapapp.answers.errors.record_errors import RecordErrors
from mapapp.answers.errors.release_errors import ReleaseErrors
from mapapp.answers.opened_publication import OpenedPublication
from mapapp.answers.promise.shown_counts import workplaces_note
from mapapp.answers.publication import RELEASED, is_of_records, is_published, open_publication
from mapapp.answers.published.certificate import read_published_certificate
from mapapp.answers.published.words import number_notes
from mapapp.answers.wording import nouns_of, reader_text
from mapapp.answers.words import coverage
from mapapp.base.errors import UsageError
from mapapp.question.analyses import ANALYSES
from mapapp.question.fields import USUAL, Side
from mapapp.question.filters import Filters

Answer = TypeVar("Answer", bound=Result)

ALL_WORKERS: Final = Filters()
COVERAGE: Final = "coverage"
"""Code of the note that residents who work in other states are not counted."""


class OpenedRelease(OpenedPublication):
    """A verified release, prepared for questions; `mapapp.answers.release.Release` adds the analyses."""

    def __init__(self, store: Store, slug: str = "", *, report: Progress = silent) -> None:
        certificate = read_certificate(store)
        if is_published(certificate):
            read_published_certificate(store)  # its pages read every field
        self.digest = store_digest(store.path)
        self.attributes = attributes_of(certificate, attribute_columns(store), store.manifest)
        prepared = prepare(store, report=report)
        self._lease = prepared.lease
        areas = open_areas(store, report=report)
        version = self.digest[:12]
        super().__init__(store, areas, certificate, version, slug or version)
        self.outlines = self.areas.outlines
        self.flows = Flows(prepared, store, self.attributes)
        self._characteristics = PlaceCharacteristics(store)
        kind = RecordErrors if is_of_records(self.certificate) else ReleaseErrors
        self.errors: Errors = kind(store, self.areas, self.flows, self.certificate)

    @classmethod
    def open(cls, path: str | os.PathLike[str], slug: str = "", *, report: Progress = silent) -> Self:
        """Open a release, verify it, and prepare it for questions. The preparation is cached on this machine.

        Parameters
        ----------
        path : str or path
            Directory of the release; a dataset is refused.
        slug : str
            Name of the release in addresses; by default its version.
        report : callable
            Called with (stage, done, total).

        Raises
        ------
        StoreError
            If it is not a complete, unaltered release.
        UsageError
            If the path is not a path.
        """
        return cls(open_publication(path, *RELEASED), slug, report=report)

    @property
    def year(self) -> int | None:
        """Year of the jobs; None if the release does not state it."""
        stated = str(self.facts.get("year") or "")
        return int(stated) if stated.isdecimal() else None

    @property
    def job_type(self) -> str:
        """LODES code of the job type, such as JT00; empty if the release does not state it."""
        return str(self.facts.get("job_type") or "")

    @property
    def has_published_counts(self) -> bool:
        """Whether it has counts of LODES by class, for the analysis `characteristics`."""
        return not self._characteristics.is_empty

    def warm(self, layers: Sequence[str] = ()) -> None:
        """Read in advance what the first questions need: the units of some layers, and the bounds of cells.

        By default, the layers are those that are usual where everything is shown.
        """
        for layer in layers or (self.areas.usual.of("work"), self.areas.usual.named):
            self.areas.units(layer)
        _ = self.areas.place_index
        self.areas.cells.warm()

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
        `mapapp.answers.errors.answer_errors`.
        """
        check_answers(answer)
        return cast(Answer, self.errors.of_answer(answer, rows, tables, shown))

    def _finish_answer(self, answer: Answer, errors: bool) -> Answer:
        """Return the answer of an analysis, with expected errors if requested, in the words of the publication."""
        nouns = answer.about.nouns
        if nouns is not None:
            notes = tuple(replace(note, text=reader_text(note.text, nouns)) for note in answer.about.notes)
            answer = replace(
                answer, about=replace(answer.about, notes=tuple(note for note in notes if note.text))
            )
        return self.with_errors(answer) if errors else answer

    def find_area(self, text: str) -> str:
        """Return an area as text, as `Areas.find` does; "downtown Providence" is the core of that place."""
        core = downtown_named(self, text)
        return self.areas.find(text) if core is None else core.step

    def _select(self, area: Given) -> Selected:
        core = downtown_named(self, area) if isinstance(area, str) else None
        return select_given(self.areas, area if core is None else core.step)

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
        self.areas.require_layer(level)
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
        if (by_tract := workplaces_note(self.facts)) is not None:
            notes += (Note("workplaces", by_tract),)
        if is_published(self.certificate):
            notes += number_notes(analysis, filters, self.facts, self.certificate)
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
            covered=tuple(self._covered_names),
            nouns=nouns_of(self.facts),
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
            notes=self._cover_notes() + edge_notes(edge),
        )

    @property
    def promise(self) -> JsonObject:
        """The certificate's promise, as a short dictionary."""
        return promise_of(self.certificate)

    def _cover_notes(self) -> tuple[Note, ...]:
        """Return the note that workplaces in other states are not in the release."""
        names = self._covered_names
        return (Note(COVERAGE, coverage(names, of_residents=True)),) if names else ()

    @cached_property
    def _covered_names(self) -> list[str]:
        """Names of the states whose workplaces are covered; empty if the release does not say."""
        return state_names(self.store, self.covered_states) if self.covered_states else []

    def covers(self, areas: tuple[str, ...]) -> bool:
        """Return whether the release may contain workplaces in any of the areas; True if unknown."""
        blocks = self.areas.blocks(areas)
        if blocks is None or not self.covered_states:
            return True
        states = self.store.table("blocks", ["state_id"])["state_id"]
        return bool(states.iloc[blocks].isin(self.covered_states).any())
