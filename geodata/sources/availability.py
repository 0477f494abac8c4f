"""Which state-years of LODES are published: by the server's own list of files, or by a table where it shows none.

A state-year that was not published has no files. It must never look like one without jobs.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal
from urllib.parse import unquote

from geodata.errors import SourceFileError
from geodata.geography.elsewhere import state_of_postal
from geodata.sources.downloading import NoConnection, Retry, read_text
from geodata.sources.sources_catalog import Wanted, file_name, folder_url
from geodata.store.characteristic_groups import GROUPS
from geodata.text import list_names

FIRST_YEAR: Final = 2002
LAST_YEAR: Final = {7: 2019, 8: 2023}
"""Last year of each version of LODES, as far as the table knows; a server's list may have more."""

# Years without OD and WAC files. LODES 7: technical documentation 7.5 (Rev. 20211020), "State-Year Combinations without
# OD/WAC data". LODES 8: as its users listed them in November 2026, for the release with jobs of 2002 to 2023.
_LACKING: Final[Mapping[int, str]] = {
    7: "ak 2017-2019, ar 2002, ar 2019, az 2002-2003, dc 2002-2009, ma 2002-2010, ms 2002-2003, ms 2019, nh 2002",
    8: "ak 2017-2023, ar 2002, ar 2019-2021, az 2002-2003, dc 2002-2009, ma 2002-2010, mi 2022-2023, ms 2002-2003, "
    "ms 2019-2021, nh 2002",
}
_RAC_ONLY: Final = (
    "pr",
    "vi",
)  # not in regular production: residents who work in other states, in every year
_NOT_IN_LODES: Final = ("as", "gu", "mp")
_FIRST_YEAR_OF: Final = {"JT04": 2010, "JT05": 2010}  # federal jobs

_QUICK: Final = Retry(attempts=2, pause_s=1.0, timeout_s=20.0)
_LINK: Final = re.compile(r'href="([^"/?]+\.csv\.gz)"', re.IGNORECASE)
_YEAR: Final = re.compile(r"_(\d{4})\.csv\.gz$")

By = Literal["list", "table"]


@dataclass(frozen=True, slots=True)
class Unpublished:
    """A state-year that was not published.

    Attributes
    ----------
    state : str
        Postal code in lower case.
    year : int
    why : str
        What is not published, in words, without the nearest year.
    nearest : int, optional
        The nearest year that is published, the later of two; None if there is none.
    """

    state: str
    year: int
    why: str
    nearest: int | None

    def __str__(self) -> str:
        """One line that names the state-year and the nearest one that there is."""
        no_other = "no other year was published either"
        remedy = no_other if self.nearest is None else f"the nearest year is {self.nearest}"
        return f"{self.state} {self.year} was not published: {self.why}; {remedy}"


@dataclass(slots=True)
class Availability:
    """What is published of some states, by the server's lists as far as it shows them.

    Attributes
    ----------
    wanted : Wanted
        States, version, job type, and kinds of files; its years do not matter.
    by : dict of str to {"list", "table"}
        What decided about each state.
    no_connection : NoConnection, optional
        Why the server could not be reached; the table then decides.
    """

    wanted: Wanted
    by: dict[str, By] = field(default_factory=dict)
    no_connection: NoConnection | None = None
    _years: dict[str, frozenset[int]] = field(default_factory=dict)

    def list_unpublished(self, state: str, years: Iterable[int]) -> list[Unpublished]:
        """Return those of some years of a state that are not published, reading the server's lists on first use."""
        if state in (*_RAC_ONLY, *_NOT_IN_LODES):
            return [Unpublished(state, year, _why_never(state), None) for year in years]
        there = self._find_published_years(state)
        return [
            Unpublished(state, year, self._why(state, year), _find_nearest(there, year))
            for year in years
            if year not in there and not self._is_unknown(state, year)
        ]

    def _is_unknown(self, state: str, year: int) -> bool:
        """Whether only having the file can show it: a later year than the table knows, if it is the only one."""
        later = self.by[state] == "table" and year > LAST_YEAR[self.wanted.lodes]
        return later and len(self.wanted.years) == 1

    def _find_published_years(self, state: str) -> frozenset[int]:
        if state not in self._years:
            listed = self._list_years(state)
            self.by[state] = "table" if listed is None else "list"
            self._years[state] = _look_up_years(self.wanted, state) if listed is None else listed
        return self._years[state]

    def _list_years(self, state: str) -> frozenset[int] | None:
        """Years of which the server lists every wanted file; None if it shows no list."""
        names: set[str] = set()
        for role in dict.fromkeys(role for role, _ in self.wanted.tables):
            role_names = self._names_in(folder_url(self.wanted, state, role), f"{state}_{role}_")
            if not role_names:
                return None
            names |= role_names
        years = {int(match[1]) for name in names if (match := _YEAR.search(name))}
        return frozenset(
            year
            for year in years
            if all(file_name(self.wanted, state, *table, year) in names for table in self.wanted.tables)
        )

    def _names_in(self, url: str, prefix: str) -> set[str]:
        """Names of files that a folder of the server links to; none if it shows no list."""
        if self.no_connection is not None:
            return set()
        try:
            text = read_text(url, retry=_QUICK)
        except NoConnection as error:
            self.no_connection = error
            return set()
        except SourceFileError:
            return set()
        return {name for link in _LINK.findall(text) if (name := unquote(link)).startswith(prefix)}

    def _why(self, state: str, year: int) -> str:
        job_type = self.wanted.job_type
        name = _name_of(state)
        kinds = "OD, WAC, and RAC" if len(self.wanted.tables) > 2 else "OD"
        if self.by[state] == "list":
            return f"the server lists no {job_type} {kinds} files of {name} for it"
        first = _FIRST_YEAR_OF.get(job_type, FIRST_YEAR)
        if year > LAST_YEAR[self.wanted.lodes]:
            return f"LODES {self.wanted.lodes} is known to end in {LAST_YEAR[self.wanted.lodes]}"
        if year < first:
            return f"LODES has {job_type} from {first} on"
        return f"LODES {self.wanted.lodes} has no {kinds} files of {name} for it"


