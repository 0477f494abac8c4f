"""Sentences, and the questions that they ask about the areas of `known_names`."""

from __future__ import annotations

from mapapp.question.fields import FieldValue, Values
from mapapp.question.question import Question

PROVIDENCE, CRANSTON, WARWICK = ("stplc:4459000",), ("stplc:4419180",), ("stplc:4474300",)
NEWPORT, PAWTUCKET, WOONSOCKET = ("stplc:4449960",), ("stplc:4454640",), ("stplc:4480780",)
EAST_PROVIDENCE, CENTRAL_FALLS = ("stplc:4422960",), ("stplc:4414140",)
BRISTOL, SOUTH_KINGSTOWN = ("ctycsub:4400109280",), ("ctycsub:4400967460",)
KENT, NEWPORT_COUNTY, PROVIDENCE_COUNTY = ("county:44003",), ("county:44005",), ("county:44007",)
TOWNS: Values = {"layer": "ctycsub"}
BOTH_TOWNS: Values = {"home_layer": "ctycsub", "work_layer": "ctycsub"}
YOUNG: Values = {"age": (1,)}
MIDDLE: Values = {"age": (2,)}
OLDER: Values = {"age": (3,)}
LOW: Values = {"earnings": (1,)}
HIGH: Values = {"earnings": (3,)}
GOODS: Values = {"industry": (1,)}
TRADE: Values = {"industry": (2,)}
SERVICES: Values = {"industry": (3,)}


def _asks(analysis: str, areas: tuple[str, ...] = (), **more: FieldValue) -> Question:
    return Question(analysis=analysis, areas=areas, **more)


def workers(areas: tuple[str, ...], **more: FieldValue) -> Question:
    """Where those who work in an area live."""
    return _asks("destinations", areas, side="work", **more)


def residents(areas: tuple[str, ...], **more: FieldValue) -> Question:
    """Where those who live in an area work."""
    return _asks("destinations", areas, side="home", **more)


def profile(areas: tuple[str, ...], side: str = "work", **more: FieldValue) -> Question:
    """Who works or lives in an area."""
    return _asks("profile", areas, side=side, **more)


def parts(areas: tuple[str, ...] = (), side: str = "work", **more: FieldValue) -> Question:
    """The parts of an area."""
    return _asks("comparison", areas, side=side, **more)


def distances(areas: tuple[str, ...], side: str = "work", **more: FieldValue) -> Question:
    """How far people commute."""
    return _asks("distance-direction", areas, side=side, **more)


def pair(home: tuple[str, ...], work: tuple[str, ...], **more: FieldValue) -> Question:
    """Who lives in one area and works in another."""
    return _asks("paired", home, others=work, side="home", **more)


def matrix(home: tuple[str, ...] = (), work: tuple[str, ...] = (), **more: FieldValue) -> Question:
    """From everywhere to everywhere."""
    return _asks("flow-matrix", home, others=work, side="home", **more)


def flows(areas: tuple[str, ...]) -> Question:
    """Who comes, goes, and stays."""
    return _asks("inflow-outflow", areas)


def balance(areas: tuple[str, ...] = (), **more: FieldValue) -> Question:
    """Jobs per resident worker."""
    return _asks("job-balance", areas, **more)


def classes(code: str, areas: tuple[str, ...] = (), side: str = "work", **more: FieldValue) -> Question:
    """The jobs of a class, as published."""
    return _asks("characteristics", areas, characteristic=code, side=side, **more)


def within(step: str) -> tuple[str, ...]:
    """One step."""
    return (step,)


