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
from mapapp.measuring.record_workers import RecordWorkers
from mapapp.publishing.option import exact, made, whole
from mapapp.publishing.records.choice import (
    DEFAULT_DELTA,
    DEFAULT_FORCED_FAIL,
    DEFAULT_MIN_SEEDS,
    DEFAULT_THRESHOLD_EPSILON,
    RECORD_OPTIONS,
    Choice,
)
from mapapp.publishing.records.plan import usual_tries

__all__ = [
    "CONTROLS",
    "KIND",
    "NUMBERS",
    "OPTIONS",
    "SOMETIMES_UNUSED",
    "TEXTS",
    "RecordValues",
    "choice_of",
    "command_line",
    "options_of",
    "start_values",
    "stops",
    "test_of",
    "unused",
]

KIND: Final = "worker-records"
"""What the names of the panel's components begin with, and the kind of its work."""
NUMBERS: Final = {
    "epsilon": "Epsilon ε",
    "k": "Plausible seeds k",
    "rate": "Threshold ε₀",
    "forced": "Forced failure β",
    "tries": "Tries T",
    "delta": "Delta δ",
}
"""Numbers that can be typed exactly, and their labels."""
TEXTS: Final = {
    "split": "Split: seeds, parameters[, structure]",
    "n_min": "Least number of seeds",
    "floor": "Seed floor",
    "similarity": "Similarity γ",
    "total": "Records in all",
}
"""What is rarely typed, and its label; left empty, the command's default holds."""
CONTROLS: Final = ("kept", "given", *NUMBERS, *TEXTS, "structure", "anyway", "accountant")
OPTIONS: Final = {
    "epsilon": "epsilon",
    "k": "min-seeds",
    "rate": "threshold-epsilon",
    "forced": "forced-fail",
    "tries": "tries",
    "delta": "delta",
    "split": "split",
    "n_min": "n-min",
    "floor": "seed-floor",
    "similarity": "similarity",
    "total": "records",
}
"""Name of the option of each number."""
_WHOLE: Final = ("k", "tries", "n_min", "floor", "total")
_CHOICES: Final = {"structure": "public", "accountant": "sound"}
_OF_SEEDS: Final = {"given", "k", "rate", "forced", "tries", "n_min", "floor", "similarity", "accountant"}
"""Controls that mean nothing where nothing is kept."""
SOMETIMES_UNUSED: Final = ("n_min", "floor", "similarity", "anyway", "accountant")
"""Of the rarely used controls, those that others can leave without effect."""
_STOPS: Final[Mapping[str, tuple[str, ...]]] = {
    "epsilon": ("0.25", "0.5", "0.75", "1", "1.5", "2", "3", "4", "5", "6", "8", "10", "15", "20"),
    "k": ("20", "50", "100", "200", "300", "500", "750", "1000", "1500", "2000", "3000", "5000", "10000"),
    "rate": ("0.002", "0.005", "0.01", "0.0175", "0.025", "0.035", "0.05", "0.1", "0.2", "0.5", "1", "2"),
    "forced": ("0.001", "0.005", "0.01", "0.02", "0.05", "0.1", "0.2", "0.5"),
    "delta": ("1e-12", "1e-11", "1e-10", "1e-9", "1e-8", "1e-7", "1e-6", "1e-5", "1e-4"),
}
_SHARES_TRIED: Final = (0.001, 0.003, 0.01, 0.03, 0.1, 0.2, 0.3, 0.5, 0.75)
_SEEDED: Final = 4
"""Attributes that are kept at first, at most: those of the worked example in docs/records.md."""
_USUAL_GROUP: Final = 50
"""Workers that groups should have on average at first."""
_FEWER_SEEDS: Final = (500, 200, 100, 50, 20)

RecordValues = Mapping[str, object]
"""Values of the controls, by `CONTROLS`."""


