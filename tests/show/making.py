"""A small release with hostile names, and reports on it."""

from __future__ import annotations

from functools import cache
from io import BytesIO
from pathlib import Path
from typing import Any

from mapapp.answers.release import Release
from mapapp.question.question import Question
from mapapp.show.reports import Form, Part, Report, build, write, write_report
from tests.releases import rewrite_table, write_release

HOSTILE = '=1+1 #let $x$ "Q" \\ */ é 😀 名 </script>'
PLACE = Question(areas=("stplc:4460",), layer="county")
QUESTIONS = {
    "destinations": PLACE,
    "profile": Question(areas=("county:10001",), analysis="profile", side="home"),
    "cross-table": Question(areas=("county:10001",), analysis="cross-table", by=("age", "industry")),
    "comparison": Question(areas=("all",), analysis="comparison", layer="tract"),
    "distance-direction": Question(areas=("county:10003",), analysis="distance-direction"),
    "inflow-outflow": Question(areas=("stplc:4459",), analysis="inflow-outflow"),
    "job-balance": Question(areas=("county:10001",), analysis="job-balance", layer="tract"),
    "characteristics": Question(areas=("county:10001",), analysis="characteristics", layer="tract"),
    "paired": Question(areas=("county:10003",), others=("county:10001",), analysis="paired", side="home"),
    "flow-matrix": Question(analysis="flow-matrix", home_layer="tract"),
}


def hostile_release(path: Path, **options: Any) -> Path:
    """The release made by hand, whose place 4460 has a name that is a formula, markup and more."""
    write_release(path, **options)

    def renamed(units: Any) -> Any:
        return units.assign(name=units["name"].mask(units["unit_id"] == "4460", HOSTILE))

    rewrite_table(path, "layers", renamed)
    return path


@cache
def built(release: Release, name: str) -> Report:
    """The report on one of the questions, with every row."""
    return build([release], [Part(QUESTIONS[name])], rows=None)


def of(release: Release, name: str, form: Form) -> bytes:
    """The same as a file."""
    stream = BytesIO()
    write(built(release, name), form, stream)
    return stream.getvalue()


def written(releases: list[Release], questions: list[Question], form: Form, **options: Any) -> bytes:
    stream = BytesIO()
    write_report(releases, [Part(question) for question in questions], form, stream, **options)
    return stream.getvalue()
