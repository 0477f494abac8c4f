"""What schemes leak against their error: `python -m benchmarks.audit_tradeoff [TABLES] [--output FILE.png]`.

TABLES is the folder of `commutemap audit … --against … --csv TABLES`. Without it, the small demo is audited against a
few schemes. Prints the tables of docs/replications/rhode-island.md and draws the trade-off.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from pathlib import Path

import pandas
from matplotlib.figure import Figure

from benchmarks.commands import commutemap
from mapapp.analyst.audit.files import draw_tradeoff

SMALLEST = ("--output", "{folder}/audit-tradeoff.png")

_AGAINST = ("k=2,8,64", "l-entropy=2", "kd=0.5,1,4:height=6", "exponential=2,4,8")


def argument_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("tables", type=Path, nargs="?", help="folder of `commutemap audit --csv`")
    parser.add_argument("--output", type=Path, default=None, help="picture to write (.png or .svg)")
    return parser


def of_demo(folder: Path) -> Path:
    """Audit the small demo with both presets; return the folder of tables."""
    dataset = folder / "demo.dataset"
    commutemap("demo", dataset, "-q")
    settings = [text for preset in ("recommended", "onthemap-v3") for text in ("--setting", preset)]
    against = [text for spec in _AGAINST for text in ("--against", spec)]
    commutemap("audit", dataset, *settings, *against, "--csv", folder / "tables", "-q")
    return folder / "tables"


def report(tables: Path, output: Path | None) -> None:
    """Print the tables and draw the picture."""
    schemes = pandas.read_csv(tables / "schemes.csv", dtype={"n": str})
    tradeoff = pandas.read_csv(tables / "tradeoff.csv", dtype={"n": str})
    targets = list(schemes["target"].drop_duplicates())
    for target in targets:
        print(
            f"\n| {target} | median relative error | named right, all | named right, lone |\n|---|---|---|---|"
        )
        mine = schemes[schemes["target"] == target]
        lone = mine[mine["n"] == "1"].set_index("label")["lookup"]
        for row in mine[mine["n"] == "all"].to_dict("records"):
            print(
                f"| {row['label']} | {row['median_relative_error']:.1%} | {row['lookup']:.3f} | "
                f"{lone[row['label']]:.3f} |"
            )
    print(
        "\n| at the error of | question | workers | release | scheme | scheme leaks |\n|---|---|---|---|---|---|"
    )
    for row in tradeoff.to_dict("records"):
        leaks = f"{row['scheme_leakage']:.3f}" if row["reached"] else "not reached"
        print(
            f"| {row['release']} ({row['median_relative_error']:.1%}) | {row['target']} | "
            f"{'all' if row['n'] == 'all' else 'lone'} | {row['leakage']:.3f} | {row['scheme']} | {leaks} |"
        )
    if output is not None:
        _draw(schemes, targets, output)


def _draw(schemes: pandas.DataFrame, targets: Sequence[str], output: Path) -> None:
    """Two panels for each question: all workers, and lone workers."""
    releases = list(schemes[schemes["scheme"] == "release"]["label"].drop_duplicates())
    figure = Figure(figsize=(11, 3.8 * len(targets)), layout="constrained")
    panels = figure.subplots(len(targets), 2, squeeze=False)
    for row, target in zip(panels, targets, strict=True):
        for axes, n in zip(row, ("all", "1"), strict=True):
            mine = schemes[(schemes["target"] == target) & (schemes["n"] == n)]
            draw_tradeoff(axes, mine, target, n, releases)
    figure.savefig(output, dpi=110, metadata={"Software": None})


def main(arguments: Sequence[str] | None = None) -> None:
    chosen = argument_parser().parse_args(arguments)
    if chosen.tables is not None:
        report(chosen.tables, chosen.output)
        return
    with tempfile.TemporaryDirectory() as folder:
        report(of_demo(Path(folder)), chosen.output)


if __name__ == "__main__":
    main()
