"""What attackers got right, worker by worker, and the tables that sum it up. Confidential until it is summed up."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np
import numpy.typing as npt
import pandas

from engine.audit.empirical import (
    accuracy_by_confidence,
    breach_increase,
    calibration,
)
from engine.audit.predictions import Predictions
from mapapp.measuring.audit.result import CLASSES, Attacker

__all__ = ["Outcomes"]

_Key = tuple[str, str]
_N_BINS: Final = 10

_LEAKAGE: Final[Mapping[str, tuple[Attacker, Attacker]]] = {
    "lookup": ("lookup", "lookup_without_victim"),
    "informed": ("informed", "informed_without_release"),
}
"""Attackers with the victim's record or the release, and without."""


class Outcomes:
    """Hits and beliefs of every attacker on every question, collected part by part.

    Parameters
    ----------
    release : str
        Name for the tables.
    """

    def __init__(self, release: str) -> None:
        self.release = release
        self._hits: dict[_Key, list[npt.NDArray[np.bool_]]] = {}
        self._beliefs: dict[_Key, list[npt.NDArray[np.float32]]] = {}

    def add(self, target: str, attacker: str, predictions: Predictions, truth: npt.NDArray[np.int64]) -> None:
        """Add the predictions for the next workers."""
        key = (target, attacker)
        self._hits.setdefault(key, []).append(predictions.value == truth)
        self._beliefs.setdefault(key, []).append(predictions.belief.astype(np.float32))

    def tables(self, n: npt.NDArray[np.int32]) -> dict[str, pandas.DataFrame]:
        """Sum up.

        Parameters
        ----------
        n : int32[W]
            Workers of every worker's block and segment.

        Returns
        -------
        dict of str to DataFrame
            `attackers`, `confidence`, `calibration`, and `leakage`, as :class:`Audit` describes them.
        """
        of_class = {
            name: (n >= least) & (n <= (np.iinfo(np.int32).max if most is None else most))
            for name, (least, most) in CLASSES.items()
        }
        attackers: list[dict[str, object]] = []
        confidence: list[dict[str, object]] = []
        bins: list[dict[str, object]] = []
        for target, attacker in self._hits:
            hit = np.concatenate(self._hits[target, attacker])
            belief = np.concatenate(self._beliefs[target, attacker]).astype(np.float64)
            of = {"release": self.release, "target": target, "attacker": attacker}
            attackers += [
                {**of, "n": name, **_accuracy(hit[chosen], belief[chosen])}
                for name, chosen in of_class.items()
            ]
            confidence += [{**of, **row} for row in _by_confidence(hit, belief)]
            bins += [{**of, **row} for row in _calibration(hit, belief)]
        table = _with_baseline(pandas.DataFrame(attackers))
        return {
            "attackers": table,
            "confidence": pandas.DataFrame(confidence),
            "calibration": pandas.DataFrame(bins),
            "leakage": _leakage(table),
        }


def _accuracy(hit: npt.NDArray[np.bool_], belief: npt.NDArray[np.float64]) -> dict[str, object]:
    empty = not hit.size
    accuracy = float("nan") if empty else float(hit.mean())
    return {
        "workers": int(hit.size),
        "accuracy": accuracy,
        "empirical_privacy": 1.0 - accuracy,
        "mean_belief": float("nan") if empty else float(belief.mean()),
    }


def _as_right(
    hit: npt.NDArray[np.bool_], belief: npt.NDArray[np.float64]
) -> tuple[Predictions, npt.NDArray[np.int64]]:
    """Predictions that are 1 where they are right, and the truth 1."""
    return Predictions(hit.astype(np.int64), belief), np.ones(hit.size, dtype=np.int64)


def _by_confidence(hit: npt.NDArray[np.bool_], belief: npt.NDArray[np.float64]) -> list[dict[str, object]]:
    return [
        {
            "most_certain": float(found.share),
            "workers": found.n_workers,
            "accuracy": found.accuracy,
            "least_belief": found.least_belief,
            "tied": found.n_tied,
        }
        for found in accuracy_by_confidence(*_as_right(hit, belief))
    ]


def _calibration(hit: npt.NDArray[np.bool_], belief: npt.NDArray[np.float64]) -> list[dict[str, object]]:
    found = calibration(*_as_right(hit, belief), n_bins=_N_BINS)
    return [
        {
            "belief_from": float(found.edges[number]),
            "belief_to": float(found.edges[number + 1]),
            "workers": int(found.n_workers[number]),
            "mean_belief": float(found.bin_belief[number]),
            "accuracy": float(found.bin_accuracy[number]),
        }
        for number in range(_N_BINS)
        if found.n_workers[number]
    ]


def _with_baseline(attackers: pandas.DataFrame) -> pandas.DataFrame:
    """Add the accuracy of always saying the most frequent value, of the same workers, and the increase over it."""
    is_baseline = attackers["attacker"] == "majority"
    baseline = attackers[is_baseline].set_index(["target", "n"])["accuracy"]
    of_row = [
        baseline.get(pair, float("nan")) for pair in zip(attackers["target"], attackers["n"], strict=True)
    ]
    increase = [
        breach_increase(accuracy, of) if of > 0 else float("nan")
        for accuracy, of in zip(attackers["accuracy"], of_row, strict=True)
    ]
    return attackers.assign(baseline_accuracy=of_row, breach_increase=increase)


def _leakage(attackers: pandas.DataFrame) -> pandas.DataFrame:
    """What the others teach, and what the worker's own record or the release adds, by n."""
    accuracy = attackers.set_index(["release", "target", "attacker", "n"])["accuracy"]
    rows = []
    for release, target in attackers[["release", "target"]].drop_duplicates().itertuples(index=False):
        for name, (full, without) in _LEAKAGE.items():
            for n in CLASSES:
                keys = [(release, target, attacker, n) for attacker in (full, without)]
                if not all(key in accuracy.index for key in keys):
                    continue
                base = _base(accuracy, release, target, n)
                rows.append(
                    {
                        "release": release,
                        "target": target,
                        "attacker": name,
                        "n": n,
                        "population": float(accuracy[keys[1]]) - base,
                        "individual": float(accuracy[keys[0]]) - float(accuracy[keys[1]]),
                    }
                )
    return pandas.DataFrame(rows)


def _base(accuracy: pandas.Series, release: str, target: str, n: str) -> float:
    """Accuracy without any record: of the most frequent value or, for home points, of the public prior."""
    for attacker in ("majority", "public_prior"):
        if (release, target, attacker, n) in accuracy.index:
            return float(accuracy[release, target, attacker, n])
    return float("nan")
