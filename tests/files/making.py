"""A small release with hostile names, and reports on it."""

from __future__ import annotations

from functools import cache
from io import BytesIO
from pathlib import Path
from typing import Any

from mapapp.answers.served_release import ServedRelease
from mapapp.files.reports import Form, Report, build, write, write_report
from mapapp.question.address import ViewState
from tests.releases import rewrite_table, write_release

HOSTILE = '=1+1 #let $x$ "Q" \\ */ é 😀 名 </script>'
PLACE = ViewState(areas=("stplc:4460",), layer="county")
QUESTIONS = {
    "destination": PLACE,
    "area-profile": ViewState(areas=("county:10001",), analysis="area-profile", side="home"),
    "area-comparison": ViewState(areas=("all",), analysis="area-comparison", layer="tract"),
    "distance-direction": ViewState(areas=("county:10003",), analysis="distance-direction"),
    "inflow-outflow": ViewState(areas=("stplc:4459",), analysis="inflow-outflow"),
    "paired-area": ViewState(
        areas=("county:10003",), others=("county:10001",), analysis="paired-area", side="home"
    ),
    "flow-matrix": ViewState(analysis="flow-matrix", home_layer="tract"),
}


def hostile_release(path: Path, **options: Any) -> Path:
    """The release made by hand, whose place 4460 has a name that is a formula, markup and more."""
    write_release(path, **options)

    def renamed(units: Any) -> Any:
        return units.assign(name=units["name"].mask(units["unit_id"] == "4460", HOSTILE))

    rewrite_table(path, "layers", renamed)
    return path


@cache
def built(release: ServedRelease, name: str) -> Report:
    """The report on one of the questions."""
    return build([release], [QUESTIONS[name]])


def of(release: ServedRelease, name: str, form: Form) -> bytes:
    """The same as a file."""
    stream = BytesIO()
    write(built(release, name), form, stream)
    return stream.getvalue()


def written(releases: list[ServedRelease], states: list[ViewState], form: Form, **options: Any) -> bytes:
    stream = BytesIO()
    write_report(releases, states, form, stream, **options)
    return stream.getvalue()
