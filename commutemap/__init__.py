"""CommuteMap in Python: open a release and analyze it.

    import commutemap as cm

    release = cm.open_release("ri.release")
    answer = release.inflow_outflow("Providence city", errors=True)
    answer.inflow.value, answer.inflow.expected_error
    answer.to_frame()

docs/api.md lists the analyses, explains how areas and layers are named, and says what an answer can do.
"""

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
from mapapp.show.files.notebook import Release, open_release

__all__ = [
    "EDGES_MI",
    "About",
    "AreaComparison",
    "AreaProfile",
    "Change",
    "Characteristics",
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
    "caution",
    "change",
    "open_release",
    "over_years",
    "ring_areas",
    "shortened",
]
