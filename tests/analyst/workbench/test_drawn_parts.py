"""What the browser draws itself on the workbench: plain lists instead of Dash components."""

from __future__ import annotations

import json

import pytest
from dash import dcc, html

from mapapp.analyst.workbench.drawn_parts import describe_drawn
from mapapp.answers.words import aria


def test_elements_keep_tag_attributes_and_content() -> None:
    card = html.Section(
        [html.H2("Promise"), None, html.Dd(3, id="epsilon"), "a", html.I("b")],
        className="card",
        **aria(label="Promise"),
    )
    assert describe_drawn(card) == [
        [
            "section",
            {"class": "card", "aria-label": "Promise"},
            [["h2", {}, ["Promise"]], ["dd", {"id": "epsilon"}, ["3"]], "a", ["i", {}, ["b"]]],
        ]
    ]


def test_attributes_that_are_off_are_left_out() -> None:
    cell = html.Td("1", hidden=False, title=None, colSpan=2)
    assert describe_drawn([cell, ["2", [3]]]) == [["td", {"colSpan": 2}, ["1"]], "2", "3"]
    assert describe_drawn(html.P(hidden=True)) == [["p", {"hidden": True}, []]]


def test_text_is_never_markup_and_everything_can_be_sent() -> None:
    parts = describe_drawn(["<b>5</b> & more", html.P("x", style={"width": "3%"})])
    assert json.loads(json.dumps(parts)) == ["<b>5</b> & more", ["p", {"style": {"width": "3%"}}, ["x"]]]


@pytest.mark.parametrize("content", [dcc.Graph(), html.Div(dcc.Store(id="a")), {"a": 1}, object()])
def test_only_html_can_be_drawn(content: object) -> None:
    with pytest.raises(TypeError, match="the browser cannot draw a"):
        describe_drawn(content)
