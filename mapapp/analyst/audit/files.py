"""An audit as files that only their owner may read: CSV tables, and a picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import numpy
import pandas
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from mapapp.analyst.audit.result import LIMITS, Audit
from mapapp.analyst.validity.report import write_figure, write_tables
from mapapp.analyst.validity.result import CONFIDENTIAL
from mapapp.kinds.records.audit.result import RECORDS_LIMITS, RecordsAudit
from mapapp.show.content.palette import INK, RAMP, WORK
from mapapp.show.content.tradeoff import MARK_COLORS, marks, scheme_lines

# What attackers learn, as one picture drawn by matplotlib without a browser or the network.
#
# One panel for each question: how often workers are named right by public data, by the other workers alone, by somebody
# who looks them up in each release, by somebody who knows all others, and with everything memorized; by the number of
# workers in the block and segment. One panel shows what attackers claim beside what is true. If other schemes were
# measured, two more panels for each question show what they leak against their error, on average and for lone workers.

_CONTROLS: Final = {
    "majority": ("most frequent value", RAMP[0]),
    "public_prior": ("public data", RAMP[1]),
    "lookup_without_victim": ("the others alone", RAMP[3]),
}
_RELEASE: Final = {"lookup": "looked up in {}", "informed": "all others and {}"}
_CEILING: Final = {"memorised": ("everything memorized", INK)}
_PER_ROW: Final = 3


def audit_picture(tables: Mapping[str, pandas.DataFrame], names: Sequence[str], *, note: str) -> Figure:
    """Draw the tables of an audit.

    Parameters
    ----------
    tables : mapping of str to DataFrame
        The tables of :class:`mapapp.analyst.audit.result.Audit`.
    names : sequence of str
        The releases in order.
    note : str
        Text below the panels.
    """
    attackers = tables["attackers"]
    targets = list(attackers["target"].drop_duplicates())
    schemes = tables.get("schemes")
    compared = [] if schemes is None else list(schemes["target"].drop_duplicates())
    n_panels = len(targets) + 1 + 2 * len(compared)
    n_rows = -(-n_panels // _PER_ROW)
    figure = Figure(figsize=(5 * min(n_panels, _PER_ROW), 4.2 * n_rows), dpi=110, layout="constrained")
    FigureCanvasAgg(figure)
    panels = figure.subplots(n_rows, min(n_panels, _PER_ROW), squeeze=False).ravel()
    for axes, target in zip(panels, targets, strict=False):
        _bars(axes, attackers[attackers["target"] == target], str(target), names)
    _claims(panels[len(targets)], tables["calibration"], names)
    places = iter(panels[len(targets) + 1 : n_panels])
    for target in compared:
        for n in ("all", "1"):
            assert schemes is not None
            of_class = schemes[(schemes["target"] == target) & (schemes["n"] == n)]
            draw_tradeoff(next(places), of_class, str(target), n, names)
    for axes in panels[n_panels:]:
        axes.set_visible(False)
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=4, fontsize=8, frameon=False)
    figure.supxlabel(note, fontsize=8, color=WORK, wrap=True)
    return figure


def _series(names: Sequence[str]) -> list[tuple[str, str | None, str, str]]:
    """Attacker, release (None for controls, the same for all), label, and color of every bar of a group."""
    series: list[tuple[str, str | None, str, str]] = [
        (attacker, None, label, color) for attacker, (label, color) in _CONTROLS.items()
    ]
    for number, name in enumerate(names):
        color = MARK_COLORS[number % len(MARK_COLORS)]
        series += [(attacker, name, label.format(name), color) for attacker, label in _RELEASE.items()]
    return series + [(attacker, None, label, color) for attacker, (label, color) in _CEILING.items()]


def _bars(axes: Axes, rows: pandas.DataFrame, target: str, names: Sequence[str]) -> None:
    classes = list(rows["n"].drop_duplicates())
    series = _series(names)
    width = 0.86 / len(series)
    place = numpy.arange(len(classes))
    for number, (attacker, name, label, color) in enumerate(series):
        of_attacker = rows[
            (rows["attacker"] == attacker) & (rows["release"] == (names[0] if name is None else name))
        ]
        of_class = of_attacker.set_index("n")["accuracy"].reindex(classes)
        axes.bar(
            place + (number + 0.5) * width - 0.43,
            of_class.fillna(0.0),
            width,
            label=label,
            color=color,
            hatch="//" if attacker == "informed" else None,
            edgecolor="white" if attacker == "informed" else color,
        )
    axes.set_xticks(place, [f"n = {n}" if n != "all" else "all" for n in classes])
    axes.set_ylim(0, 1)
    axes.set_title(f"{_target_title(target)}: share of workers named right", fontsize=10)


def _claims(axes: Axes, calibration: pandas.DataFrame, names: Sequence[str]) -> None:
    """Claimed belief beside what is true, for the strongest attackers on the first question."""
    target = calibration["target"].iloc[0]
    axes.plot([0, 1], [0, 1], color=RAMP[2], linewidth=1)
    for number, name in enumerate(names):
        for attacker, marker in (("lookup", "o"), ("informed", "s")):
            claims = calibration[
                (calibration["release"] == name)
                & (calibration["attacker"] == attacker)
                & (calibration["target"] == target)
            ]
            axes.plot(
                claims["mean_belief"],
                claims["accuracy"],
                marker=marker,
                markersize=4,
                color=MARK_COLORS[number % len(MARK_COLORS)],
                linestyle="-" if attacker == "lookup" else "--",
            )
    axes.set_xlim(0, 1)
    axes.set_ylim(0, 1)
    axes.set_xlabel("belief that the attacker claims")
    axes.set_title(f"{_target_title(str(target))}: share of claims that are true", fontsize=10)


def draw_tradeoff(axes: Axes, rows: pandas.DataFrame, target: str, n: str, releases: Sequence[str]) -> None:
    """Draw what schemes leak against their error, for one question and all workers or lone workers.

    Parameters
    ----------
    axes : Axes
    rows : DataFrame
        The rows of the table `schemes` for this question and this `n`. Rows whose scheme does not meet its own rule are
        not drawn.
    target, n : str
        For the title.
    releases : sequence of str
        Names of the releases in order; each is a star.
    """
    for line in scheme_lines(rows):
        axes.plot(
            line.points["median_relative_error"],
            line.points["lookup"],
            marker=".",
            linewidth=1.2,
            color=line.color,
            linestyle="--" if line.is_dashed else "-",
            label=line.scheme,
        )
    for mark in marks(rows, releases):
        axes.scatter(mark.error, mark.found, marker="*", s=120, color=mark.color, zorder=3, label=mark.name)
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axes.xaxis.set_major_formatter(
        FuncFormatter(lambda share, _: f"{share:.3g}" if share >= 1 else f"{share:.2g}")
    )
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set_ylim(bottom=0)
    axes.set_xlabel("median relative error of counts")
    who = "all workers" if n == "all" else "lone workers"
    axes.set_title(f"{_target_title(target)}, {who}: share named right by lookup", fontsize=10)
    axes.legend(fontsize=7, frameon=False)


def _target_title(target: str) -> str:
    """A target as a title; a home area is a support point."""
    return "Home area" if target == "home point" else target.capitalize()


def write_csv(audit: Audit | RecordsAudit, path: Path) -> None:
    """Write every table as a CSV file into a new directory, with the sentences and the limits in a note.

    Raises
    ------
    StoreError
        There is something at `path` already.
    """
    note = "\n".join([CONFIDENTIAL, "", *audit.sentences, "", _limits(audit)])
    write_tables(audit.tables, note, path)


def write_picture(audit: Audit | RecordsAudit, path: Path) -> None:
    """Draw what attackers learn into a PNG or SVG file.

    Raises
    ------
    StoreError
        There is something at `path` already.
    """
    note = f"Confidential, not for publication. {_limits(audit)}"
    if isinstance(audit, RecordsAudit):
        from mapapp.kinds.records.audit.picture import records_audit_picture

        names = [records["name"] for records in audit.facts["records"]]
        write_figure(
            records_audit_picture(audit.tables, names, titles=audit.facts["titles"], note=note), path
        )
        return

    names = [release["name"] for release in audit.facts["releases"]]
    write_figure(audit_picture(audit.tables, names, note=note), path)


def _limits(audit: Audit | RecordsAudit) -> str:
    return RECORDS_LIMITS if isinstance(audit, RecordsAudit) else LIMITS