def refusal_of(unpublished: Sequence[Unpublished]) -> str:
    """Say in one line that state-years were not published, of several the first."""
    more = f" (and {len(unpublished) - 1} more state-years)" if len(unpublished) > 1 else ""
    return f"{unpublished[0]}{more}"


def left_out_lines(left_out: Iterable[Unpublished]) -> list[str]:
    """Say in one line for each state and reason which years are left out."""
    groups: dict[tuple[str, str], list[int]] = {}
    for state_year in left_out:
        groups.setdefault((state_year.state, state_year.why), []).append(state_year.year)
    return [f"{state} {year_spans(years)} left out: {why}" for (state, why), years in groups.items()]


def unpublished_groups(year: int, job_type: str) -> list[str]:
    """Say which groups of WAC and RAC columns hold no counts for a year and job type, only zeros."""
    names_by_reason: dict[str, list[str]] = {}
    for group in GROUPS:
        name = group.name.replace("_", " ")
        if year < group.from_year:
            names_by_reason.setdefault(f"begin in {group.from_year}", []).append(name)
        elif group.job_type not in ("", job_type):
            names_by_reason.setdefault(
                f"are published for {group.job_type} (all private jobs) only", []
            ).append(name)
    return [f"{list_names(names)} {why}" for why, names in names_by_reason.items()]


def year_spans(years: Iterable[int]) -> str:
    """Return years in words: "2002 to 2010, 2014"."""
    spans: list[list[int]] = []
    for year in sorted(set(years)):
        if spans and year == spans[-1][-1] + 1:
            spans[-1] = [spans[-1][0], year]
        else:
            spans.append([year])
    return ", ".join(" to ".join(map(str, span)) for span in spans)


def require_crosswalks(wanted: Wanted) -> None:
    """Refuse states of homes of which LODES has no crosswalk."""
    for state in wanted.origin_states:
        if state in _NOT_IN_LODES:
            raise SourceFileError(
                f"origin state {state}: {_why_never(state)}; homes there are counted by state"
            )


def _why_never(state: str) -> str:
    name = _name_of(state)
    if state in _RAC_ONLY:
        return f"of {name}, LODES has in every year only RAC files of residents who work elsewhere"
    return f"LODES has no files of {name}"


def _look_up_years(wanted: Wanted, state: str) -> frozenset[int]:
    lacking = set()
    for entry in _LACKING[wanted.lodes].split(", "):
        postal, _, span = entry.partition(" ")
        first, _, last = span.partition("-")
        if postal == state:
            lacking |= set(range(int(first), int(last or first) + 1))
    begin = _FIRST_YEAR_OF.get(wanted.job_type, FIRST_YEAR)
    return frozenset(range(begin, LAST_YEAR[wanted.lodes] + 1)) - lacking


def _find_nearest(years: Iterable[int], year: int) -> int | None:
    return min(sorted(years, reverse=True), key=lambda candidate: abs(candidate - year), default=None)


def _name_of(postal: str) -> str:
    state = state_of_postal(postal)
    return state.name if state else postal
