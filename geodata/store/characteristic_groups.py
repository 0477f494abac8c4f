"""The classes of jobs that LODES counts by block (WAC, RAC), for whom each class is published, and segment files.

Source: LODES technical documentation 7.5, file structures RAC and WAC, with footnotes 18 to 22.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from geodata.store.schema import AGE_BANDS, CHARACTERISTIC_CODES, EARNINGS_BANDS, INDUSTRY_GROUPS

End = Literal["work", "home"]
ENDS: Final[tuple[End, ...]] = ("work", "home")

TOTAL: Final = "C000"
ALL_WORKERS: Final = "S000"
"""The segment of files about all workers."""
FILE_KINDS: Final[dict[End, str]] = {"work": "WAC", "home": "RAC"}
_SECTORS: Final = (
    "Agriculture, forestry, fishing, and hunting",
    "Mining, quarrying, and oil and gas extraction",
    "Utilities",
    "Construction",
    "Manufacturing",
    "Wholesale trade",
    "Retail trade",
    "Transportation and warehousing",
    "Information",
    "Finance and insurance",
    "Real estate and rental and leasing",
    "Professional, scientific, and technical services",
    "Management of companies and enterprises",
    "Administrative and support and waste management",
    "Educational services",
    "Health care and social assistance",
    "Arts, entertainment, and recreation",
    "Accommodation and food services",
    "Other services (except public administration)",
    "Public administration",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class CharacteristicGroup:
    """Classes into which every job falls, or every job of which something is known.

    Attributes
    ----------
    name : str
        For programs.
    title : str
    codes : tuple of str
        Columns of the files.
    labels : tuple of str
        What each counts.
    from_year : int
        First year that has them.
    job_type : str
        The only job type that has them; empty if all have.
    work_only : bool
        Whether files of residences (RAC) lack them.
    note : str
        Whom they count, in a sentence; empty if every job is counted and there is nothing to say.
    """

    name: str
    title: str
    codes: tuple[str, ...]
    labels: tuple[str, ...]
    from_year: int = 0
    job_type: str = ""
    work_only: bool = False
    note: str = ""

    @property
    def is_of_every_job(self) -> bool:
        """Whether its classes add up to all jobs in every file; the other groups are missing from some."""
        return not self.from_year

    def why_not_published(self, end: End, year: int | None, job_type: str | None) -> str:
        """Return why a file lacks the group, in a sentence's words; empty if files of that kind have it."""
        limits = []
        if self.job_type and job_type != self.job_type:
            limits.append(f"for all private jobs ({self.job_type})")
        if year is None or year < self.from_year:
            limits.append(f"from {self.from_year} on")
        if self.work_only and end == "home":
            limits.append("by workplace")
        return f"LODES has this only {', '.join(limits)}" if limits else ""


def _codes(prefix: str) -> tuple[str, ...]:
    return tuple(code for code in CHARACTERISTIC_CODES if code.rstrip("0123456789") == prefix)


def _group(name: str, title: str, prefix: str, labels: Sequence[str]) -> CharacteristicGroup:
    return CharacteristicGroup(name=name, title=title, codes=_codes(prefix), labels=tuple(labels))


def _beta(
    name: str,
    title: str,
    prefix: str,
    labels: Sequence[str],
    *,
    from_year: int = 2009,
    firms: bool = False,
    note: str = "",
) -> CharacteristicGroup:
    """A group that only some years, and of firms one job type, have."""
    return CharacteristicGroup(
        name=name,
        title=title,
        codes=_codes(prefix),
        labels=tuple(labels),
        from_year=from_year,
        job_type="JT02" if firms else "",
        work_only=firms,
        note=note,
    )


_EDUCATION: Final = "Education is counted only for workers aged 30 or older, so shares are of their jobs."
_FIRMS: Final = "Firm age and size are counted only for all private jobs (JT02), by workplace, from 2011 on."
_SIZE: Final = (
    f"{_FIRMS} For firms 1 year and older, firm size is the national size of the firm in March of the year "
    "before."
)

GROUPS: Final = (
    _group("age", "Age", "CA", AGE_BANDS),
    _group("earnings", "Earnings", "CE", EARNINGS_BANDS),
    _group("sector", "Industry (NAICS sector)", "CNS", _SECTORS),
    _beta(
        "race",
        "Race",
        "CR",
        (
            "White alone",
            "Black or African American alone",
            "American Indian or Alaska Native alone",
            "Asian alone",
            "Native Hawaiian or other Pacific Islander alone",
            "Two or more race groups",
        ),
    ),
    _beta("ethnicity", "Ethnicity", "CT", ("Not Hispanic or Latino", "Hispanic or Latino")),
    _beta(
        "education",
        "Education (workers aged 30 or older)",
        "CD",
        (
            "Less than high school",
            "High school or equivalent, no college",
            "Some college or associate degree",
            "Bachelor's degree or advanced degree",
        ),
        note=_EDUCATION,
    ),
    _beta("sex", "Sex", "CS", ("Male", "Female")),
    _beta(
        "firm_age",
        "Firm age",
        "CFA",
        ("0 to 1 years", "2 to 3 years", "4 to 5 years", "6 to 10 years", "11 or more years"),
        from_year=2011,
        firms=True,
        note=_FIRMS,
    ),
    _beta(
        "firm_size",
        "Firm size",
        "CFS",
        (
            "0 to 19 employees",
            "20 to 49 employees",
            "50 to 249 employees",
            "250 to 499 employees",
            "500 or more employees",
        ),
        from_year=2011,
        firms=True,
        note=_SIZE,
    ),
)
"""The classes of the files, in their order."""
GROUP_OF: Final = {code: group for group in GROUPS for code in group.codes}
LABEL_OF: Final = {
    code: label for group in GROUPS for code, label in zip(group.codes, group.labels, strict=True)
}


# A file of one segment has the columns of a file of all workers, but counts only the jobs of that segment. So the files
# of an attribute's three segments together are published two-way tables.


@dataclass(frozen=True, slots=True)
class SegmentBand:
    """What a segment file is about: a band, from 1, of age, earnings, or industry, and the codes of all its jobs."""

    characteristic: Literal["age", "earnings", "industry"]
    band: int
    label: str
    codes: tuple[str, ...]


def _sectors(*numbers: int) -> tuple[str, ...]:
    return tuple(f"CNS{number:02d}" for number in numbers)


SECTORS_OF_INDUSTRY: Final = (
    _sectors(1, 2, 4, 5),
    _sectors(3, 6, 7, 8),
    _sectors(*range(9, 21)),
)
"""The NAICS sectors of each of the three industry groups of OD files."""
BANDS: Final[dict[str, SegmentBand]] = {
    **{f"SA0{n}": SegmentBand("age", n, AGE_BANDS[n - 1], (f"CA0{n}",)) for n in (1, 2, 3)},
    **{f"SE0{n}": SegmentBand("earnings", n, EARNINGS_BANDS[n - 1], (f"CE0{n}",)) for n in (1, 2, 3)},
    **{
        f"SI0{n}": SegmentBand("industry", n, INDUSTRY_GROUPS[n - 1], SECTORS_OF_INDUSTRY[n - 1])
        for n in (1, 2, 3)
    },
}
"""By segment."""
SEGMENTS: Final = (ALL_WORKERS, *BANDS)
"""The segments of files, in the order of their positions in the table `characteristic_counts`."""


def segments_of(characteristic: str, bands: Sequence[int]) -> tuple[str, ...]:
    """Return the segments that together have the jobs in some bands of age, earnings, or industry."""
    return tuple(
        name for name, band in BANDS.items() if band.characteristic == characteristic and band.band in bands
    )
