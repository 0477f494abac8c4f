"""The informed attacker on a release: knows the mechanism, all public inputs, and every worker but the victim.

Also the test of the promise: the spread of the log likelihood ratios is at most epsilon_final, but for what delta
allows. An audit that finds more has found a bug.

Source: docs/audit.md, "The informed attacker".
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from engine.audit.alarm import most_allowed
from engine.audit.coded_tables import Predictions
from engine.audit.decomposition import MOST_COUNTS
from engine.audit.empirical import SIZE_CLASSES
from engine.audit.informed import informed_attack, likelihood_of
from engine.audit.naive_bayes import CodeCounts, KeptPredictions
from engine.audit.tally import size_classes
from engine.mechanisms.dirichlet_multinomial import Synthesizers, SyntheticPoints
from engine.parameters import SynthesisParameters
from engine.support.coarsening import LEVEL_REMAINDER
from mapapp.analyst.audit.audited import Audited, AuditedPart
from mapapp.analyst.audit.outcomes import Outcomes
from mapapp.analyst.audit.questions import QuestionPart, Target
from mapapp.analyst.audit.records import CodedBlocks, Records, code_records
from mapapp.analyst.audit.result import ReleaseFacts
from mapapp.kinds.release.make.lone_worker import stay_chance

_ROUNDING: Final = 1e-9
"""By which a spread may exceed epsilon in floating point."""


class InformedPart(NamedTuple):
    """What the informed attacker finds about the workers of some destination tracts.

    Attributes
    ----------
    without_release, with_release : Predictions
        Values are those of the question about home points.
    spread : float64[S]
        Greatest spread of log likelihood ratios of every (workplace block, segment).
    is_exact : bool[S]
        False in tracts with a remainder point, whose workers were drawn again after the mechanism.
    promised : float
        What a release, or a setting on these tracts alone, promises; at most what it promises on all.
    """

    without_release: Predictions
    with_release: Predictions
    spread: npt.NDArray[np.float64]
    is_exact: npt.NDArray[np.bool_]
    promised: float


class SpreadPart(NamedTuple):
    """What remains of the likelihood ratios of some destination tracts.

    Attributes
    ----------
    pairs, untested : int
        (Workplace block, segment) pairs whose spread is exact, and the others.
    largest : float
        Of the exact spreads; NaN if one is no number, 0 without any.
    above : float64[A]
        Exact spreads that are not within what was promised on these tracts.
    """

    pairs: int
    untested: int
    largest: float
    above: npt.NDArray[np.float64]

    @classmethod
    def of(cls, part: InformedPart) -> SpreadPart:
        """Sum up the spreads of some destination tracts."""
        spread = part.spread[part.is_exact]
        return cls(
            pairs=spread.size,
            untested=part.spread.size - spread.size,
            largest=float(spread.max(initial=0.0)),
            above=spread[~(spread <= part.promised + _ROUNDING)],
        )


def informed_part(
    audited: Audited, part: AuditedPart, asked: QuestionPart, promised: float | None
) -> InformedPart | None:
    """Run the informed attacker on some destination tracts; None if the mechanism leaves the attacker out.

    Parameters
    ----------
    audited : Audited
    part : AuditedPart
    asked : QuestionPart
        The home points of the same workers.
    promised : float or None
        The promise of the release, or of the setting on these tracts alone; None for a mechanism without one.
    """
    privacy, parameters = audited.privacy, audited.parameters
    likelihood = likelihood_of(parameters.mechanism, parameters.unit, privacy)
    if likelihood is None or promised is None or parameters.editing == "drop":
        return None
    inputs, table = part.panel.inputs, part.support.table
    weights = part.certified.of_synthesizers()
    first = np.repeat(table.support_ptr[inputs.tract], inputs.count)
    attack = informed_attack(
        Synthesizers(
            tract=inputs.tract,
            destination=inputs.destination,
            segment=inputs.segment,
            worker_ptr=inputs.worker_ptr,
            worker_point=(asked.truth - first).astype(np.int32),
            min_prior_weight=weights.min_prior_weight,
            published_count=inputs.count,
            prunes=weights.prunes,
        ),
        SyntheticPoints(
            synthetic_ptr=inputs.worker_ptr, synthetic_point=(asked.released - first).astype(np.int32)
        ),
        table,
        part.support.share,
        likelihood,
        epsilon=promised,
    )
    coarsening = part.support.coarsening
    remainders = coarsening.tract_of_point[coarsening.support_level == LEVEL_REMAINDER]
    return InformedPart(
        without_release=_as_values(attack.without_release, first),
        with_release=_as_values(attack.with_release, first),
        spread=np.maximum.reduceat(attack.spread, inputs.worker_ptr[:-1]),
        is_exact=~np.isin(inputs.tract, remainders),
        promised=promised,
    )


def _as_values(predictions: Predictions, first: npt.NDArray[np.int64]) -> Predictions:
    return Predictions(first + predictions.value, predictions.belief)


def spread_row(facts: ReleaseFacts, parts: Sequence[SpreadPart]) -> dict[str, object]:
    """Hold the likelihood ratios against the promise: a row of the table `spread`; None for what was not tested."""
    promised, delta = facts["epsilon_final"], facts["delta"]
    pairs = sum(part.pairs for part in parts)
    row: dict[str, object] = {
        "release": facts["name"],
        "epsilon_final": promised,
        "delta": delta,
        "pairs": pairs,
        "untested": sum(part.untested for part in parts),
        "largest": None,
        "exceeding": None,
        "allowed": None,
        "is_broken": None,
    }
    if promised is None or delta is None or not pairs:
        return row
    above = np.concatenate([part.above for part in parts])
    # A spread that is no number exceeds the promise.
    exceeding = int(np.count_nonzero(~(above <= promised + _ROUNDING)))
    allowed = most_allowed(pairs, delta)
    largest = float(np.max([part.largest for part in parts]))
    outcome = {"largest": largest, "exceeding": exceeding, "allowed": allowed}
    return row | outcome | {"is_broken": exceeding > allowed}


def why_not_informed(parameters: SynthesisParameters) -> list[str]:
    """Say that the informed attacker is left out, or what its numbers leave out; empty if nothing is."""
    what = "the attacker who knows all others"
    if parameters.unit != "cell":
        return [f"{what} is left out: for units of a {parameters.unit} there is no closed form"]
    if parameters.editing == "drop":
        return [f"{what} is left out: editing drop removes workers before the draw"]
    if parameters.clean:
        return [
            f"{what} reads the cleaned release as if it had been drawn so, and claims too much; a setting with clean = "
            "false shows what the draw alone gives away"
        ]
    return []


# How many lone workers keep their true support point: the closed form for their own homes, beside what was drawn.
#
# The chance is public; which support points lone workers live in is not. A worker of a remainder point is drawn again
# after the mechanism, and so is never kept. A draw far from the expectation is a bug: likelihood ratios cannot see it,
# because those of the exponential mechanism are within epsilon for any table.
#
# Source: docs/audit.md, "Lone workers"; docs/theory/method.md, section 7g.

_MOST_ERRORS: Final = 6.0
"""Standard errors by which a draw may be off its law."""

_LEAST_VARIANCE: Final = 25.0
"""Of the number kept, from which on it is close enough to normal for :data:`_MOST_ERRORS`."""


class LonePart(NamedTuple):
    """Lone workers of some destination tracts.

    Attributes
    ----------
    workers, kept : int
        Lone workers, and those whose synthetic home is in the true support point.
    expected, variance : float
        Of the number kept; NaN for units larger than a cell, which have no closed form.
    """

    workers: int
    kept: int
    expected: float
    variance: float


def lone_part(audited: Audited, part: AuditedPart, asked: QuestionPart) -> LonePart:
    """Count the lone workers of some destination tracts who keep their support point, and say what to expect.

    Parameters
    ----------
    audited : Audited
    part : AuditedPart
    asked : QuestionPart
        The home points of the same workers.
    """
    count = part.panel.inputs.count
    is_lone = np.repeat(count == 1, count)
    truth = asked.truth[is_lone]
    kept = int((asked.released[is_lone] == truth).sum())
    ptr = part.support.table.support_ptr
    classes = part.certified.classes
    homes = np.bincount(truth, minlength=int(ptr[-1]) + 1)
    homes[: int(ptr[-1])][part.support.coarsening.support_level == LEVEL_REMAINDER] = 0
    expected = variance = 0.0
    for number in np.flatnonzero(classes.likelihood_count == 1):
        first, last = ptr[classes.tract[number] : classes.tract[number] + 2]
        workers = homes[first:last]
        chance = _chance(audited, part, int(number), workers)
        expected += chance * workers.sum()
        # Of one mean chance for all: at most a little too large where chances differ.
        variance += chance * (1.0 - chance) * workers.sum()
    return LonePart(truth.size, kept, expected, variance)


def _chance(audited: Audited, part: AuditedPart, number: int, workers: np.ndarray) -> float:
    """Mean chance of the lone workers of one destination tract, who live in some of its points."""
    mechanism = audited.parameters.mechanism
    if audited.parameters.unit != "cell" or not workers.sum():
        return 0.0 if audited.parameters.unit == "cell" else math.nan
    # Under the exponential mechanism the chance does not depend on where in the tract's points the worker lives.
    home = None if mechanism == "exponential" else workers / workers.sum()
    return stay_chance(part.certified, number, audited.privacy, mechanism, home)


def lone_row(release: str, parts: Sequence[LonePart], *, is_cleaned: bool) -> dict[str, object]:
    """Sum up, as a row of the table `lone_workers`.

    Only a draw that was not cleaned afterwards is held against the closed form: `is_off`.
    """
    workers, kept = sum(part.workers for part in parts), sum(part.kept for part in parts)
    expected, variance = sum(part.expected for part in parts), sum(part.variance for part in parts)
    n = max(workers, 1)
    is_sure = not is_cleaned and variance >= _LEAST_VARIANCE
    return {
        "release": release,
        "workers": workers,
        "expected": expected / n,
        "standard_error": math.sqrt(variance) / n,
        "found": kept / n,
        "is_off": is_sure and abs(kept - expected) > _MOST_ERRORS * math.sqrt(variance),
    }


# Attackers who need all workers: the most frequent value, and naive Bayes, which learns from the whole release.
#
# Both go through the workers twice, part by part: once to count, and once to predict. Nobody's record is kept.
#
# Source: docs/audit.md, "Attackers and controls".


class WholeAttack:
    """The two attackers on one question.

    Parameters
    ----------
    target : str
        One whose values mean the same for all workplaces.
    blocks : CodedBlocks
    """

    def __init__(self, target: Target, blocks: CodedBlocks) -> None:
        nobody = code_records(target, Records.none(), blocks, released=False)
        n_values, n_codes = nobody.n_values, int(nobody.sizes.sum())
        self.target: Target = target
        self._blocks = blocks
        self._by_class = np.zeros((len(SIZE_CLASSES), n_values), dtype=np.int64)
        self._counts = CodeCounts(nobody.sizes, n_values) if n_values * n_codes <= MOST_COUNTS else None
        self._predictions: KeptPredictions | None = None

    @property
    def left_out(self) -> str | None:
        """Why naive Bayes is left out; None if it is not."""
        if self._counts is not None:
            return None
        return f"naive Bayes on the {self.target} is left out: its table would have more than {MOST_COUNTS:,} numbers"

    def count(self, records: Records) -> None:
        """Count the true and the synthetic workers of some destination tracts."""
        true = code_records(self.target, records, self._blocks, released=False)
        key = size_classes(records.n).astype(np.int64) * true.n_values + true.sensitive
        self._by_class += np.bincount(key, minlength=self._by_class.size).reshape(self._by_class.shape)
        if self._counts is not None:
            synthetic = code_records(self.target, records, self._blocks, released=True)
            self._counts.add(synthetic.codes, synthetic.sensitive)

    def learn(self, outcomes: Outcomes) -> None:
        """Add the most frequent value of all that were counted, the lower of two; and learn the model."""
        counts = self._by_class.sum(axis=0)
        best = int(counts.argmax())
        share = counts / max(counts.sum(), 1)
        outcomes.add_constant(
            self.target,
            "majority",
            float(share[best]),
            self._by_class.sum(axis=1),
            self._by_class[:, best].copy(),
        )
        if self._counts is not None:
            outcomes.expect(self.target, "naive_bayes")
            self._predictions = KeptPredictions(self._counts.model())

    def predict(self, records: Records, outcomes: Outcomes) -> None:
        """Add what naive Bayes predicts for the true workers of some destination tracts; nothing if it is left out."""
        if self._predictions is not None:
            true = code_records(self.target, records, self._blocks, released=False)
            predicted = self._predictions.predict(true.codes)
            outcomes.add(self.target, "naive_bayes", predicted, true.sensitive, size_classes(records.n))
