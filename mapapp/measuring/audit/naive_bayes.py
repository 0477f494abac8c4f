"""Attackers who need all workers: the most frequent value, and naive Bayes, which learns from the whole release.

Both go through the workers twice, part by part: once to count, and once to predict. Nobody's record is kept.

Source: docs/audit.md, "Attackers and controls".
"""

from __future__ import annotations

import numpy as np

from engine.audit.decomposition import MOST_COUNTS
from engine.audit.empirical import SIZE_CLASSES
from engine.audit.naive_bayes import CodeCounts, KeptPredictions
from engine.audit.tally import size_classes
from mapapp.measuring.audit.outcomes import Outcomes
from mapapp.measuring.audit.questions import Target
from mapapp.measuring.audit.records import CodedBlocks, Records, coded

__all__ = ["WholeAttack"]


class WholeAttack:
    """The two attackers on one question.

    Parameters
    ----------
    target : str
        One whose values mean the same for all workplaces.
    blocks : CodedBlocks
    """

    def __init__(self, target: Target, blocks: CodedBlocks) -> None:
        nobody = coded(target, Records.none(), blocks, released=False)
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
        true = coded(self.target, records, self._blocks, released=False)
        key = size_classes(records.n).astype(np.int64) * true.n_values + true.sensitive
        self._by_class += np.bincount(key, minlength=self._by_class.size).reshape(self._by_class.shape)
        if self._counts is not None:
            synthetic = coded(self.target, records, self._blocks, released=True)
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
            true = coded(self.target, records, self._blocks, released=False)
            found = self._predictions.predict(true.codes)
            outcomes.add(self.target, "naive_bayes", found, true.sensitive, size_classes(records.n))
