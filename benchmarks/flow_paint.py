"""First paint of flows on the page: `python -m benchmarks.flow_paint --release DIR [--flows 5000] [--runs 5]`.

The page's own script draws random flows in the view of a release's flow matrix, in Chromium with software WebGL. A run
begins when the script has the flows, and ends when they are drawn.
"""

from __future__ import annotations

import argparse
import json
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy

from benchmarks import chromium, commands

SMALLEST = ("--release", "{release}", "--flows", "50", "--runs", "1")

_SIZE: Final = {"width": 1440, "height": 900}
_DRAW: Final = """async () => {
  const plot = document.querySelector("#map .js-plotly-plot");
  const map = plot._fullLayout.map._subplot.map;
  const start = performance.now();
  await window.commutemap.drawFlows(window.benchmark);
  const gl = map.getCanvas().getContext("webgl2");
  await new Promise((go) => { map.once("render", go); map.triggerRepaint(); });
  gl.finish();
  gl.readPixels(0, 0, 1, 1, gl.RGBA, gl.UNSIGNED_BYTE, new Uint8Array(4));
  return performance.now() - start;
}"""


def argument_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--release", type=Path, required=True)
    parser.add_argument("--flows", type=int, default=5_000)
    parser.add_argument("--runs", type=int, default=5)
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    chosen = argument_parser().parse_args(arguments)
    with commands.serving(chosen.release) as (_, address), chromium.browsing() as browser:
        page = browser.new_page(viewport=_SIZE)
        page.set_default_timeout(chromium.PATIENCE_MS)
        page.goto(f"{address}?analysis=flow-matrix")
        page.wait_for_selector("#worker-count")
        page.wait_for_function(chromium.MAP_AT_REST, timeout=chromium.PATIENCE_MS)
        edges = page.evaluate(
            "() => document.querySelector('#map .js-plotly-plot')._fullLayout.map._subplot.map.getBounds().toArray()"
        )
        page.evaluate(f"() => (window.benchmark = {json.dumps(_flows(chosen.flows, edges))})")
        milliseconds = [float(page.evaluate(_DRAW)) for _ in range(chosen.runs)]
        page.close()
    low, high = min(milliseconds) / 1000, max(milliseconds) / 1000
    print("| flows | median s | range s |\n|---|---|---|")
    print(f"| {chosen.flows:,} | {statistics.median(milliseconds) / 1000:.2f} | {low:.2f}–{high:.2f} |")


def _flows(n_flows: int, edges: list[list[float]]) -> dict[str, object]:
    """Random flows within the view, in the form of `mapapp.show.plotly.flow_lines.flow_file`."""
    random = numpy.random.default_rng(1)
    n_places = max(n_flows // 10, 2)
    (west, south), (east, north) = edges
    workers = numpy.sort(random.pareto(1.0, n_flows) * 5 + 1).astype(int)[::-1]
    share = workers / workers[0]
    return {
        "caption": "",
        "lon": random.uniform(west, east, n_places).tolist(),
        "lat": random.uniform(south, north, n_places).tolist(),
        "home": random.integers(0, n_places, n_flows).tolist(),
        "work": random.integers(0, n_places, n_flows).tolist(),
        "workers": workers.tolist(),
        "labels": ["a → b<br>1 worker"] * n_flows,
        "errors": [""] * n_flows,
        "names": [f"place {number}" for number in range(n_places)],
        "come": [1] * n_places,
        "go": [1] * n_places,
        "radii": [[6.0] * n_places, [4.0] * n_places],
        "widths": numpy.maximum(12 * numpy.sqrt(share), 0.7).tolist(),
        "strengths": numpy.sqrt(share).tolist(),
    }


if __name__ == "__main__":
    main()
