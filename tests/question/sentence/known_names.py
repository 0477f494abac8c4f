"""A few areas around Newport, and where the jobs of a release are: enough to read sentences without a release."""

from __future__ import annotations

from collections.abc import Iterable

from mapapp.answers.area import Area
from mapapp.answers.sentence_names import SentenceNames
from mapapp.errors import UsageError

_NAMES = """
county:44001 Bristol County, RI
county:44003 Kent County, RI
county:44005 Newport County, RI
county:44007 Providence County, RI
county:44009 Washington County, RI
county:25005 Bristol County, MA
state:44 Rhode Island
state:25 Massachusetts
stplc:4414140 Central Falls city, RI
stplc:4419180 Cranston city, RI
stplc:4422960 East Providence city, RI
stplc:4449960 Newport city, RI
stplc:4454640 Pawtucket city, RI
stplc:4459000 Providence city, RI
stplc:4474300 Warwick city, RI
stplc:4480780 Woonsocket city, RI
stplc:0908420 Bristol city, CT
ctycsub:4400109280 Bristol town (Bristol, RI)
ctycsub:4400322240 East Greenwich town (Kent, RI)
ctycsub:4400951580 North Kingstown town (Washington, RI)
ctycsub:4400967460 South Kingstown town (Washington, RI)
ctycsub:4400318640 Coventry town (Kent, RI)
zcta:02840 02840
zcta:02903 02903
tract:44007000800 Tract 8, Providence County, RI
"""


class _FewAreas:
    """Areas by name, without a release."""

    def __init__(self) -> None:
        lines = (line.split(" ", 1) for line in _NAMES.strip().splitlines())
        keys = ((*key.partition(":")[::2], name) for key, name in lines)
        self.all = [Area(f"{level}:{unit_id}", level, unit_id, name) for level, unit_id, name in keys]

    def named(self) -> Iterable[Area]:
        return self.all

    def has_jobs(self, area: Area) -> bool:
        return area.unit_id.startswith("44") or area.level == "zcta"

    def has_units(self, level: str) -> bool:
        return any(area.level == level for area in self.all)

    def find(self, text: str) -> str:
        raise UsageError(f"area {text!r}: several units have that name")


def names() -> SentenceNames:
    """Return the names of the few areas."""
    return SentenceNames(_FewAreas())
