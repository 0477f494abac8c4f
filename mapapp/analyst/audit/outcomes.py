"""What attackers got right, counted part by part, and the tables that sum it up. Confidential until it is summed up."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np
import numpy.typing as npt
import pandas

from engine.audit.coded_tables import Predictions
from engine.audit.empirical import breach_increase
from engine.audit.tally import BeliefTally, ClassTally
from mapapp.analyst.audit.result import CLASSES, Attacker

__all__ = ["Outcomes"]

Ints = npt.NDArray[np.int64]

_Key = tuple[str, str]
_N_BINS: Final = 10

_LEAKAGE: Final[Mapping[str, tuple[Attacker, Attacker]]] = {
    "lookup": ("lookup", "lookup_without_victim"),
    "informed": ("informed", "informed_without_release"),
}
"""Attackers with the victim's record or the release, and without."""


class Outcomes:
    """Hits and beliefs of every attacker on every question, counted part by part.

    Parameters
    ----------
    release : str
        Name for the tables.
    n_workers : int
        Workers of all parts together.
    """

    def __init__(self, release: str, n_workers: int) -> None:
        self.release = release
        self._n_workers = n_workers
        self._tallies: dict[_Key, BeliefTally] = {}

    def expect(self, target: str, attacker: str) -> None:
        """Give an attacker whose predictions come later the next rows of the tables."""
        self._tally(target, attacker)

    def add(
        self,
        target: str,
        attacker: str,
        predictions: Predictions,
        truth: Ints,
        size_class: npt.NDArray[np.int8],
    ) -> None:
        """Add the predictions for some workers, of classes by n as :func:`engine.audit.tally.size_classes` has them."""
        self._tally(target, attacker).add(predictions.belief, predictions.value == truth, size_class)

    def add_constant(
        self,
        target: str,
        attacker: str,
        belief: float,
        n_workers: Ints,
        n_right: Ints,
    ) -> None:
        """Add an attacker who believes the same of everybody: workers, and those named right, by class."""
        self._tally(target, attacker).add_constant(belief, n_workers, n_right)

    def _tally(self, target: str, attacker: str) -> BeliefTally:
        key = (target, attacker)
        if key not in self._tallies:
            self._tallies[key] = BeliefTally(self._n_workers, n_bins=_N_BINS)
        return self._tallies[key]

    def tables(self) -> dict[str, pandas.DataFrame]:
        """Sum up.

        Returns
        -------
        dict of str to DataFrame
            `attackers`, `confidence`, `calibration`, and `leakage`, as :class:`Audit` describes them.
        """
        attackers: list[dict[str, object]] = []
        confidence: list[dict[str, object]] = []
        bins: list[dict[str, object]] = []
        for (target, attacker), tally in self._tallies.items():
            of = {"release": self.release, "target": target, "attacker": attacker}
            by_class = [tally.tally_all(), *tally.tally_classes()]
            attackers += [
                {**of, "n": name, **_accuracy(class_tally)}
                for name, class_tally in zip(CLASSES, by_class, strict=True)
            ]
            confidence += [{**of, **row} for row in _confidence_rows(tally)]
            bins += [{**of, **row} for row in _calibration_rows(tally)]
        table = _add_baseline(pandas.DataFrame(attackers))
        return {
            "attackers": table,
            "confidence": pandas.DataFrame(confidence),
            "calibration": pandas.DataFrame(bins),
            "leakage": _leakage(table),
        }


def _accuracy(tally: ClassTally) -> dict[str, object]:
    return {
        "workers": tally.n_workers,
        "accuracy": tally.accuracy,
        "empirical_privacy": 1.0 - tally.accuracy,
        "mean_belief": tally.mean_belief,
    }


def _confidence_rows(tally: BeliefTally) -> list[dict[str, object]]:
    return [
        {
            "most_certain": float(share_tally.share),
            "workers": share_tally.n_workers,
            "accuracy": share_tally.accuracy,
            "least_belief": share_tally.least_belief,
            "tied": share_tally.n_tied,
        }
        for share_tally in tally.most_certain()
    ]


def _calibration_rows(tally: BeliefTally) -> list[dict[str, object]]:
    return [
        {
            "belief_from": float(tally.edges[number]),
            "belief_to": float(tally.edges[number + 1]),
            "workers": bin_tally.n_workers,
            "mean_belief": bin_tally.mean_belief,
            "accuracy": bin_tally.accuracy,
        }
        for number, bin_tally in enumerate(tally.tally_bins())
        if bin_tally.n_workers
    ]


def _add_baseline(attackers: pandas.DataFrame) -> pandas.DataFrame:
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
