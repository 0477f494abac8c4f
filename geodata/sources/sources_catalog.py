"""Where the Census Bureau publishes the files that an import reads: the one list of addresses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from geodata.errors import SourceFileError
from geodata.geography.elsewhere import states
from geodata.store.characteristic_groups import ALL_WORKERS, SEGMENTS

LodesVersion = Literal[7, 8]
PLAN: Final = "sources.json"  # what `fetch` writes beside the files
JOB_TYPES: Final = tuple(f"JT{number:02d}" for number in range(6))

_LODES_HOST: Final = "https://lehd.ces.census.gov"
_CENSUS_HOST: Final = "https://www2.census.gov"
_LODES_YEARS: Final = {7: (2002, 2019), 8: (2002, None)}  # version 8 gains a year every year

_OF_STATE: Final = "/data/lodes/LODES{lodes}/{postal}/"
_LODES: Final = {
    "od": "od/{postal}_od_{part}_{job_type}_{year}.csv.gz",
    "wac": "wac/{postal}_wac_{part}_{job_type}_{year}.csv.gz",
    "rac": "rac/{postal}_rac_{part}_{job_type}_{year}.csv.gz",
    "crosswalk": "{postal}_xwalk.csv.gz",
    "checksums": "lodes_{postal}.sha256sum",
    "version": "version.txt",
}
"""Files of a state, by role. `part` is the part of the state (main, aux), or the segment of workers.

Source: LODES technical documentation 7.5, "File Naming Conventions". Its template of RAC names ends in `_1`; its
example and the files do not.
"""
_GEOGRAPHY: Final = {
    2010: {
        "tracts": "/geo/tiger/TIGER2010/TRACT/2010/tl_2010_{fips}_tract10.zip",
        "blocks": "/geo/tiger/TIGER2010/TABBLOCK/2010/tl_2010_{fips}_tabblock10.zip",
        "tract_puma": "/geo/docs/maps-data/data/rel/2010_Census_Tract_to_2010_PUMA.txt",
        "puma_names": "/geo/docs/reference/puma/2010_PUMA_Names.txt",
        "tract_population": "/geo/docs/reference/cenpop2010/tract/CenPop2010_Mean_TR{fips}.txt",
        "block_group_population": "/geo/docs/reference/cenpop2010/blkgrp/CenPop2010_Mean_BG{fips}.txt",
    },
    2020: {
        "tracts": "/geo/tiger/TIGER2020/TRACT/tl_2020_{fips}_tract.zip",
        "blocks": "/geo/tiger/TIGER2020/TABBLOCK20/tl_2020_{fips}_tabblock20.zip",
        "tract_puma": "/geo/docs/maps-data/data/rel2020/2020_Census_Tract_to_2020_PUMA.txt",
        "puma_names": "/geo/docs/reference/puma2020/2020_PUMA_Names.txt",
        "tract_population": "/geo/docs/reference/cenpop2020/tract/CenPop2020_Mean_TR{fips}.txt",
        "block_group_population": "/geo/docs/reference/cenpop2020/blkgrp/CenPop2020_Mean_BG{fips}.txt",
    },
}
_BASE_MAP: Final = {
    2010: {
        "shore": "/geo/tiger/GENZ2019/shp/cb_2019_{place}_tract_500k.zip",
        "roads": "/geo/tiger/TIGER2019/PRISECROADS/tl_2019_{place}_prisecroads.zip",
        "rails": "/geo/tiger/TIGER2019/RAILS/tl_2019_us_rails.zip",
        "water": "/geo/tiger/TIGER2019/AREAWATER/tl_2019_{place}_areawater.zip",
    },
    2020: {
        "shore": "/geo/tiger/GENZ2020/shp/cb_2020_{place}_tract_500k.zip",
        "roads": "/geo/tiger/TIGER2020/PRISECROADS/tl_2020_{place}_prisecroads.zip",
        "rails": "/geo/tiger/TIGER2020/RAILS/tl_2020_us_rails.zip",
        "water": "/geo/tiger/TIGER2020/AREAWATER/tl_2020_{place}_areawater.zip",
    },
}
_VINTAGE: Final = {7: 2010, 8: 2020}  # census whose blocks a LODES version is on
_NATIONAL: Final = ("tract_puma", "puma_names")
_OPTIONAL: Final = ("puma_names", "checksums", "version")  # PUMAs are then named by number


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """One file to download.

    Attributes
    ----------
    role : str
        What it is: a key of the templates.
    url : str
        Where it is.
    file : str
        Where to keep it in the folder: the last part of the address; for a version file, `STATE/version.txt`, because
        every state has a file of this name.
    state : str
        Postal code in lower case, if the file is of one state of LODES.
    year : int, optional
        Of its jobs, if it has any.
    optional : bool
        Whether an import can do without it.
    """

    role: str
    url: str
    file: str
    state: str = ""
    year: int | None = None
    optional: bool = False

    @property
    def checksums(self) -> str | None:
        """Name of the list that states its sha256; None if none is published."""
        listed = self.state and self.role not in ("checksums", "version")
        return _LODES["checksums"].format(postal=self.state) if listed else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """State-years of LODES, and what to have with them.

    Attributes
    ----------
    states : tuple of str
        States with the jobs, by postal code or name; kept as postal codes in lower case.
    years : tuple of int
        Years of the jobs.
    origin_states : tuple of str
        Further states whose homes are to be located: their crosswalks, polygons and people, but not their jobs.
    lodes : {7, 8}
        7 has 2010 blocks and ends in 2019, 8 has 2020 blocks.
    job_type : str
        "JT00" to "JT05".
    characteristics, segments : bool
        Also the WAC and RAC files of all workers; those of each of the nine segments as well.
    blocks : bool
        Also the block polygons, which are large.
    base_map : bool
        Also boundaries that end at the shore, water of every county in the crosswalks, main roads, and rails.
    base : str, optional
        Scheme and host of a mirror with the same paths, for both of the bureau's hosts.

    Raises
    ------
    SourceFileError
        When a state, year, version or job type does not exist.
    """

    states: tuple[str, ...]
    years: tuple[int, ...]
    origin_states: tuple[str, ...] = ()
    lodes: int = 8
    job_type: str = "JT00"
    characteristics: bool = False
    segments: bool = False
    blocks: bool = False
    base_map: bool = False
    base: str | None = None

    def __post_init__(self) -> None:
        for name in ("states", "origin_states"):
            codes = tuple(dict.fromkeys(postal_of(text) for text in getattr(self, name)))
            object.__setattr__(self, name, codes)
        for year in self.years:
            _check(year, self.lodes, self.job_type)

    @property
    def all_states(self) -> tuple[str, ...]:
        """States whose geography is needed, those with the jobs first."""
        return tuple(dict.fromkeys((*self.states, *self.origin_states)))

    @property
    def tables(self) -> tuple[tuple[str, str], ...]:
        """Role and part of each file of jobs of a state-year."""
        segments = SEGMENTS if self.segments else (ALL_WORKERS,)
        counted = [(role, segment) for role in ("wac", "rac") for segment in segments]
        return (("od", "main"), ("od", "aux"), *(counted if self.characteristics or self.segments else ()))


def postal_of(text: str) -> str:
    """Return the postal code, in lower case, of a state that is named by its postal code or its name.

    Raises
    ------
    SourceFileError
        There is no such state.
    """
    spelled = " ".join(text.split()).lower()
    for state in states().values():
        if spelled in (state.postal.lower(), state.name.lower()):
            return state.postal.lower()
    raise SourceFileError(f"state {text!r}: no such postal code or name; give two letters, such as ri")


def sources_of(wanted: Wanted) -> list[Source]:
    """List the files to download, without those of the base map: they follow from the crosswalks."""
    host = (wanted.base or _CENSUS_HOST).rstrip("/")
    fips = {state.postal.lower(): state.state_id for state in states().values()}
    sources = []
    for postal in wanted.all_states:
        if postal in wanted.states:
            sources += [
                _lodes_source(wanted, role, postal, part, year)
                for year in wanted.years
                for role, part in wanted.tables
            ]
        sources += [_lodes_source(wanted, role, postal) for role in ("crosswalk", "checksums", "version")]
    for role, template in _GEOGRAPHY[_VINTAGE[wanted.lodes]].items():
        if role == "blocks" and not wanted.blocks:
            continue
        places = [""] if role in _NATIONAL else [fips[postal] for postal in wanted.all_states]
        sources += [_source(role, host + template.format(fips=place)) for place in places]
    return sources


def folder_url(wanted: Wanted, postal: str, role: str) -> str:
    """Address of the folder with a state's files of one role, of which the server may show a list."""
    return _lodes_folder(wanted, postal) + _LODES[role].rpartition("/")[0] + "/"


