"""Worker records against a parameter: choices of `commutemap records`, each planned, drawn in memory, and measured.

CONFIDENTIAL, every row: for the analyst's screen and files, never for publication. Nothing is released, so nothing is
charged. A choice that `commutemap records` would refuse becomes a row that says why. Rows, files, and fingerprints are
those of :mod:`mapapp.analyst.sweep.sweep`.

Source: docs/validity.md, "Sweeps of worker records".
"""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from fractions import Fraction
from importlib.metadata import version
from typing import Final

import numpy as np

from engine.errors import EngineError
from mapapp.analyst.sweep.sweep import Axis, Cell, SweptRow, mean_and_interval, one_line
from mapapp.base.errors import UsageError
from mapapp.base.progress import Report, silent
from mapapp.kinds.records.make.choice import SWEPT_OF_RECORDS, Choice
from mapapp.kinds.records.make.plan import Plan
from mapapp.kinds.records.measure.draws import draw_key, draw_plan
from mapapp.kinds.records.measure.margins import MARGINS
from mapapp.kinds.records.measure.workers import RecordWorkers

__all__ = ["RECORD_COLUMNS", "SweptChoice", "run_records_sweep", "swept_choices"]

_CHOSEN: Final[Mapping[str, Callable[[str], Cell]]] = {
    **dict.fromkeys(("kept", "structure", "accountant", "epsilon"), str),
    **dict.fromkeys(("min_seeds", "seed_floor", "n_min", "tries", "records"), int),
    **dict.fromkeys(("threshold_epsilon", "forced_fail", "similarity"), float),
}
_PROMISED: Final = (
    "epsilon_add_remove",
    "delta_add_remove",
    "epsilon_replace_one",
    "delta_replace_one",
    "model_epsilon",
)
_ENDS: Final = ("", "_low", "_high")

RECORD_COLUMNS: Final[Mapping[str, Callable[[str], Cell]]] = {
    **_CHOSEN,
    **dict.fromkeys(_PROMISED, float),
    **{f"pass_rate{end}": float for end in _ENDS},
    **{f"{name}{end}": float for name in MARGINS for end in _ENDS},
    **{f"{name}_before{end}": float for name in MARGINS for end in _ENDS},
    **{f"{name}_floor": float for name in MARGINS},
    **dict.fromkeys(("seeds", "workers"), int),
    "refusal": str,
    "fingerprint": str,
}
"""Every value of a row and how it is read from text. `_before`: what passed, before the model tops it up."""

_FORMAT: Final = 1
_STAGE: Final = "measuring choices"


@dataclass(frozen=True, slots=True, kw_only=True)
class SweptChoice:
    """One choice of a sweep.

    Attributes
    ----------
    axis_values : dict of str to str
        Value of every axis, as given.
    plan : Plan or None
        None if `commutemap records` would refuse the choice.
    refusal : str or None
        Why it would.
    """

    axis_values: dict[str, str]
    plan: Plan | None = None
    refusal: str | None = None


def swept_choices(
    real: RecordWorkers,
    make: Callable[..., Choice],
    axes: Sequence[Axis],
    *,
    report: Report = silent,
) -> list[SweptChoice]:
    """Return every combination of the axes' values over base options, the last axis fastest.

    Parameters
    ----------
    real : RecordWorkers
    make : callable
        Makes a choice from the values of the axes, by name of the field; UsageError if they do not go together.
    axes : sequence of Axis
        Values of the axis "kept" are numbers of attributes, or none.
    report : callable

    Raises
    ------
    UsageError
        A value is not valid in any of its choices.
    """
    grid = list(itertools.product(*(axis.values for axis in axes)))
    choices = []
    for number, chosen in enumerate(grid):
        report("planning choices", number, len(grid))
        axis_values = {axis.name: text for axis, (text, _) in zip(axes, chosen, strict=True)}
        changed = {
            SWEPT_OF_RECORDS[axis.name].name: value for axis, (_, value) in zip(axes, chosen, strict=True)
        }
        try:
            if "kept" in axis_values:
                changed["kept"] = _first_names(axis_values["kept"], real.attributes.names)
            plan = real.plan(make(**changed))
            choices.append(SweptChoice(axis_values=axis_values, plan=plan))
        except (EngineError, UsageError) as error:
            choices.append(SweptChoice(axis_values=axis_values, refusal=one_line(error)))
    for axis in axes:
        for text, _ in axis.values:
            with_text = [choice for choice in choices if choice.axis_values[axis.name] == text]
            if all(choice.refusal for choice in with_text):
                raise UsageError(f"--over {axis.name}={text}: {with_text[0].refusal}")
    return choices


