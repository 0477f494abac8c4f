"""CommuteMap from Python: open a release and ask it.

    from mapapp.api import Filters, open_release

    release = open_release("ri.release")
    answer = release.inflow_outflow("county:44007", Filters(age=(1,)))
    print(answer.inflow.value, answer.groups)

What can be asked, and how an area is written, is in docs/api.md; the answers are described in
`mapapp.answers.results`.
"""

from mapapp.answers.analyses import Release, open_release
from mapapp.answers.change import change
from mapapp.answers.results import (
    About,
    AreaComparison,
    AreaProfile,
    Change,
    Destinations,
    DistanceDirection,
    FlowMatrix,
    InflowOutflow,
    Miles,
    Number,
    PairedAreas,
    Result,
    caution,
    shortened,
)
from mapapp.question.area_text import ring_areas
from mapapp.question.distance_bands import EDGES_MI
from mapapp.question.filters import Filters

__all__ = [
    "EDGES_MI",
    "About",
    "AreaComparison",
    "AreaProfile",
    "Change",
    "Destinations",
    "DistanceDirection",
    "Filters",
    "FlowMatrix",
    "InflowOutflow",
    "Miles",
    "Number",
    "PairedAreas",
    "Release",
    "Result",
    "caution",
    "change",
    "open_release",
    "ring_areas",
    "shortened",
]