def stops(name: str, most_tries: int) -> tuple[str, ...]:
    """The values that a number's slider can take."""
    if name != "tries":
        return _STOPS[name]
    fewer = {f"{max(round(most_tries * share), 1)}": None for share in _SHARES_TRIED}
    return (*(text for text in fewer if int(text) < most_tries), str(most_tries))


def start_values(workers: RecordWorkers) -> dict[str, object]:
    """What the controls show at first: the seeded setting of docs/records.md, or less of it where workers are few."""
    values: dict[str, object] = {
        "kept": _start_kept(workers),
        "given": "k",
        "epsilon": "2",
        "k": str(DEFAULT_MIN_SEEDS),
        "rate": f"{float(DEFAULT_THRESHOLD_EPSILON):g}",
        "forced": f"{float(DEFAULT_FORCED_FAIL):g}",
        "tries": str(max(usual_tries(workers.n_workers), 1)),
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
                return values | {"k": str(k), "rate": f"{float(seeds.acceptance.threshold_epsilon):g}"}
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
    options = options_of(values, workers)
    given = {name: options.get(option.flag) for name, option in RECORD_OPTIONS.items()}
    return made(Choice, given | {"anyway": "anyway" in options})()


def options_of(values: RecordValues, workers: RecordWorkers) -> dict[str, str]:
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
    dict of str to str
        By name of the option; "" for one that takes no value.
    """
    names = workers.attributes.names
    kept = names[: min(max(int(str(values["kept"])), 0), len(names))]
    without = unused(values)
    typed = {name: _typed(values, name) for name in OPTIONS if name not in without}
    of_numbers = {OPTIONS[name]: text for name, text in typed.items() if not _is_usual(name, typed, workers)}
    return {
        **({"kept": ",".join(kept)} if kept else {}),
        **of_numbers,
        **{name: str(values[name]) for name in _CHOICES if _differs(values, name, without)},
        **({"anyway": ""} if values["anyway"] == "anyway" and "anyway" not in without else {}),
    }


def _is_usual(name: str, typed: Mapping[str, str], workers: RecordWorkers) -> bool:
    """Whether a number is what the command takes without it."""
    text = typed[name]
    if name in TEXTS:
        return not text
    if name == "tries":  # the command's number follows from these three
        usual = str(usual_tries(workers.n_workers))
        return text == usual and not any(typed.get(other) for other in ("split", "n_min", "total"))
    usual_number = {"forced": DEFAULT_FORCED_FAIL, "delta": DEFAULT_DELTA}.get(name)
    return usual_number is not None and bool(text) and exact(text, OPTIONS[name]) == usual_number


def _differs(values: RecordValues, name: str, without: Set[str]) -> bool:
    return name not in without and values[name] != _CHOICES[name]


def test_of(values: RecordValues) -> Acceptance:
    """The test that the controls describe, whether or not it is used.

    Raises
    ------
    UsageError, ParameterError
        A value cannot be read, or is not allowed.
    """
    k, rate, forced = (_typed(values, name) for name in ("k", "rate", "forced"))
    return Acceptance(
        min_plausible_seeds=whole(k, OPTIONS["k"]),
        threshold_epsilon=exact(rate, OPTIONS["rate"]),
        forced_fail=exact(forced, OPTIONS["forced"]),
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
    for name, text in options_of(values, workers).items():
        words += [f"--{name}", text] if text else [f"--{name}"]
    return shlex.join(words)


def unused(values: RecordValues) -> set[str]:
    """Controls that the others leave without effect."""
    learned = values["structure"] == "learned"
    without = set() if learned else {"anyway"}
    if int(str(values["kept"])) == 0:
        return without | _OF_SEEDS | (set() if learned else {"delta"})
    return without | {"k": {"epsilon", "rate"}, "test": {"epsilon"}}.get(str(values["given"]), {"k", "rate"})


def _typed(values: RecordValues, name: str) -> str:
    """A number as it was typed, but for commas between its digits."""
    text = str(values[name] or "").strip()
    return text.replace(",", "") if name in _WHOLE else text
