"""Sweeps of one parameter at a time around a setting, measured in this process."""

from __future__ import annotations

from collections.abc import Callable

from engine.errors import EngineError
from mapapp.base.progress import Report, part_of
from mapapp.workbench.measured_setting import Extent
from mapapp.workbench.session import Session
from mapapp.workbench.setting import Values, read_setting
from mapapp.workbench.sweep_results import SWEEPS, SweepResults, sweeps_of


def run_sweeps(
    session: Session,
    values: Values,
    extent: Extent,
    show: Callable[[SweepResults], None],
    report: Report,
) -> SweepResults:
    """Change one parameter at a time; ε is counted before pruning, and as a whole where nothing is pruned.

    Parameters
    ----------
    session : Session
    values : mapping
        Of the controls.
    extent : {"sample", "whole"}
    show : callable
        Called with the results so far, after every value.
    report : callable
        Progress; an exception from it cancels.

    Raises
    ------
    ParameterError, UsageError
        The controls hold no valid setting.
    """
    base = _base(values)
    results = SweepResults(extent, sweeps_of(str(values["mechanism"])))
    steps = [(sweep, value) for sweep in results.sweeps for value in sweep.values]

    for done, (sweep, value) in enumerate(steps):
        within = part_of(report, done, len(steps) + 1, stage="sweeping")
        try:
            measured = session.measure(read_setting({**base, sweep.name: value}), extent, within)
        except EngineError as error:
            results.failed.append(f"{sweep.axis} {value}: {' '.join(str(error).split())}")
        else:
            results.scope = measured.facts["scope"]
            final = measured.facts["certificate"]["epsilon_final"]
            row = (float(value), measured.kl_all, measured.kl_small, final)
            results.rows[sweep.name].append(row)
        within("", 1, 1)  # a known result reports nothing, and the sweep may have been cancelled
        show(results)
    within = part_of(report, len(steps), len(steps) + 1, stage="sweeping")
    results.papers = _papers(session, base, extent, within)
    within("", 1, 1)
    show(results)
    return results


def _base(values: Values) -> Values:
    """The same with ε as the sweeps count it."""
    if values["mechanism"] == "exponential":
        return values if values["means"] == "whole" else {**values, "means": "whole", "epsilon": "6.5"}
    return values if values["means"] == "before" else _before_pruning(values)


def _before_pruning(values: Values) -> Values:
    """The same with the papers' ε before pruning in place of the whole ε′."""
    return {**values, "means": "before", "epsilon": SWEEPS[0].marked}


def _papers(session: Session, base: Values, extent: Extent, report: Report) -> tuple[float, float] | None:
    """KL of the papers' V3 under their own accountant, with the prior and the coarsening of the controls."""
    v3 = {sweep.name: sweep.marked for sweep in SWEEPS}
    v3 |= {"accountant": "paper", "mechanism": "dirichlet-multinomial"}
    try:
        measured = session.measure(read_setting(_before_pruning({**base, **v3})), extent, report)
    except EngineError:
        return None
    return measured.kl_all, measured.kl_small
