"""The paper's accountant is believed about pruned tails only where the sound bound agrees."""

from __future__ import annotations

import numpy as np
import pytest

from engine.accountant.paper import RULES, Accounting, SynthesizerClasses, certify_classes
from engine.errors import CertificateError
from engine.kernels.units import RETENTION_UNITS
from engine.parameters import PrivacyParameters, SynthesisParameters
from engine.support.support_table import SupportTable
from mapapp.kinds.release.make.certified_weights import Tails, pruned_as_a_whole, tails_of


def certified(
    k: int, n: int, epsilon: str, retention: float
) -> tuple[Accounting, list[Tails], PrivacyParameters]:
    """One class of n workers over k support points with equal weights and retentions."""
    table = SupportTable(
        support_ptr=np.array([0, k]),
        base_weight=np.zeros(k, dtype=np.int64),
        retention=np.full(k, int(retention * RETENTION_UNITS) + 1, dtype=np.int64),
    )
    counts = np.array([n])
    classes = SynthesizerClasses(tract=np.array([0]), likelihood_count=counts, published_count=counts)
    privacy = PrivacyParameters(
        epsilon=epsilon, delta="1e-6", min_retention=str(retention), accountant="paper"
    )
    accounting = certify_classes(table, classes, privacy)
    return accounting, [tails_of(table, classes, accounting)], privacy


@pytest.mark.parametrize(("k", "n", "epsilon", "retention"), [(1000, 20, "2", 0.001), (1000, 20, "2", 0.025)])
def test_settings_that_fail_by_simulation_are_refused(k: int, n: int, epsilon: str, retention: float) -> None:
    """Drawing from the sampler, these fail with probability 1e-3 and 2e-4 where 1e-6 was certified."""
    accounting, tails, privacy = certified(k, n, epsilon, retention)
    assert RULES[accounting.rule[0]] == "theorem 4.4"
    with pytest.raises(CertificateError, match="pruning does not keep"):
        pruned_as_a_whole(tails, privacy, SynthesisParameters())


def test_replication_goes_on_and_is_stamped() -> None:
    parameters = SynthesisParameters(replication=True)
    _, tails, privacy = certified(1000, 20, "2", 0.001)
    _, doubts = pruned_as_a_whole(tails, privacy, parameters)
    assert doubts


def test_the_published_setting_is_covered() -> None:
    _, tails, privacy = certified(1000, 100, "4.6", 0.025)
    facts, doubts = pruned_as_a_whole(tails, privacy, SynthesisParameters())
    assert doubts == ()
    assert 0 < facts["pruned_delta_bound"] <= 1e-6


def test_small_workplaces_need_no_second_opinion() -> None:
    _, tails, privacy = certified(1000, 2, "4.6", 0.025)
    facts, doubts = pruned_as_a_whole(tails, privacy, SynthesisParameters())
    assert (facts, doubts) == ({"pruned_delta_bound": 0.0}, ())