def _first_names(text: str, names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names of so many first attributes."""
    if text == "none":
        return ()
    if not text.isascii() or not text.isdigit() or not 1 <= int(text) <= len(names):
        raise UsageError(
            f"give how many of the first attributes are kept: none, or 1 to {len(names)} of {', '.join(names)}"
        )
    return names[: int(text)]


def run_records_sweep(
    real: RecordWorkers,
    choices: Sequence[SweptChoice],
    *,
    draws: int,
    kept: Mapping[str, dict[str, Cell]] | None = None,
    report: Report = silent,
) -> Iterator[SweptRow]:
    """Measure choices one after the other, in their order.

    Parameters
    ----------
    real : RecordWorkers
    choices : sequence of SweptChoice
    draws : int
        How often each is drawn, at least once, with keys that follow from the published test key.
    kept : mapping of str to dict, optional
        Values of choices measured before, by fingerprint; they are not measured again.
    report : callable
        Called with (stage, done, total); what it raises stops the sweep.

    Yields
    ------
    SweptRow
        `values` by the names of `RECORD_COLUMNS`.
    """
    known = {} if kept is None else kept
    for number, swept in enumerate(choices):
        mark = _fingerprint(real, swept, draws)
        values = known.get(mark)
        if values is None:

            def within(done: int, number: int = number) -> None:
                report(_STAGE, number * draws + done, len(choices) * draws)

            values = (
                _measure_choice(real, swept.plan, draws, within) if swept.plan else {"refusal": swept.refusal}
            )
        full: dict[str, Cell] = {**dict.fromkeys(RECORD_COLUMNS), **values, "fingerprint": mark}
        yield SweptRow(axis_values=swept.axis_values, values=full)
    report(_STAGE, len(choices) * draws, len(choices) * draws)


def _fingerprint(real: RecordWorkers, swept: SweptChoice, draws: int) -> str:
    """Sha256 of everything that a row depends on: the dataset's manifest, the choice, the number of draws."""
    choice = swept.plan and {
        field.name: str(getattr(swept.plan.choice, field.name)) for field in fields(Choice)
    }
    about = {
        "format": _FORMAT,
        "version": version("commutemap"),
        "dataset": real.store.manifest,
        "choice": choice,
        "refused": swept.axis_values if swept.refusal else None,
        "draws": draws,
    }
    return hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()


def _measure_choice(
    real: RecordWorkers, plan: Plan, draws: int, within: Callable[[int], None]
) -> dict[str, Cell]:
    described = _describe_choice(plan)
    passed, before, after = [], list[dict[str, float]](), list[dict[str, float]]()
    for number in range(draws):
        within(number)
        try:
            drawn = draw_plan(real, plan, draw_key(number))
        except (EngineError, UsageError) as error:
            return described | {"refusal": one_line(error)}
        after.append(real.margins.distances(drawn.codes))
        if plan.seeds is not None:
            passed.append(drawn.n_passed / plan.seeds.n_tries)
            # Where nothing passed, there are no records to measure before the model tops them up.
            before += [real.margins.distances(drawn.passed)] if drawn.n_passed else []
    if plan.seeds is not None:
        described |= mean_and_interval("pass_rate", np.array(passed))
    for measured, end in ((after, ""), (before, "_before")):
        for name in measured[0] if len(measured) == draws else ():
            described |= mean_and_interval(
                f"{name}{end}", np.array([distances[name] for distances in measured])
            )
    floor = real.margins.noise_floor(plan.n_total)
    return described | {
        **{f"{name}_floor": value for name, value in floor.items()},
        "seeds": draws,
        "workers": real.n_workers,
    }


def _describe_choice(plan: Plan) -> dict[str, Cell]:
    """What a row says of its choice, with the numbers that were left open filled in."""
    add_remove, replace_one, own = plan.add_remove, plan.replace_one, plan.seeds
    cells: dict[str, Cell] = {
        "kept": ", ".join(plan.choice.kept) or "none",
        "structure": plan.choice.structure,
        "accountant": plan.choice.accountant,
        "epsilon": None if plan.choice.epsilon is None else f"{float(plan.choice.epsilon):g}",
        "records": plan.n_total,
        "epsilon_add_remove": float(add_remove.epsilon),
        "delta_add_remove": float(add_remove.delta),
        "epsilon_replace_one": float(replace_one.epsilon),
        "delta_replace_one": float(replace_one.delta),
        "model_epsilon": float(plan.model_epsilon),
    }
    if own is not None:
        acceptance = own.acceptance
        cells |= {
            "min_seeds": acceptance.min_plausible_seeds,
            "threshold_epsilon": float(acceptance.threshold_epsilon or Fraction(0)),
            "seed_floor": acceptance.seed_floor,
            "forced_fail": float(acceptance.forced_fail),
            "similarity": float(own.similarity),
            "n_min": own.n_min,
            "tries": own.n_tries,
        }
    return cells
