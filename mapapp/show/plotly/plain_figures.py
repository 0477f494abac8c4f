"""Figures as plain JSON objects, in the form in which Plotly's own objects would be sent to a page.

Plotly's objects check and copy every value of a figure each time, which takes longer than most answers. The page's
figures hardly differ in shape, so tests make Plotly's objects of them: these refuse anything that Plotly does not know.
"""

from __future__ import annotations

import base64
import copy
from functools import lru_cache
from typing import Final

import numpy
import numpy.typing as npt
import plotly.io

from geodata.json_objects import JsonObject

Trace = JsonObject
Figure = JsonObject
"""A figure: `data`, its traces, and `layout`."""

_SHORT: Final = {"int8": "i1", "int16": "i2", "int32": "i4", "float32": "f4", "float64": "f8"}


def figure(traces: list[Trace], layout: JsonObject) -> Figure:
    """A figure with the look that Plotly gives to all figures."""
    return {"data": traces, "layout": {"template": _template(), **layout}}


@lru_cache(maxsize=1)
def _template() -> JsonObject:
    template: JsonObject = copy.deepcopy(plotly.io.templates[plotly.io.templates.default].to_plotly_json())
    return template


def numbers(values: npt.NDArray[numpy.generic]) -> object:
    """An array as Plotly's typed arrays: whole numbers in the fewest bytes that hold all, an empty one as a list."""
    if not values.size:
        return []
    if values.dtype.kind == "i":
        low, high = int(values.min()), int(values.max())
        fitting = [kind for kind in (numpy.int8, numpy.int16, numpy.int32) if _holds(kind, low, high)]
        if not fitting:
            return values.tolist()
        values = values.astype(fitting[0])
    return {"dtype": _SHORT[str(values.dtype)], "bdata": base64.b64encode(values.tobytes()).decode("ascii")}


def _holds(kind: type[numpy.signedinteger], low: int, high: int) -> bool:
    limits = numpy.iinfo(kind)
    return bool(limits.min <= low and high <= limits.max)
