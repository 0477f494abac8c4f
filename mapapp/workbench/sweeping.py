"""Sweeps of one parameter at a time around a setting, measured in this process."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import pandas

from engine.errors import EngineError
from mapapp.progress import Report
from mapapp.workbench.bench import Bench, Extent
from mapapp.workbench.setting import read_setting


@dataclass(frozen=True, slots=True)
class Sweep:
    """One parameter and the values it takes.

    Attributes
    ----------
    name : str
        The control it is.
    title, axis : str
        What the picture is called, and its horizontal axis.
    values : tuple of str
        As on P10's slides.
    marked : str
        That of the papers' setting, V3.
    log_x, shows_epsilon_final : bool
        How it is drawn.
    """

    name: str
    title: str
    axis: str
    values: tuple[str, ...]
    marked: str
    log_x: bool
    shows_epsilon_final: bool = False


SWEEPS: Final = (
    Sweep("epsilon", "KL against ε", "ε before pruning", ("2", "4", "4.6", "10", "25"), "4.6", False),
    Sweep(
        "min_retention",
        "KL against least retention",
        "least retention",
        ("0.001", "0.025", "0.05", "0.1"),
        "0.025",
        True,
        shows_epsilon_final=True,
    ),
    Sweep("delta", "KL against δ", "δ", ("1e-6", "1e-5", "1e-4", "1e-3"), "1e-6", True),
)

COLUMNS: Final = ("value", "kl_all", "kl_small", "epsilon_final")


@dataclass(slots=True)
class Swept:
    """What sweeps have found so far.

    Attributes
    ----------
    extent : {"sample", "whole"}
    scope : dict
        How much was measured, as in `Validity.facts`.
    rows : dict of str to list
        By parameter: one tuple of `COLUMNS` per value measured.
    failed : list of str
        One line per value that no promise holds for.
    papers : tuple of (float, float) or None
        KL of all and of small destinations at the papers' own setting.
    """

    extent: Extent
    scope: dict[str, Any]
    rows: dict[str, list[tuple[float, ...]]]
    failed: list[str]
    papers: tuple[float, float] | None = None

    @property
    def n_complete(self) -> int:
        """Parameters whose values are all tried."""
        tried = sum(len(rows) for rows in self.rows.values()) + len(self.failed)
        ends = [sum(len(sweep.values) for sweep in SWEEPS[: at + 1]) for at in range(len(SWEEPS))]
        return sum(tried >= end for end in ends) + (self.papers is not None)

    def frame(self, name: str) -> pandas.DataFrame:
        """Rows of one parameter, rising."""
        return pandas.DataFrame(self.rows[name], columns=list(COLUMNS)).sort_values(
            "value", ignore_index=True
        )


def run_sweeps(
    bench: Bench, values: dict[str, Any], extent: Extent, found: Callable[[Swept], None], report: Report
) -> Swept:
    """Change one parameter at a time, ε counted before pruning.

    Parameters
    ----------
    bench : Bench
    values : dict
        The controls.
    extent : {"sample", "whole"}
    found : callable
        Told what there is after every value.
    report : callable
        Progress; what it raises cancels.

    Raises
    ------
    ParameterError, UsageError
        The controls say no setting.
    """
    base = values if values["means"] == "before" else _before_pruning(values)
    swept = Swept(extent, {}, {sweep.name: [] for sweep in SWEEPS}, [])
    steps = [(sweep, value) for sweep in SWEEPS for value in sweep.values]

    def part_of(done: int) -> Report:
        def within(_stage: str, part: int, parts: int) -> None:
            report("sweeping", 100 * done + 100 * part // max(parts, 1), 100 * (len(steps) + 1))

        return within

    for done, (sweep, value) in enumerate(steps):
        within = part_of(done)
        try:
            measured = bench.measure(read_setting(base | {sweep.name: value}), extent, within)
        except EngineError as error:
            swept.failed.append(f"{sweep.axis} {value}: {' '.join(str(error).split())}")
        else:
            swept.scope = measured.facts["scope"]
            final = measured.facts["certificate"]["epsilon_final"]
            row = (float(value), measured.kl_all, measured.kl_small, float("nan") if final is None else final)
            swept.rows[sweep.name].append(row)
        within("", 1, 1)  # what was measured before reports nothing, and this one may be cancelled
        found(swept)
    within = part_of(len(steps))
    swept.papers = _papers(bench, base, extent, within)
    within("", 1, 1)
    found(swept)
    return swept


def _before_pruning(values: dict[str, Any]) -> dict[str, Any]:
    """The same with ε before pruning at the papers' value, where the controls say the whole."""
    return values | {"means": "before", "epsilon": SWEEPS[0].marked}


def _papers(bench: Bench, base: dict[str, Any], extent: Extent, report: Report) -> tuple[float, float] | None:
    """The papers' V3 under their own accountant; the prior and the coarsening stay."""
    v3 = {sweep.name: sweep.marked for sweep in SWEEPS} | {
        "accountant": "paper",
        "mechanism": "dirichlet-multinomial",
    }
    try:
        setting = read_setting(base | v3)
        measured = bench.measure(setting, extent, report)
    except EngineError:
        return None
    return measured.kl_all, measured.kl_small