def file_name(wanted: Wanted, postal: str, role: str, part: str, year: int) -> str:
    """Name of a file of jobs."""
    return _lodes_source(wanted, role, postal, part, year).file


def _lodes_folder(wanted: Wanted, postal: str) -> str:
    return (wanted.base or _LODES_HOST).rstrip("/") + _OF_STATE.format(lodes=wanted.lodes, postal=postal)


def _lodes_source(wanted: Wanted, role: str, postal: str, part: str = "", year: int | None = None) -> Source:
    path = _LODES[role].format(postal=postal, part=part, job_type=wanted.job_type, year=year)
    file = f"{postal}/{path}" if role == "version" else path.rpartition("/")[2]
    return Source(
        role=role,
        url=_lodes_folder(wanted, postal) + path,
        file=file,
        state=postal,
        year=year,
        optional=role in _OPTIONAL,
    )


def base_map_sources_of(wanted: Wanted, counties: Sequence[str]) -> list[Source]:
    """List the files of a base map, of 2019, the last year with 2010 tracts, or of 2020; an import can do without them.

    Parameters
    ----------
    wanted : Wanted
    counties : sequence of str
        Five-digit codes; water is published by county, boundaries and roads by state, rails for the nation.
    """
    host = (wanted.base or _CENSUS_HOST).rstrip("/")
    by_state = sorted({county[:2] for county in counties})
    places = {"shore": by_state, "roads": by_state, "rails": [""], "water": sorted(counties)}
    return [
        replace(_source(role, host + template.format(place=place)), optional=True)
        for role, template in _BASE_MAP[_VINTAGE[wanted.lodes]].items()
        for place in places[role]
    ]


def _source(role: str, url: str) -> Source:
    return Source(role=role, url=url, file=url.rpartition("/")[2], optional=role in _OPTIONAL)


def _check(year: int, lodes: int, job_type: str) -> None:
    if lodes not in _LODES_YEARS:
        known = "7 (2010 blocks) or 8 (2020 blocks)"
        older = "; version 5 (2000 blocks) and others before 7 are not fetched" if lodes in (4, 5, 6) else ""
        raise SourceFileError(f"LODES version {lodes}: choose {known}{older}")
    first, last = _LODES_YEARS[lodes]
    if year < first or (last is not None and year > last):
        span = f"{first} to {last}" if last else f"{first} or later"
        nearest = first if year < first else last
        raise SourceFileError(
            f"year {year}: LODES version {lodes} has {span}; the nearest year is {nearest}"
            + ("" if year < first else ", or choose version 8")
        )
    if job_type not in JOB_TYPES:
        raise SourceFileError(f"job type {job_type!r}: choose JT00 (all jobs) to JT05")
