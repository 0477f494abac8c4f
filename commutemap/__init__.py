"""CommuteMap in Python: open a publication and analyze it, or make one.

    import commutemap as cm

    release = cm.open("ri.release")
    answer = release.inflow_outflow("Providence city", errors=True)
    int(answer.inflow), answer.inflow.error
    answer.to_frame()

docs/api.md lists the analyses, explains how areas and layers are named, and says what an answer can do. Functions that
need the engine, or much else, are loaded on first use, so that importing this stays quick.
"""

import importlib
import typing

from geodata.errors import GeodataError, GeometryError, StoreError
from mapapp.answers.analyses.about import About, Note
from mapapp.answers.analyses.change import change
from mapapp.answers.analyses.characteristics import Characteristics
from mapapp.answers.analyses.cross_table import CrossTable
from mapapp.answers.analyses.job_balance import JobBalance
from mapapp.answers.analyses.measures import Miles, Number, Ratio, caution
from mapapp.answers.analyses.over_years import OverYears, over_years
from mapapp.answers.analyses.results import (
    AreaComparison,
    AreaProfile,
    Change,
    Destinations,
    DistanceDirection,
    FlowMatrix,
    InflowOutflow,
    PairedAreas,
    Result,
)
from mapapp.answers.analyses.short_tables import shortened
from mapapp.answers.areas.argument import Near
from mapapp.answers.map_image import MapImage
from mapapp.base.errors import UsageError
from mapapp.question.area_text import ring_areas
from mapapp.question.distance_bands import EDGES_MI
from mapapp.question.filters import Filters
from mapapp.show.files.notebook import Answers, Release, open_release

if typing.TYPE_CHECKING:
    from mapapp.commands.functions import (
        Confidential,
        audit,
        export,
        lodes,
        open,
        report,
        synthesize,
        validate,
    )

__all__ = [
    "EDGES_MI",
    "About",
    "Answers",
    "AreaComparison",
    "AreaProfile",
    "Change",
    "Characteristics",
    "Confidential",
    "CrossTable",
    "Destinations",
    "DistanceDirection",
    "Filters",
    "FlowMatrix",
    "GeodataError",
    "GeometryError",
    "InflowOutflow",
    "JobBalance",
    "MapImage",
    "Miles",
    "Near",
    "Note",
    "Number",
    "OverYears",
    "PairedAreas",
    "Ratio",
    "Release",
    "Result",
    "StoreError",
    "UsageError",
    "audit",
    "caution",
    "change",
    "export",
    "lodes",
    "open",
    "open_release",
    "over_years",
    "report",
    "ring_areas",
    "shortened",
    "synthesize",
    "validate",
]


def __getattr__(name: str) -> object:
    """Load the functions of the commands on first use."""
    if name not in __all__:
        raise AttributeError(f"module 'commutemap' has no attribute {name!r}")
    value = globals()[name] = getattr(importlib.import_module("mapapp.commands.functions"), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
