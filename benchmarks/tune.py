"""How long a move of a control takes at the workbench: `python -m benchmarks.tune ri.dataset`.

In Debian's Chromium with software WebGL on the same machine: from the key press on a slider to new numbers on the
screen, of the sample and of all tracts, with both presets. Without a browser also the processor time of a move of each
control, and of each answer of the Records panel. `--picture FILE` and `--records-picture FILE` take the pictures of
docs/tune.md.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks import chromium
from benchmarks.chromium import MAP_AT_REST, PATIENCE_MS
from benchmarks.readme_picture import slimmed
from engine.errors import ParameterError
from mapapp.analyst.workbench.app import create_app, listen
from mapapp.analyst.workbench.fields import find_nearest_stop
from mapapp.analyst.workbench.results import Extent
from mapapp.analyst.workbench.session import Session
from mapapp.analyst.workbench.setting import CONTROLS as SHOWN
from mapapp.analyst.workbench.setting import UNUSED, Setting, read_setting
from mapapp.base.errors import UsageError
from mapapp.base.progress import silent
from mapapp.kinds.records.measure.workers import RecordWorkers
from mapapp.kinds.records.tune import figures
from mapapp.kinds.records.tune.expected import ExpectedRecords, RecordsExpectation
from mapapp.kinds.records.tune.setting import KIND, start_values
from mapapp.kinds.release.make.options import Preset
from tests.running_server import running

CONTROLS = (
    "epsilon",
    "delta",
    "min_retention",
    "retention_scale",
    "tract_radius_mi",
    "puma_radius_mi",
    "far_state_miles",
    "strength",
    "q50_mi",
    "q90_mi",
    "beyond_100",
)
PRESETS: tuple[Preset, ...] = ("onthemap-v3", "recommended")
EXTENTS: tuple[Extent, ...] = ("sample", "whole")
NUMBERS = (
    "() => [document.getElementById('setting-panel').innerText, document.getElementById('scope').innerText]"
)
CHANGED = """before => document.getElementById('scope').innerText
  && document.getElementById('setting-panel').innerText !== before"""
ALL = """before => document.getElementById('scope').innerText.startsWith('All')
  && document.getElementById('setting-panel').innerText !== before"""
SMALLEST = ("{dataset}", "--controls", "epsilon", "--settings", "1")


def argument_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("dataset", type=Path)
    parser.add_argument("--picture", type=Path)
    parser.add_argument("--records-picture", type=Path, help="of the Records panel; nothing is measured")
    parser.add_argument("--controls", nargs="+", choices=CONTROLS, default=CONTROLS)
    parser.add_argument("--settings", type=int, default=3, help="to measure without a browser")
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    asked = argument_parser().parse_args(arguments)
    app = create_app(asked.dataset)
    if asked.records_picture:
        with running(*listen(app, port=0)) as address, opened(address) as page:
            records_taken(page, asked.records_picture)
        return
    session = app.server.extensions["workbench"][0]
    print(f"sample: {session.sample.size} of {session.data.tract.size} workplace tracts")
    measured(session, asked.controls, asked.settings)
    records_answered(RecordWorkers(session.store), asked.settings)
    with running(*listen(app, port=0)) as address:
        for preset in PRESETS:
            used = used_of(asked.controls, str(session.preset_values(preset)["mechanism"]))
            if not used:
                continue
            with opened(address, preset) as page:
                rows = [(name, *moved(page, name)) for name in used]
            print(f"\n| control, {preset} | sample, s | all tracts, s |\n|---|---|---|")
            for name, sample_s, whole_s in rows:
                print(f"| {name} | {sample_s:.2f} | {whole_s:.2f} |")
            print(f"| median | {median(row[1] for row in rows):.2f} | {median(row[2] for row in rows):.2f} |")
        if asked.picture:
            with opened(address, "onthemap-v3") as page:
                taken(page, asked.picture)


def used_of(controls: Sequence[str], mechanism: str) -> list[str]:
    """The controls that a mechanism uses."""
    return [name for name in controls if name not in UNUSED.get(mechanism, ())]


@contextmanager
def opened(address: str, preset: str = "onthemap-v3") -> Iterator[Any]:
    """Yield a page of the workbench, its preset measured on all tracts and the map at rest."""
    with chromium.browsing() as browser:
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        page.set_default_timeout(PATIENCE_MS)
        page.goto(address)
        start_from(page, preset)
        page.wait_for_timeout(3_000)
        yield page
        page.close()


def start_from(page: Any, preset: str) -> None:
    """Wait for the first setting, which is the recommended one, then start from a preset."""
    page.wait_for_selector("#kl-all")
    page.wait_for_function(ALL, arg="")
    if preset != "recommended":
        before, _ = page.evaluate(NUMBERS)
        page.locator(f"#preset-{preset}").click()
        page.wait_for_function(ALL, arg=before)
    page.wait_for_function(MAP_AT_REST)


def measured(session: Session, controls: Sequence[str], times: int) -> None:
    """Processor time that a move of each control takes without a browser, over settings not measured before."""
    for preset in PRESETS:
        start = session.preset_values(preset)
        for extent in EXTENTS:
            session.measure(read_setting(start), extent, silent)
        print(f"\n| control, {preset} | sample, ms | all tracts, ms |\n|---|---|---|")
        for name in used_of(controls, str(start["mechanism"])):
            stops = SHOWN[name].stops.split()
            chosen = find_nearest_stop(str(start[name]), stops)
            others = [text for at, text in enumerate(stops) if at != chosen]
            nearest_first = sorted(others, key=lambda text: abs(stops.index(text) - chosen))
            every = (allowed({**start, name: text}) for text in nearest_first)
            settings = list(islice((setting for setting in every if setting is not None), times))
            spent = [median(spent_on(session, setting, extent) for setting in settings) for extent in EXTENTS]
            print(f"| {name} | {spent[0]:.0f} | {spent[1]:.0f} |", flush=True)


def allowed(values: Mapping[str, str | bool | None]) -> Setting | None:
    """The setting of some values; None if they are refused, as a percentile of distances below the one before it."""
    try:
        return read_setting(values)
    except (ParameterError, UsageError):
        return None


def spent_on(session: Session, setting: Setting, extent: Extent) -> float:
    """Milliseconds of processor time that a setting takes."""
    begin = time.process_time()
    session.measure(setting, extent, silent)
    return 1000 * (time.process_time() - begin)


def records_answered(workers: RecordWorkers, times: int) -> None:
    """Processor time of the Records panel's answers, with controls moved to where they were not before."""
    start, expectation = start_values(workers), RecordsExpectation(workers)
    begin = time.process_time()
    answer = answer_to(expectation, start)
    print(f"\nRecords, processor time: first answer {time.process_time() - begin:.2f} s")
    print("\n| control | numbers, ms | with charts, ms |\n|---|---|---|")
    k, tries = answer.test.min_plausible_seeds, int(str(start["n_tries"]))
    moves: dict[str, list[dict[str, object]]] = {
        "kept": [{"kept": kept} for kept in (3, 2, 1, 0, 5)],
        "min_seeds": [{"min_seeds": str(k * share // 20)} for share in (21, 22, 23, 24, 25)],
        "threshold_epsilon": [
            {
                "given": "test",
                "threshold_epsilon": f"{float(answer.test.threshold_epsilon or 0) * (1 + n / 50):.4g}",
            }
            for n in range(1, 6)
        ],
        "forced_fail": [{"forced_fail": f"0.0{n}"} for n in (3, 4, 5, 6, 7)],
        "n_tries": [{"n_tries": str(tries * share // 10)} for share in (9, 8, 7, 6, 5)],
        "epsilon": [{"given": "epsilon", "epsilon": f"{n}"} for n in (20, 21, 22, 23, 24)],
    }
    for name, changes in moves.items():
        numbers, charts = [], []
        for change in changes[:times]:
            values = start | change
            begin = time.process_time()
            expectation.of(values)
            numbers.append(1000 * (time.process_time() - begin))
            answer_to(expectation, values)
            charts.append(1000 * (time.process_time() - begin))
        print(f"| {name} | {median(numbers):.0f} | {median(charts):.0f} |")


def answer_to(expectation: RecordsExpectation, values: dict[str, object]) -> ExpectedRecords:
    """What the panel shows, with its charts."""
    found = expectation.of(values)
    cost = expectation.cost(found.plan)
    figures.pass_figure(found.seed_sizes, found.names, found.test, found.plan.kept)
    figures.groups_figure(expectation.workers.sizes, found.names, found.plan.kept)
    if cost is not None:
        figures.tries_figure(cost.tries, cost.ours, cost.paper, (1, 1.0))
    return found


def records_taken(page: Any, picture: Path) -> None:
    """The Records panel with its promise and who passes."""
    page.get_by_role("tab", name="Records").click()
    page.locator(f"#{KIND}-pass-chart .js-plotly-plot .trace").first.wait_for(state="attached")
    page.evaluate(
        """kind => {
      const panel = document.querySelector(".panel.result");
      panel.scrollTo(0, panel.scrollTop + document.getElementById(`${kind}-promise`).getBoundingClientRect().top + 160);
    }""",
        KIND,
    )
    page.evaluate("document.activeElement.blur()")
    page.wait_for_function(MAP_AT_REST)
    page.wait_for_timeout(3_000)
    picture.write_bytes(slimmed(page.screenshot()))


def moved(page: Any, name: str) -> tuple[float, float]:
    """Seconds from a key press on a slider to numbers of the sample, and of all tracts."""
    page.evaluate("document.querySelectorAll('details.filters').forEach(part => { part.open = true; })")
    thumb = page.locator(f"#{name}-slider [role=slider]")
    thumb.focus()
    before, _ = page.evaluate(NUMBERS)
    start = time.perf_counter()
    page.keyboard.press("ArrowLeft")
    page.wait_for_function(CHANGED, arg=before)
    sample = time.perf_counter() - start
    page.wait_for_function(ALL, arg=before)
    whole = time.perf_counter() - start
    page.wait_for_function(MAP_AT_REST)
    page.wait_for_timeout(1_500)
    return sample, whole


def taken(page: Any, picture: Path) -> None:
    """The workbench with a setting beside the one before."""
    moved(page, "strength")
    page.evaluate(
        "document.querySelectorAll('details.filters').forEach((part, at) => { part.open = at < 3; })"
    )
    page.evaluate("document.querySelectorAll('.panel').forEach(part => part.scrollTo(0, 0))")
    page.evaluate("document.activeElement.blur()")
    page.wait_for_function(MAP_AT_REST)
    page.wait_for_timeout(3_000)
    picture.write_bytes(slimmed(page.screenshot()))


if __name__ == "__main__":
    main()
