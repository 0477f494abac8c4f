"""The controls of the Records panel, as a setting of `commutemap records` and as its command line."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Set
from contextlib import suppress
from pathlib import Path
from typing import Final

import numpy as np

from engine.records.acceptance import Acceptance
from mapapp.base.errors import UsageError
from mapapp.kinds.base.option import Control, bind_options, exact, whole
from mapapp.kinds.records.make.choice import (
    DEFAULT_DELTA,
    DEFAULT_FORCED_FAIL,
    DEFAULT_MIN_SEEDS,
    DEFAULT_THRESHOLD_EPSILON,
    RECORD_OPTIONS,
    Choice,
)
from mapapp.kinds.records.make.plan import usual_tries
from mapapp.kinds.records.measure.workers import RecordWorkers

__all__ = [
    "CONTROLS",
    "KIND",
    "NUMBERS",
    "SOMETIMES_UNUSED",
    "TEXTS",
    "RecordValues",
    "choice_of",
    "command_line",
    "control_of",
    "find_unused",
    "options_of",
    "start_values",
    "stops",
    "test_of",
]

KIND: Final = "worker-records"
"""What the names of the panel's components begin with, and the kind of its work."""
NUMBERS: Final = ("epsilon", "min_seeds", "threshold_epsilon", "forced_fail", "n_tries", "delta")
"""Numbers that can be typed exactly."""
TEXTS: Final = ("split", "n_min", "seed_floor", "similarity", "n_records")
"""What is rarely typed; left empty, the command's default holds."""
CONTROLS: Final = ("kept", "given", *NUMBERS, *TEXTS, "structure", "anyway", "accountant")
"""Options of `commutemap records` by the name of their field; `given` says which numbers are chosen."""
_CHOICES: Final = {"structure": "public", "accountant": "sound"}
_OF_SEEDS: Final = {
    *(
        "given",
        "min_seeds",
        "threshold_epsilon",
        "forced_fail",
        "n_tries",
        "n_min",
        "seed_floor",
        "similarity",
    ),
    "accountant",
}
"""Controls that mean nothing where nothing is kept."""
SOMETIMES_UNUSED: Final = ("n_min", "seed_floor", "similarity", "anyway", "accountant")
"""Of the rarely used controls, those that others can leave without effect."""
_SHARES_TRIED: Final = (0.001, 0.003, 0.01, 0.03, 0.1, 0.2, 0.3, 0.5, 0.75)
_SEEDED: Final = 4
"""Attributes that are kept at first, at most: those of the worked example in docs/records.md."""
_USUAL_GROUP: Final = 50
"""Workers that groups should have on average at first."""
_FEWER_SEEDS: Final = (500, 200, 100, 50, 20)

RecordValues = Mapping[str, object]
"""Values of the controls, by `CONTROLS`."""


def control_of(name: str) -> Control:
    """How an option is shown."""
    control = RECORD_OPTIONS[name].control
    assert control is not None, name
    return control


def stops(name: str, most_tries: int) -> tuple[str, ...]:
    """The values that a number's slider can take."""
    if name != "n_tries":
        return tuple(control_of(name).stops.split())
    fewer = {f"{max(round(most_tries * share), 1)}": None for share in _SHARES_TRIED}
    return (*(text for text in fewer if int(text) < most_tries), str(most_tries))


def start_values(workers: RecordWorkers) -> dict[str, object]:
    """What the controls show at first: the seeded setting of docs/records.md, or less of it where workers are few."""
    values: dict[str, object] = {
        "kept": _start_kept(workers),
        "given": "k",
        "epsilon": "2",
        "min_seeds": str(DEFAULT_MIN_SEEDS),
        "threshold_epsilon": f"{float(DEFAULT_THRESHOLD_EPSILON):g}",
        "forced_fail": f"{float(DEFAULT_FORCED_FAIL):g}",
        "n_tries": str(max(usual_tries(workers.n_workers), 1)),
        "delta": "1e-6",
        **dict.fromkeys(TEXTS, ""),
        "structure": "public",
        "anyway": "no",
        "accountant": "sound",
    }
    kept = workers.attributes.names[: int(str(values["kept"]))]
    for k in (DEFAULT_MIN_SEEDS, *_FEWER_SEEDS):
        with suppress(UsageError):
            seeds = workers.plan(Choice(kept=kept, min_seeds=k)).seeds
            if seeds is not None and seeds.acceptance.threshold_epsilon is not None:
                rate = f"{float(seeds.acceptance.threshold_epsilon):g}"
                return values | {"min_seeds": str(k), "threshold_epsilon": rate}
    return values | {"kept": 0}


