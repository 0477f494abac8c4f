"""Figures of the page as Plotly's own objects, which refuse whatever Plotly does not know."""

from __future__ import annotations

import base64

import numpy
import plotly.graph_objects as go

from mapapp.show.plotly.plain_figures import Figure


def checked(figure: Figure) -> go.Figure:
    """The figure as an object of Plotly's, with its arrays as lists of numbers."""
    return go.Figure(_decoded(figure))


def _decoded(part: object) -> object:
    if isinstance(part, dict) and part.keys() == {"dtype", "bdata"}:
        return numpy.frombuffer(base64.b64decode(part["bdata"]), dtype=part["dtype"])
    if isinstance(part, dict):
        return {name: _decoded(value) for name, value in part.items()}
    return [_decoded(each) for each in part] if isinstance(part, list) else part
