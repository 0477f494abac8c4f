"""A few areas around Newport, and where the jobs of a release are: enough to read sentences without a release."""

from __future__ import annotations

from collections.abc import Mapping

from mapapp.answers.areas.area import Area
from mapapp.answers.areas.areas import AreaNames
from mapapp.answers.areas.levels import LANDMARK
from mapapp.answers.areas.search import Findable
from mapapp.answers.areas.sentence_names import SentenceNames
from mapapp.answers.commutes.attributes import Attribute, Attributes

_NAMES = """
county:44001 Bristol County, RI
county:44003 Kent County, RI
county:44005 Newport County, RI
county:44007 Providence County, RI
county:44009 Washington County, RI
county:25005 Bristol County, MA
state:44 Rhode Island
state:25 Massachusetts
state:41 Oregon
stplc:4414140 Central Falls city, RI
stplc:4419180 Cranston city, RI
stplc:4422960 East Providence city, RI
stplc:4449960 Newport city, RI
stplc:4454640 Pawtucket city, RI
stplc:4459000 Providence city, RI
stplc:4474300 Warwick city, RI
stplc:4480780 Woonsocket city, RI
stplc:0908420 Bristol city, CT
stplc:2559105 Salem city, MA
stplc:4164900 Salem city, OR
ctycsub:4400109280 Bristol town (Bristol, RI)
ctycsub:4400322240 East Greenwich town (Kent, RI)
ctycsub:4400951580 North Kingstown town (Washington, RI)
ctycsub:4400967460 South Kingstown town (Washington, RI)
ctycsub:4400318640 Coventry town (Kent, RI)
ctycsub:4400105140 Barrington town (Bristol, RI)
ctycsub:4400737720 Johnston town (Providence, RI)
ctycsub:4400741500 Lincoln town (Providence, RI)
ctycsub:4400766200 Smithfield town (Providence, RI)
ctycsub:4400570880 Tiverton town (Newport, RI)
ctycsub:4400977000 Westerly town (Washington, RI)
zcta:02840 02840
zcta:02886 02886
zcta:02903 02903
tract:44007000800 Tract 8, Providence County, RI
"""


_LANDMARKS = {
    "Brown University": "circle:-71.402,41.826,0.5",
    "Downtown Providence": "circle:-71.412,41.824,0.5",
    "Johnson & Wales University": "circle:-71.415,41.82,0.5",
    "Quonset Point": "circle:-71.41,41.59,0.5",
    "Providence Station": "circle:-71.413,41.829,0.5",
    "T. F. Green Airport": "circle:-71.43,41.724,0.5",
}
_ORDER = ("stplc", "ctycsub", "county")


class _FewAreas:
    """Areas by name, without a release; those in Rhode Island have jobs."""

    def __init__(self, landmarks: Mapping[str, str]) -> None:
        lines = (line.split(" ", 1) for line in _NAMES.strip().splitlines())
        keys = ((*key.partition(":")[::2], name) for key, name in lines)
        listed = [Area(f"{level}:{unit_id}", level, unit_id, name) for level, unit_id, name in keys]
        self._levels = {area.level for area in listed}
        listed += [
            Area(key, LANDMARK, "44007", f"{name} (Providence County, RI)") for name, key in landmarks.items()
        ]
        self.names = AreaNames(sorted(map(_findable, listed), key=lambda each: each.rank))

    def has_units(self, level: str) -> bool:
        return level in self._levels


def _findable(area: Area) -> Findable:
    has_jobs = area.unit_id.startswith("44") or area.level == "zcta"
    return Findable(area, (not has_jobs, _ORDER.index(area.level) if area.level in _ORDER else len(_ORDER)))


def names() -> SentenceNames:
    """Return the names of the few areas."""
    return SentenceNames(_FewAreas({}))


def names_with_landmarks() -> SentenceNames:
    """Return the names of the few areas and of a few landmarks."""
    return SentenceNames(_FewAreas(_LANDMARKS))


def names_with(*attributes: Attribute) -> SentenceNames:
    """Return the names of the few areas, and further attributes of workers."""
    return SentenceNames(_FewAreas({}), Attributes(attributes))


def names_with_counts() -> SentenceNames:
    """The same of a publication that has published counts of jobs by class."""
    return SentenceNames(_FewAreas({}), has_published_counts=True)


def attribute(name: str, title: str, *labels: str) -> Attribute:
    """Return an attribute whose values have the codes 1, 2, ...."""
    codes = tuple(str(number) for number in range(1, len(labels) + 1))
    return Attribute(name=name, title=title, codes=codes, labels=labels)


CENSUS = (
    attribute("sex", "Sex", "Male", "Female"),
    attribute(
        "race", "Race", "White alone", "Black or African American alone", "Asian alone", "Two or more races"
    ),
    attribute("ethnicity", "Ethnicity", "Not Hispanic or Latino", "Hispanic or Latino"),
    attribute(
        "education",
        "Education",
        "Less than high school",
        "High school or equivalent, no college",
        "Some college or associate degree",
        "Bachelor's degree or advanced degree",
        "Not available (workers aged 29 or younger)",
    ),
    attribute(
        "naics_sector",
        "Industry (NAICS sector)",
        "Construction",
        "Manufacturing",
        "Wholesale trade",
        "Retail trade",
        "Educational services",
        "Health care and social assistance",
        "Accommodation and food services",
        "Other services (except public administration)",
    ),
    attribute("firm_size", "Firm size", "0 to 19 employees", "20 to 499 employees", "500 or more employees"),
    attribute("distance_band", "Distance from home to work", "Up to 10 miles", "10 miles or more"),
)
"""Attributes with the labels that the Census Bureau uses."""

OTHER = (
    attribute("gender", "Gender", "Men", "Women", "Another"),
    attribute("schooling", "Schooling", "No diploma", "Diploma", "College", "Doctorate"),
    attribute("union", "Union member", "Yes", "No"),
    attribute("plant", "Plant", "Lincoln", "Coventry works", "Work", "<b>Alert</b>", "Mill " * 100),
    attribute("contract", "Contract", "Night shift", "Day shift", "Night guard"),
)
"""Attributes of an agency's own schema: other labels, a label that is a town's name, one that is a verb, and markup."""