def _start_kept(workers: RecordWorkers) -> int:
    """Attributes kept at first: few enough for groups that are not tiny on average, from public numbers."""
    groups = np.cumprod(np.array(workers.attributes.domain, dtype=np.float64))
    return int(min(max((workers.n_workers / groups >= _USUAL_GROUP).sum(), 1), _SEEDED, groups.size))


def choice_of(values: RecordValues, workers: RecordWorkers) -> Choice:
    """The setting that the controls describe.

    Parameters
    ----------
    values : mapping
        By `CONTROLS`.
    workers : RecordWorkers
        Whose records are made.

    Raises
    ------
    UsageError
        A value cannot be read, or is not allowed.
    """
    return bind_options(Choice, options_of(values, workers))()


def options_of(values: RecordValues, workers: RecordWorkers) -> dict[str, str | bool]:
    """The options of `commutemap records` that the controls describe, as they were typed.

    Those at their defaults are left out, and so are those that the others leave without effect.

    Parameters
    ----------
    values : mapping
        By `CONTROLS`.
    workers : RecordWorkers
        Whose records are made.

    Returns
    -------
    dict
        By name of the field; true for an option that takes no value.
    """
    names = workers.attributes.names
    kept = names[: min(max(int(str(values["kept"])), 0), len(names))]
    without = find_unused(values)
    typed = {name: _clean_number(values, name) for name in (*NUMBERS, *TEXTS) if name not in without}
    return {
        **({"kept": ",".join(kept)} if kept else {}),
        **{name: text for name, text in typed.items() if not _is_usual(name, typed, workers)},
        **{name: str(values[name]) for name in _CHOICES if _differs(values, name, without)},
        **({"anyway": True} if values["anyway"] == "anyway" and "anyway" not in without else {}),
    }


def _is_usual(name: str, typed: Mapping[str, str], workers: RecordWorkers) -> bool:
    """Whether a number is what the command takes without it."""
    text = typed[name]
    if name in TEXTS:
        return not text
    if name == "n_tries":  # the command's number follows from these three
        usual = str(usual_tries(workers.n_workers))
        return text == usual and not any(typed.get(option) for option in ("split", "n_min", "n_records"))
    usual_number = {"forced_fail": DEFAULT_FORCED_FAIL, "delta": DEFAULT_DELTA}.get(name)
    return usual_number is not None and bool(text) and exact(text, RECORD_OPTIONS[name].flag) == usual_number


def _differs(values: RecordValues, name: str, without: Set[str]) -> bool:
    return name not in without and values[name] != _CHOICES[name]


def test_of(values: RecordValues) -> Acceptance:
    """The test that the controls describe, whether or not it is used.

    Raises
    ------
    UsageError, ParameterError
        A value cannot be read, or is not allowed.
    """
    return Acceptance(
        min_plausible_seeds=whole(_clean_number(values, "min_seeds"), "min-seeds"),
        threshold_epsilon=exact(_clean_number(values, "threshold_epsilon"), "threshold-epsilon"),
        forced_fail=exact(_clean_number(values, "forced_fail"), "forced-fail"),
    )


def command_line(values: RecordValues, workers: RecordWorkers, dataset: Path) -> str:
    """The command that makes records of a setting; numbers are written as they were typed.

    Parameters
    ----------
    values : mapping
        By `CONTROLS`.
    workers : RecordWorkers
    dataset : Path
    """
    words = ["commutemap", "records", str(dataset), f"{dataset.name.removesuffix('.dataset')}.records"]
    for name, value in options_of(values, workers).items():
        flag = f"--{RECORD_OPTIONS[name].flag}"
        words += [flag] if isinstance(value, bool) else [flag, value]
    return shlex.join(words)


def find_unused(values: RecordValues) -> set[str]:
    """Controls that the others leave without effect."""
    learned = values["structure"] == "learned"
    without = set() if learned else {"anyway"}
    if int(str(values["kept"])) == 0:
        return without | _OF_SEEDS | (set() if learned else {"delta"})
    test = {"min_seeds", "threshold_epsilon"}
    by_given = {"k": {"epsilon", "threshold_epsilon"}, "test": {"epsilon"}}
    return without | by_given.get(str(values["given"]), test)


def _clean_number(values: RecordValues, name: str) -> str:
    """A number as it was typed, but for commas between its digits."""
    text = str(values[name] or "").strip()
    return text.replace(",", "") if int in RECORD_OPTIONS[name].types else text
