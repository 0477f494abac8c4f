"""The controls of the Records panel, as a setting of `commutemap records` and as its command line."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from typing import Final

import numpy as np

from engine.records.acceptance import Acceptance
from mapapp.errors import UsageError
from mapapp.measuring.record_workers import RecordWorkers
from mapapp.publishing.records.choice import (
    DEFAULT_DELTA,
    DEFAULT_FORCED_FAIL,
    DEFAULT_MIN_SEEDS,
    DEFAULT_THRESHOLD_EPSILON,
    Choice,
    StructureName,
    exact_option,
)
from mapapp.publishing.records.plan import usual_tries

__all__ = [
    "CONTROLS",
    "KIND",
    "NUMBERS",
    "choice_of",
    "command_line",
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
CONTROLS: Final = ("kept", "given", *NUMBERS, "structure")
_OPTIONS: Final = {
    "epsilon": "epsilon",
    "k": "min-seeds",
    "rate": "threshold-epsilon",
    "forced": "forced-fail",
    "tries": "tries",
    "delta": "delta",
}
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
        "structure": "public",
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
    structure: StructureName = "learned" if values["structure"] == "learned" else "public"
    names = workers.attributes.names
    kept = tuple(names[: min(max(int(str(values["kept"])), 0), len(names))])
    if not kept:
        return Choice(
            epsilon=_exact(values, "epsilon"),
            delta=_exact(values, "delta") if structure == "learned" else None,
            structure=structure,
        )
    tries = _whole(values, "tries")
    given = values["given"]
    return Choice(
        kept=kept,
        epsilon=_exact(values, "epsilon") if given == "epsilon" else None,
        min_seeds=None if given == "epsilon" else _whole(values, "k"),
        threshold_epsilon=_exact(values, "rate") if given == "test" else None,
        n_tries=None if tries == usual_tries(workers.n_workers) else tries,
        forced_fail=_exact(values, "forced"),
        delta=_exact(values, "delta"),
        structure=structure,
    )


def test_of(values: RecordValues) -> Acceptance:
    """The test that the controls describe, whether or not it is used.

    Raises
    ------
    UsageError, ParameterError
        A value cannot be read, or is not allowed.
    """
    return Acceptance(
        min_plausible_seeds=_whole(values, "k"),
        threshold_epsilon=_exact(values, "rate"),
        forced_fail=_exact(values, "forced"),
    )


def command_line(choice: Choice, dataset: Path, values: RecordValues) -> str:
    """The command that makes records of a setting.

    Parameters
    ----------
    choice : Choice
    dataset : Path
    values : mapping
        The controls that the setting was read from; numbers are written as they were typed.
    """
    given = {
        "epsilon": choice.epsilon,
        "k": choice.min_seeds,
        "rate": choice.threshold_epsilon,
        "forced": None if choice.forced_fail == DEFAULT_FORCED_FAIL else choice.forced_fail,
        "tries": choice.n_tries,
        "delta": None if choice.delta == DEFAULT_DELTA else choice.delta,
    }
    words = ["commutemap", "records", str(dataset), f"{dataset.name.removesuffix('.dataset')}.records"]
    if choice.kept:
        words += ["--kept", ",".join(choice.kept)]
    for name, value in given.items():
        if value is not None:
            words += [f"--{_OPTIONS[name]}", _typed(values, name)]
    if choice.structure == "learned":
        words += ["--structure", "learned"]
    return shlex.join(words)


def unused(values: RecordValues) -> set[str]:
    """Controls that the others leave without effect."""
    if int(str(values["kept"])) == 0:
        of_learned = set() if values["structure"] == "learned" else {"delta"}
        return {"given", "k", "rate", "forced", "tries", *of_learned}
    return {"k": {"epsilon", "rate"}, "test": {"epsilon"}}.get(str(values["given"]), {"k", "rate"})


def _typed(values: RecordValues, name: str) -> str:
    return (
        str(values[name] or "").strip().replace(",", "")
        if name in ("k", "tries")
        else str(values[name]).strip()
    )


def _exact(values: RecordValues, name: str) -> Fraction:
    found = exact_option(_typed(values, name), _OPTIONS[name])
    return Fraction(0) if found is None else found


def _whole(values: RecordValues, name: str) -> int:
    text = _typed(values, name)
    if not text.isdecimal() or len(text) > 15:
        raise UsageError(f"--{_OPTIONS[name]} {text[:40]!r}: give a whole number, such as {_STOPS['k'][7]}")
    return int(text)
