"""Pages, reports, and messages about pupils speak of pupils and zones, and never of workers and counties."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mapapp.answers.release import Release
from mapapp.answers.wording import Nouns, reader_text
from mapapp.explore.pages import method
from mapapp.explore.server import create_app
from mapapp.question.analyses import ANALYSES
from tests.commands.running import refused, run_here
from tests.explore.page_in_process import PageInProcess
from tests.geodata import zone_samples as samples

AMERICAN = re.compile(
    r"\b(?:count(?:y|ies)|(?:super)?pumas?|census|tracts?|blocks?|zip|workers?|jobs?|states? "
    r"beyond|\$[\d,]+)\b",
    re.IGNORECASE,
)
READ = ("children", "title", "label", "placeholder", "alt", "aria-label", "description")
"""Properties of components that readers read."""
ABOUT_PEOPLE = [name for name in ANALYSES if name not in ("profile", "cross-table", "characteristics")]
"""Analyses that do not need attributes of people."""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A release and published counts of pupils."""
    folder = tmp_path_factory.mktemp("pupils")
    samples.write_polygons(folder / "zones.geojson")
    samples.write_pairs(folder / "flows.csv")
    files = (
        "--zones",
        folder / "zones.geojson",
        "--flows",
        folder / "flows.csv",
        "--unit-of-count",
        "pupils",
        "-q",
    )
    for arguments in (
        ("import", folder / "p.published", *files, "--published", "--declare-public", samples.PUBLISHER),
        ("import", folder / "p.dataset", *files, "--counts-are-public", "Trips 2020"),
        ("synthesize", folder / "p.dataset", folder / "p.release", "-q"),
    ):
        done = run_here(*arguments)
        assert done.code == 0, done.err
    return folder


def read_texts(part: Any) -> Iterator[str]:
    """Every text of some JSON components that a reader reads, menus included."""
    if isinstance(part, str):
        yield part
    elif isinstance(part, list):
        for item in part:
            yield from read_texts(item)
    elif isinstance(part, dict) and "props" in part:
        for name, value in part["props"].items():
            if name in READ or (name == "data" and isinstance(value, list)):
                yield from read_texts(value)
    elif isinstance(part, dict) and "label" in part:
        yield from read_texts(part["label"])


def assert_no_american(texts: Iterator[str]) -> None:
    listed = list(texts)
    assert listed
    assert [text for text in listed if AMERICAN.search(text)] == []


@pytest.mark.parametrize("name", ["p.release", "p.published"])
@pytest.mark.parametrize("analysis", ABOUT_PEOPLE)
def test_the_page_of_an_analysis(analysis: str, name: str, made: Path) -> None:
    """A label, sentence, table head, legend, or caption that was forgotten would show."""
    area = "area=zone:000" + "&other=zone:001" * (analysis == "paired")
    page = PageInProcess(create_app([made / name]).server.test_client(), f"?analysis={analysis}&{area}")
    texts = [
        text
        for place, value in page.state.items()
        if place.rpartition(".")[2] in READ
        for text in read_texts(value)
    ]
    table = page.state["area-data.data"]
    layout = page.figure["layout"]
    texts += [
        table["title"],
        *table["heads"],
        *(note.get("text", "") for note in layout.get("annotations", [])),
    ]
    assert_no_american(iter(texts))
    assert any("pupils" in text for text in texts)


@pytest.mark.parametrize("name", ["p.release", "p.published"])
def test_the_method_page(name: str, made: Path) -> None:
    """What is promised must be said of what the publication has."""
    release = Release.open(made / name)
    page = method.page(release, [release])
    assert_no_american(_without_certificate(read_texts(_plain(page))))


def _plain(part: Any) -> Any:
    """Components as the JSON that a browser gets."""
    if hasattr(part, "to_plotly_json"):
        return _plain(part.to_plotly_json())
    if isinstance(part, dict):
        return {key: _plain(value) for key, value in part.items()}
    return [_plain(item) for item in part] if isinstance(part, list | tuple) else part


def _without_certificate(texts: Iterator[str]) -> Iterator[str]:
    """The certificate itself is shown as it is written."""
    return (text for text in texts if '"schema_version"' not in text)


@pytest.mark.parametrize("name", ["p.release", "p.published"])
@pytest.mark.parametrize("analysis", ABOUT_PEOPLE)
def test_reports_and_answers(analysis: str, name: str, made: Path, tmp_path: Path) -> None:
    """A report that speaks of jobs in census blocks would be about something else."""
    has_two = analysis in ("paired", "flow-matrix")
    area = ["--home-area", "Zone 1", "--work-area", "Zone 2"] if has_two else ["--area", "Zone 1"]
    report = tmp_path / "r.html"
    done = run_here("report", made / name, "--analysis", analysis, *area, "-o", report, "-q")
    assert done.code == 0, done.err
    shown = re.sub(
        r"<(style|script|pre|code)\b.*?</\1>", "", report.read_text(encoding="utf-8"), flags=re.DOTALL
    )
    assert_no_american(iter(html.unescape(re.sub(r"<[^>]*>", "\n", shown)).splitlines()))
    done = run_here("analyze", made / name, "--analysis", analysis, *area, "-q")
    # Columns of tables keep their names, which programs read.
    sentences = [line for line in done.out.splitlines() if not line.startswith("    ")]
    assert_no_american(iter(sentences))


def test_names_of_places_stay() -> None:
    """County Durham is no zone Durham, and a certificate that states something is no region."""
    text = "About 12 workers live in County Durham, one of 3 counties; the certificate states it. Jobs are exact."
    wanted = (
        "About 12 pupils live in County Durham, one of 3 zones; the certificate states it. Pupils are exact."
    )
    assert reader_text(text, Nouns("pupil", "pupils")) == wanted
    assert reader_text(text, None) == text
    assert reader_text("a worker in a block", Nouns("employee", "employees")) == "an employee in a zone"


def test_the_unit_of_count_is_a_noun(made: Path, tmp_path: Path) -> None:
    """A word whose singular nobody knows would be written wrong in every sentence."""
    files = ("--zones", made / "zones.geojson", "--flows", made / "flows.csv")
    for noun in ("people", "trips 2", "a/", "<b>/<i>"):
        assert "give a plural such as pupils" in refused(
            "import", tmp_path / "x", *files, "--unit-of-count", noun, "-q"
        )
