"""Options that say which numbers of workers a release shows exactly, for every command that plans or makes one.

Source: docs/worker-records.md, "Fewer numbers".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final, Literal, get_args

from geodata.json_objects import JsonObject
from geodata.store.shown_margins import SEGMENTS_BY, WORKPLACES_BY, shown_segments
from mapapp.base.errors import UsageError
from mapapp.kinds.base.option import Option, list_declared
from mapapp.question.filters import CHARACTERISTICS

__all__ = ["ALL_MARGINS", "MARGIN_OPTIONS", "WHOLE_DATASET", "DatasetView", "ShownMargins", "WorkplaceUnit"]

WorkplaceUnit = Literal["block", "tract"]
_NONE: Final = "none"


def _read_segments(text: str, flag: str) -> tuple[str, ...]:
    """Read names joined by commas, or the word none; UsageError for another name, or one that is given twice."""
    names = [] if text.strip() == _NONE else [name.strip() for name in text.split(",")]
    wrong = [name for name in names if name not in CHARACTERISTICS]
    if wrong or len(set(names)) < len(names):
        raise UsageError(
            f"--{flag} {text[:40]}: give some of {', '.join(CHARACTERISTICS)}, each once, joined by commas, or none"
        )
    return tuple(name for name in CHARACTERISTICS if name in names)


def _read_unit(text: str, flag: str) -> WorkplaceUnit:
    """Read the unit of workplaces; UsageError for another word, since a misspelled "tract" must not show blocks."""
    if text not in get_args(WorkplaceUnit):
        raise UsageError(f"--{flag} {text[:40]}: give block or tract")
    return "tract" if text == "tract" else "block"


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownMargins:
    """What tells apart the workers whose number is shown.

    Attributes
    ----------
    segments : tuple of str
        Of age, earnings, and industry, in this order.
    workplaces : {"block", "tract"}
    """

    segments: Annotated[
        tuple[str, ...],
        Option(
            help="Which of age, earnings, and industry the release shows, such as age,industry. What it shows of them "
            "by workplace is exact, so leave out what is not public.",
            metavar="NAMES|none",
            typed=",".join(CHARACTERISTICS),
            read=_read_segments,
        ),
    ] = tuple(CHARACTERISTICS)
    workplaces: Annotated[
        WorkplaceUnit,
        Option(
            help="Show numbers of workers by workplace block or, where those are not public, by tract. They are exact "
            "either way.",
            metavar="block|tract",
            read=_read_unit,
        ),
    ] = "block"

    def __post_init__(self) -> None:
        if self.segments != tuple(name for name in CHARACTERISTICS if name in self.segments):
            raise ValueError(f"segments {self.segments!r}: some of {tuple(CHARACTERISTICS)}, in this order")
        if self.workplaces not in get_args(WorkplaceUnit):
            raise ValueError(f"workplaces {self.workplaces!r}: block or tract")

    @classmethod
    def of_facts(cls, facts: Mapping[str, object]) -> ShownMargins:
        """Return what a manifest says; one that says nothing shows everything."""
        return cls(
            segments=shown_segments(facts),
            workplaces="tract" if facts.get(WORKPLACES_BY) == "tract" else "block",
        )

    def facts_of(self, manifest: Mapping[str, object]) -> JsonObject:
        """Return what changes in a manifest; nothing where everything is shown, as in releases of earlier versions."""
        facts: JsonObject = {}
        if len(self.segments) < 2 and "segments" in manifest:
            facts["segments"] = (
                "joint"  # sources have one band at a time for each pair of blocks: none is assigned
            )
        if self.segments != tuple(CHARACTERISTICS):
            facts[SEGMENTS_BY] = list(self.segments)
        if self.workplaces != "block":
            facts[WORKPLACES_BY] = self.workplaces
        return facts

    @property
    def is_whole(self) -> bool:
        """Whether everything is shown."""
        return not self.facts_of({})

    @property
    def words(self) -> str:
        """What numbers of workers are shown by, such as "by tract and age"."""
        return f"by {' and '.join([self.workplaces, *self.segments])}"

    @property
    def dropped(self) -> list[str]:
        """Those of age, earnings, and industry that are not shown."""
        return [name for name in CHARACTERISTICS if name not in self.segments]


MARGIN_OPTIONS: Final = list_declared(ShownMargins, Option)
"""By name of the field."""

ALL_MARGINS: Final = ShownMargins()
"""By block, age, earnings, and industry."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetView:
    """What a release reads in place of a dataset's own tables.

    Attributes
    ----------
    margins : ShownMargins
        Which numbers of workers it shows; nothing else of the jobs is read.
    last_release : Path or None
        An earlier release, whose workers are the flows of the prior instead of the dataset's.
    """

    margins: ShownMargins = ALL_MARGINS
    last_release: Path | None = None


WHOLE_DATASET: Final = DatasetView()
