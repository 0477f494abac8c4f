"""Where the Census Bureau publishes the files that an import reads: the one list of addresses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from geodata.errors import SourceFileError
from geodata.geography.elsewhere import states

LodesVersion = Literal[7, 8]
PLAN: Final = "sources.json"  # what `fetch` writes beside the files

_LODES_HOST: Final = "https://lehd.ces.census.gov"
_CENSUS_HOST: Final = "https://www2.census.gov"
_LODES_YEARS: Final = {7: (2002, 2019), 8: (2002, None)}  # version 8 gains a year every year

_LODES: Final = {
    "od": "/data/lodes/LODES{lodes}/{postal}/od/{postal}_od_{part}_{job_type}_{year}.csv.gz",
    "crosswalk": "/data/lodes/LODES{lodes}/{postal}/{postal}_xwalk.csv.gz",
    "checksums": "/data/lodes/LODES{lodes}/{postal}/lodes_{postal}.sha256sum",
}
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
_OPTIONAL: Final = ("puma_names",)  # without them PUMAs are named by number


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
        Name to keep it under: the last part of the address.
    checksums_url : str, optional
        Where its sha256 is published, if anywhere.
    optional : bool
        Whether an import can do without it.
    """

    role: str
    url: str
    file: str
    checksums_url: str | None = None
    optional: bool = False


def sources_of(
    state: str,
    year: int,
    *,
    origin_states: tuple[str, ...] = (),
    lodes: int = 8,
    blocks: bool = False,
    job_type: str = "JT00",
    base: str | None = None,
) -> list[Source]:
    """List the files to download for the jobs of one state and year.

    Parameters
    ----------
    state : str
        Postal code of the state with the jobs, such as "ri".
    year : int
        Year of the jobs.
    origin_states : tuple of str
        Further states whose homes are to be located: their crosswalks, polygons and people, but not their jobs.
    lodes : {7, 8}
        7 has 2010 blocks and ends in 2019, 8 has 2020 blocks.
    blocks : bool
        Also the block polygons, which are large.
    job_type : str
        "JT00" to "JT05".
    base : str, optional
        Scheme and host of a mirror with the same paths, for both of the bureau's hosts.

    Raises
    ------
    SourceFileError
        When the state, year, version or job type does not exist.
    """
    _check(year, lodes, job_type)
    codes = {where.postal.lower(): where.state_id for where in states().values()}
    wanted = list(dict.fromkeys(postal.strip().lower() for postal in (state, *origin_states)))
    for postal in wanted:
        if postal not in codes:
            raise SourceFileError(f"state {postal!r}: no such postal code; give two letters, such as ri")
    lodes_host, census_host = (base or _LODES_HOST).rstrip("/"), (base or _CENSUS_HOST).rstrip("/")
    found = []
    for number, postal in enumerate(wanted):
        names = {"lodes": lodes, "postal": postal, "year": year, "job_type": job_type}
        checksums = lodes_host + _LODES["checksums"].format(**names)
        paths = [_LODES["od"].format(**names, part=part) for part in ("main", "aux")] if number == 0 else []
        roles = ["od"] * len(paths) + ["crosswalk"]
        paths.append(_LODES["crosswalk"].format(**names))
        found += [_source(r, lodes_host + p, checksums) for r, p in zip(roles, paths, strict=True)]
    for role, template in _GEOGRAPHY[_VINTAGE[lodes]].items():
        if role == "blocks" and not blocks:
            continue
        places = [""] if role in _NATIONAL else [codes[postal] for postal in wanted]
        found += [_source(role, census_host + template.format(fips=fips)) for fips in places]
    return found


def base_map_sources_of(counties: Sequence[str], *, lodes: int = 8, base: str | None = None) -> list[Source]:
    """List the files of a base map; an import can do without any of them.

    Parameters
    ----------
    counties : sequence of str
        Five-digit codes; water is published by county, boundaries and roads by state, rails for the nation.
    lodes : {7, 8}
        Its blocks decide the year: 2019, the last with 2010 tracts, or 2020.
    base : str, optional
        As `sources_of`.
    """
    host = (base or _CENSUS_HOST).rstrip("/")
    by_state = sorted({county[:2] for county in counties})
    places = {"shore": by_state, "roads": by_state, "rails": [""], "water": sorted(counties)}
    return [
        replace(_source(role, host + template.format(place=place)), optional=True)
        for role, template in _BASE_MAP[_VINTAGE[lodes]].items()
        for place in places[role]
    ]


def _source(role: str, url: str, checksums_url: str | None = None) -> Source:
    file = url.rpartition("/")[2]
    return Source(role=role, url=url, file=file, checksums_url=checksums_url, optional=role in _OPTIONAL)


def _check(year: int, lodes: int, job_type: str) -> None:
    if lodes not in _LODES_YEARS:
        raise SourceFileError(f"LODES version {lodes}: choose 7 (2010 blocks) or 8 (2020 blocks)")
    first, last = _LODES_YEARS[lodes]
    if year < first or (last is not None and year > last):
        span = f"{first} to {last}" if last else f"{first} or later"
        raise SourceFileError(
            f"year {year}: LODES version {lodes} has {span}; choose another year or version"
        )
    if job_type not in [f"JT{number:02d}" for number in range(6)]:
        raise SourceFileError(f"job type {job_type!r}: choose JT00 (all jobs) to JT05")
