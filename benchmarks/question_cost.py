"""What a question costs the server: `python -m benchmarks.question_cost [RELEASE] [--areas 6] [--before DIR]`.

The requests of a page that shows another view are sent to the app within one process, without a network and without a
browser: callbacks as the page's list of them says, and the shapes, pictures, and flows that the new map names. Each
analysis is asked about areas drawn with a fixed seed, first as a question that nobody asked before, then once more as
another visitor would. The table has the processor time of each kind of request, of all threads, and the sum of a
question. Shapes of whole layers are not counted: browsers keep them.

`--before` measures another checkout of this repository in turn with this one, analysis by analysis, so that both meet
the same load.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

from benchmarks import rhode_island
from benchmarks.analyses import draw_areas
from commutemap import open_release
from mapapp.explore import heavy_requests
from mapapp.explore.server import create_app
from mapapp.question.analyses import ANALYSES

SMALLEST = ("{release}", "--areas", "1", "--analyses", "profile", "inflow-outflow")
KINDS = {
    "answered.data": "answer",
    "answer.children@": "expected errors",
    "map.figure": "map",
    "chart.figure": "chart",
    "matrix-data.data": "matrix",
    "..placed.data": "controls",
    "chips.children": "chosen areas",
    "take-files.children": "files",
    "..banner.children": "frame",
    '"nav"}.href': "links",
}
"""Callbacks by a part of their outputs."""
INPUTS = {"url.search", "url.pathname", "answered.data", "look.data"}
PICTURES = ("density/", "flows/", "areas.geojson", "uncertain.geojson")
PATIENCE_S = 600.0
TURNS = ("first", "again")
Costs = dict[str, dict[str, list[float]]]
"""Processor milliseconds by turn and kind of request."""


class Page:
    """The page of a visitor, as far as the server sees it."""

    def __init__(self, path: Path) -> None:
        app = create_app([path])
        self.slug, self.release = next(iter(app.server.extensions["commutemap"].releases.items()))
        self.client = app.server.test_client()
        listed = self.client.get("/_dash-dependencies").get_json()
        self.callbacks = [
            (self._kind(each["output"]), each)
            for each in listed
            if not each["clientside_function"]
            and {f"{one['id']}.{one['property']}" for one in each["inputs"]} <= INPUTS
            and any(part in each["output"] for part in KINDS)
        ]

    @staticmethod
    def _kind(output: str) -> str:
        return next((name for part, name in KINDS.items() if part in output), "")

    def ask(self, query: str) -> Iterator[tuple[str, float]]:
        """Send the requests of a view; yields the kind and the processor seconds of each."""
        drawn = ""
        for kind, callback in self.callbacks:
            body = self._body(callback, query)
            began = time.process_time()
            answer = self.client.post(
                "/_dash-update-component", json=body, headers={"Accept-Encoding": "gzip"}
            )
            yield kind, time.process_time() - began
            if answer.status_code not in (200, 204):
                sys.exit(f"{kind} of {query}: {answer.status}")
            if kind == "map":
                drawn = self._text(answer)
        for address in self._named(json.loads(drawn)):
            more = "&zoom=9&width=700" if "flows/" in address else ""
            began = time.process_time()
            answer = self.client.get(address + more, headers={"Accept-Encoding": "gzip"})
            yield next(part for part in PICTURES if part in address).strip("/"), time.process_time() - began
            if answer.status_code != 200:
                sys.exit(f"{address}: {answer.status}")

    @staticmethod
    def _text(answer: Any) -> str:
        content = answer.get_data()
        return (gzip.decompress(content) if answer.content_encoding == "gzip" else content).decode()

    def _named(self, drawn: object) -> list[str]:
        """Addresses in a map that are of the view alone."""
        if isinstance(drawn, str):
            return [drawn] if any(part in drawn for part in PICTURES) and drawn.startswith("/") else []
        values = drawn.values() if isinstance(drawn, dict) else drawn if isinstance(drawn, list) else ()
        return list(dict.fromkeys(one for value in values for one in self._named(value)))

    def _body(self, callback: dict[str, Any], query: str) -> dict[str, Any]:
        value = {
            "url.search": query,
            "url.pathname": "/",
            "answered.data": query,
            "look.data": {"search": query, "width": 700, "height": 800, "moved_by": "other"},
            "on-map.data": {"release": self.slug, "theme": "light", "view": "another"},
        }
        pages = ("/", "/method")

        def outputs(name: str) -> Any:
            part, _, prop = name.split("@")[0].rpartition(".")
            if part.startswith("{"):
                return [{"id": {"page": page, "type": "nav"}, "property": prop} for page in pages]
            return {"id": part, "property": prop}

        text = callback["output"]
        return {
            "output": text,
            "outputs": [outputs(name) for name in text[2:-2].split("...")]
            if text.startswith("..")
            else outputs(text),
            **{
                kind: [
                    each | {"value": value.get(f"{each['id']}.{each['property']}")} for each in callback[kind]
                ]
                for kind in ("inputs", "state")
            },
            "changedPropIds": ["url.search"],
        }


def queries(areas: Sequence[str], analysis: str) -> list[str]:
    """Views of an analysis, one of each area."""
    written = [quote(area, safe=":,") for area in areas]
    return [
        f"?area={one}&analysis={analysis}" + (f"&other={other}" if analysis == "paired" else "")
        for one, other in zip(written, [*written[1:], written[0]], strict=True)
    ]


def costs(page: Page, asked: Sequence[str]) -> Costs:
    """What some questions cost."""
    found: Costs = {turn: defaultdict(list) for turn in TURNS}
    for turn in TURNS:
        for query in asked:
            total = 0.0
            for kind, seconds in page.ask(query):
                found[turn][kind].append(1000 * seconds)
                total += 1000 * seconds
            found[turn]["a question"].append(total)
    return found


def warmed(path: Path) -> Page:
    """A page whose server has done once what visitors do not pay for."""
    heavy_requests.SECONDS = PATIENCE_S  # type: ignore[misc]  # a slow machine must not end what is measured
    page = Page(path)
    errors = page.release.errors
    if hasattr(errors, "prepare"):  # versions that `--before` measures may not have it
        errors.prepare()
    costs(page, ["", "?area=all"])
    return page


def answer_lines(path: Path) -> None:
    """Measure the lists of questions that come in as lines; one line of JSON for each."""
    page = warmed(path)
    for line in sys.stdin:
        print(json.dumps(costs(page, json.loads(line))), flush=True)


def argument_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("release", type=Path, nargs="?")
    parser.add_argument("--areas", type=int, default=6)
    parser.add_argument("--analyses", nargs="+", choices=list(ANALYSES), default=list(ANALYSES))
    parser.add_argument("--before", type=Path, help="another checkout of this repository")
    parser.add_argument("--answer-lines", action="store_true", help=argparse.SUPPRESS)
    rhode_island.add_data_option(parser)
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    chosen = argument_parser().parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        path = chosen.release or rhode_island.make_release(Path(folder), chosen.data)
        if chosen.answer_lines:
            answer_lines(path)
            return
        release = open_release(path)
        areas = draw_areas(release, 1 + chosen.areas)[1:]
        title = release.title
        del release
        found: dict[str, Costs] = {}
        with ExitStack() as open_ones:
            asked: dict[str, Callable[[list[str]], Costs]] = {}
            if chosen.before is None:
                asked["now"] = partial(costs, warmed(path))
            for name, source in (("before", chosen.before), ("now", Path(__file__).parents[1])):
                if chosen.before is not None:
                    asked[name] = open_ones.enter_context(served(path, source.resolve()))
            for analysis in chosen.analyses:
                for name, ask in asked.items():
                    for turn, kinds in ask(queries(areas, analysis)).items():
                        for kind, times in kinds.items():
                            found.setdefault(name, {each: defaultdict(list) for each in TURNS})[turn][
                                kind
                            ] += times
    print_costs(title, len(areas) * len(chosen.analyses), found)


@contextmanager
def served(path: Path, source: Path) -> Iterator[Callable[[list[str]], Costs]]:
    """Measure with the program of a checkout, in a process of its own."""
    process = subprocess.Popen(
        [sys.executable, "-P", str(Path(__file__).resolve()), str(path.resolve()), "--answer-lines"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=source,
        # As `serve` starts: the threads of small matrix products would take most of the time, waiting for each other.
        env={"OPENBLAS_NUM_THREADS": "1"} | os.environ | {"PYTHONPATH": str(source)},
    )
    assert process.stdin is not None
    assert process.stdout is not None
    given, taken = process.stdin, process.stdout

    def ask(asked: list[str]) -> Costs:
        given.write(json.dumps(asked) + "\n")
        given.flush()
        return dict(json.loads(taken.readline() or sys.exit("a question was not answered")))

    try:
        yield ask
    finally:
        process.communicate()


def print_costs(title: str, n: int, found: dict[str, Costs]) -> None:
    columns = [(name, turn) for name in found for turn in TURNS]
    print(f"\n{title}: {n} questions; processor ms a question, and requests a question\n")
    print("| request | " + " | ".join(f"{name}, {turn}" for name, turn in columns) + " |")
    print("|---|" + "---|" * len(columns))
    kinds = list(dict.fromkeys(kind for name in found for kind in found[name]["first"]))
    for kind in [*(kind for kind in kinds if kind != "a question"), "a question"]:
        cells = []
        for name, turn in columns:
            times = found[name][turn].get(kind, [])
            cells.append(f"{sum(times) / n:.1f} ({len(times) / n:.2g})" if times else "")
        print(f"| {kind} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