BY_ITS_AUTHOR = {
    "retail jobs near Pawtucket within 3 miles": profile(within("near:stplc:4454640,3"), **TRADE),
    "jobs near Newport, up to 2.5 miles": profile(within("near:stplc:4449960,2.5")),
    "Who lives near Cranston, within 5 miles?": profile(within("near:stplc:4419180,5"), "home"),
    "jobs near Newport at least 3 miles": distances(within("near:stplc:4449960,1"), edges=(3.0,)),
    "Do more people commute into Cranston than out of it?": flows(CRANSTON),
    "Do fewer people come into Newport than go out?": flows(NEWPORT),
    "Does Cranston gain or lose workers?": flows(CRANSTON),
    "Where do low-wage workers of Providence live, by town?": workers(PROVIDENCE, **LOW, **TOWNS),
    "Who commutes from Cranston to Warwick, over 55": pair(CRANSTON, WARWICK, **OLDER),
    "jobs within 2 miles of 41.82, -71.41 by industry": profile(within("circle:-71.41,41.82,2")),
    "How far do Newport residents travel to work?": distances(NEWPORT, "home"),
    "inflow and outflow of Newport": flows(NEWPORT),
    "Newport RI": workers(NEWPORT),
    "Newport, Rhode Island": workers(NEWPORT),
    "Where do people who live in Cranston work?": residents(CRANSTON),
    "Where do Newport's workers come from?": workers(NEWPORT),
    "town to town flows": matrix(**BOTH_TOWNS),
    "town-to-town": matrix(**BOTH_TOWNS),
    "commuting flows between counties": matrix(home_layer="county", work_layer="county"),
    "flow matrix by home town and work county": matrix(home_layer="ctycsub", work_layer="county"),
    "jobs in Kent County by town": parts(KENT, **TOWNS),
    "Which towns send the most workers to Providence?": workers(PROVIDENCE, **TOWNS),
    "workers in Providence who are over 55": profile(PROVIDENCE, **OLDER),
    "Compare Warwick and Cranston": parts(WARWICK + CRANSTON, layer="stplc"),
    "average commute of manufacturing workers in Pawtucket": distances(PAWTUCKET, **GOODS),
    "Jobs per resident worker by town": balance(**TOWNS),
    "Who lives in Cranston and works in Warwick?": pair(CRANSTON, WARWICK),
    "people working within 1 mile of Newport city who earn more than $3,333 a month": profile(
        within("near:stplc:4449960,1"), **HIGH
    ),
    "Residents of Kent County except Warwick by industry": profile((*KENT, "-stplc:4474300"), "home"),
    "how many jobs are in East Providence": profile(EAST_PROVIDENCE),
    "how many people live in Bristol and work in Providence or East Providence": pair(
        BRISTOL, PROVIDENCE + EAST_PROVIDENCE
    ),
    "commute in and out of Woonsocket": flows(WOONSOCKET),
    "Do people in South Kingstown commute more than 25 miles?": distances(
        SOUTH_KINGSTOWN, "home", edges=(25.0,)
    ),
    "Which way do workers of Providence commute?": distances(PROVIDENCE),
    "Show me everyone who works in Providence but lives outside Rhode Island": pair(
        ("-state:44",), PROVIDENCE
    ),
    "Where do people earning under $15,000 a year who work in Warwick live?": workers(WARWICK, **LOW),
    "Workers aged 30-54 in Pawtucket by industry": profile(PAWTUCKET, **MIDDLE),
    "how many people commute from Kent County to Providence County": pair(KENT, PROVIDENCE_COUNTY),
    "which zip codes do Newport residents work in": residents(NEWPORT, layer="zcta"),
    "high paid workers of East Providence by home ZIP code": workers(EAST_PROVIDENCE, **HIGH, layer="zcta"),
    "top ten home towns of Central Falls workers": workers(CENTRAL_FALLS, **TOWNS),
    "between 2 and 5 miles of 41.82, -71.41 jobs": profile(within("ring:-71.41,41.82,2,5")),
    "jobs between 2 and 5 miles of Newport": profile(("near:stplc:4449960,5", "-near:stplc:4449960,2")),
    "who comes into Bristol and who leaves?": flows(BRISTOL),
    "What share of Cranston's residents work in Providence?": pair(CRANSTON, PROVIDENCE),
    "jobs-housing balance of Rhode Island by county": balance(("state:44",), layer="county"),
    "commuters between Cranston and Warwick": pair(CRANSTON, WARWICK),
    "residents of tract 8, Providence County": profile(within("tract:44007000800"), "home"),
    "from Woonsocket to anywhere": residents(WOONSOCKET),
    "census tracts in Newport County with the most jobs": parts(NEWPORT_COUNTY, layer="tract"),
    "where do Massachusetts residents work in Rhode Island?": pair(("state:25",), ("state:44",)),
    "Providence County -> Kent County": pair(PROVIDENCE_COUNTY, KENT),
    "all flows between towns of Kent County": matrix(KENT, KENT, **BOTH_TOWNS),
    "workplaces of Cranston residents": residents(CRANSTON),
    "number of jobs in the 02840 zip code": profile(within("zcta:02840")),
    "03 miles around 41.5, -71.3: who works there, under 30?": profile(
        within("circle:-71.3,41.5,3"), **YOUNG
    ),
    "retail workers of Warwick 29 or younger": profile(WARWICK, **TRADE, **YOUNG),
    "Health care jobs in Providence": profile(PROVIDENCE, **SERVICES),
    "WHERE DO WORKERS OF 02903 LIVE": workers(within("zcta:02903")),
    "Cranston → Warwick": pair(CRANSTON, WARWICK),
    "Warwick and Cranston workers earning between $1,251 and $3,333": profile(
        WARWICK + CRANSTON, earnings=(2,)
    ),
    "people under 55 living in Newport County": profile(NEWPORT_COUNTY, "home", age=(1, 2)),
}
"""Written along with the grammar."""
