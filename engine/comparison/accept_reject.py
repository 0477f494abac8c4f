"""Accept/reject: unrepresentative outputs of the Dirichlet-multinomial mechanism are drawn again.

P08 §V-A draws again what lies outside gamma-Good and certifies epsilon = ln((gamma + 1) / (1 - p)), delta = p, with p
the largest chance of an output outside gamma-Rep. The lemma is about the mechanism without pruning.
docs/theory/method.md, section 7c, proves it for pruning and drawing together, with the thresholds of section 5b in
place of gamma's (they are the same where nothing is pruned), for whole-number thresholds, and for a limited number of
rounds. What the proof needs: a rejected output is drawn again from the beginning, pruning included.

The promise is epsilon_final itself, as under the sound accountant; gamma + 1 is e^epsilon_final (1 - delta), rounded
down.

Source: P08 §V-A, Lemma 5.2; docs/theory/method.md, section 7c.
"""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from engine.accountant.kernels import sound as sound_kernels
from engine.accountant.paper import SynthesizerClasses
from engine.accountant.sound import SoundAccounting, certify_sound
from engine.arrays import as_int
from engine.comparison.kernels.acceptance import RATIO_BITS, AcceptanceRules, accept_range
from engine.errors import ParameterError
from engine.kernels.arrays import PointLists, Support
from engine.kernels.units import WEIGHT_UNITS
from engine.mechanisms.chances import exponential_bounds
from engine.mechanisms.dirichlet_multinomial import Synthesizers, SyntheticPoints, synthesize
from engine.parameters import PrivacyParameters
from engine.streams import SecretKey, attempt_key
from engine.support.support_table import SupportTable
from engine.threads import run_ranges

__all__ = [
    "LARGEST_ACCEPTED_EPSILON",
    "ROUNDS",
    "AcceptedAccounting",
    "certify_accepted",
    "inner_privacy",
    "is_accepted",
    "synthesize_accepted",
]

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

LARGEST_ACCEPTED_EPSILON = 15
"""e^15 < 2^22, which keeps every threshold within 64 bits; at more nothing would be rejected."""

ROUNDS = 64
"""Public, and the same for all: outputs still rejected in the last round are used. The proof holds for any number."""

_GAP = Fraction(1, 1 << 16)
_RATIO_ONE = 1 << RATIO_BITS


@dataclass(frozen=True, slots=True, kw_only=True)
class AcceptedAccounting:
    """Evidence for accept/reject: the sound accounting of the mechanism drawn from, and the rule of acceptance.

    Attributes
    ----------
    sound : SoundAccounting
        At the inner epsilon: its delta bounds are p, one for each class.
    ratio : int64[n_classes]
        rho = E / kappa in multiples of 2^-20, rounded down: a point with n_i workers is within its threshold when
        m_i <= (f_i rho - 1) alpha_i (n_i <= 1) or m_i <= (rho - 1)(alpha_i + n_i - 1).
    """

    sound: SoundAccounting
    ratio: Ints


def certify_accepted(
    prior: SupportTable, classes: SynthesizerClasses, privacy: PrivacyParameters, *, threads: int = 1
) -> AcceptedAccounting:
    """Least prior weight of each class under accept/reject, what certifies it, and what to accept.

    Parameters
    ----------
    prior, classes, threads
        As in :func:`engine.accountant.sound.certify_sound`.
    privacy : PrivacyParameters
        The promise, accountant "sound"; its `epsilon` is epsilon_final, at most 15.

    Returns
    -------
    AcceptedAccounting

    Raises
    ------
    ParameterError
        Another accountant is asked for, or epsilon is out of range.
    OverflowRefusedError
        As :func:`engine.accountant.sound.certify_sound`.
    """
    return _accounting(certify_sound(prior, classes, inner_privacy(privacy), threads=threads), privacy)


def synthesize_accepted(
    key: SecretKey,
    synthesizers: Synthesizers,
    support: SupportTable,
    ratio: Ints,
    *,
    certain_above: int = WEIGHT_UNITS,
    rounds: int = ROUNDS,
    threads: int = 1,
) -> SyntheticPoints:
    """Prune and draw each synthesizer, again and again until its output is representative.

    Parameters
    ----------
    key : SecretKey
        The first round draws what :func:`engine.mechanisms.dirichlet_multinomial.synthesize` draws; each later one has
        a key of its own.
    synthesizers, support, certain_above, threads
        As in :func:`engine.mechanisms.dirichlet_multinomial.synthesize`; the sound accountant certifies ``certain_above
        = WEIGHT_UNITS``.
    ratio : int64[S]
        rho of each synthesizer's class, from :attr:`AcceptedAccounting.ratio`.
    rounds : int
        1 to 2^24; outputs still rejected in the last round are used. It must not depend on confidential data.

    Returns
    -------
    SyntheticPoints
        The result does not show how often a synthesizer was drawn. (The duration of the call might: do not publish it.)

    Raises
    ------
    ParameterError, SupportError, OverflowRefusedError
        As :func:`engine.mechanisms.dirichlet_multinomial.synthesize`; or a ratio or the number of rounds is out of
        range.

    Source: P08 §V-A; docs/theory/method.md, section 7c.
    """
    if not 1 <= rounds <= 1 << 24:
        raise ParameterError(f"rounds = {rounds}: allowed are 1 to 2^24")
    checked = _check_ratio(ratio, synthesizers)
    drawn = synthesize(key, synthesizers, support, certain_above=certain_above, threads=threads)
    points = drawn.synthetic_point.copy()
    places = np.arange(synthesizers.tract.size)
    part, part_drawn = synthesizers, drawn
    for attempt in range(1, rounds):
        accepted = is_accepted(
            part, support, checked[places], part_drawn, certain_above=certain_above, threads=threads
        )
        if accepted.all():
            break
        part, places = _take_synthesizers(part, np.flatnonzero(~accepted)), places[~accepted]
        part_drawn = synthesize(
            attempt_key(key, attempt), part, support, certain_above=certain_above, threads=threads
        )
        points[_positions(drawn.synthetic_ptr, places)] = part_drawn.synthetic_point
    return SyntheticPoints(synthetic_ptr=drawn.synthetic_ptr, synthetic_point=points)


def is_accepted(
    synthesizers: Synthesizers,
    support: SupportTable,
    ratio: Ints,
    drawn: SyntheticPoints,
    *,
    certain_above: int = WEIGHT_UNITS,
    threads: int = 1,
) -> Bools:
    """Whether each synthesizer's output is in gamma-Good: bool[S]. Confidential, as it depends on the real workers.

    Parameters as in :func:`synthesize_accepted`; `drawn` is what is judged.

    Raises
    ------
    ParameterError
        A ratio is not in 2^20 to 2^42 - 1, or the arrays do not agree.

    Source: P08 §V-A (gamma-Rep, gamma-Good).
    """
    if synthesizers.prunes is not None and not synthesizers.prunes.all():
        raise ParameterError("a synthesizer does not prune: accept/reject is certified for those that do")
    checked = _check_ratio(ratio, synthesizers)
    if drawn.synthetic_ptr.size != checked.size + 1:
        raise ParameterError(
            "drawn and synthesizers differ in number: give what synthesize returned for them"
        )
    accepted = np.empty(checked.size, dtype=np.bool_)
    workers = PointLists(synthesizers.worker_ptr, synthesizers.worker_point)
    rules = AcceptanceRules(synthesizers.tract, synthesizers.min_prior_weight, checked)
    table = Support(support.support_ptr, support.base_weight, support.retention)
    synthetic = PointLists(drawn.synthetic_ptr, drawn.synthetic_point)

    def judge(start: int, stop: int) -> int:
        bounds = (start, stop)
        return accept_range(bounds, workers, rules, table, certain_above, synthetic, accepted)

    run_ranges(judge, synthesizers.n_likelihood + synthesizers.n_synthetic, threads)
    return accepted


def _check_ratio(ratio: Ints, synthesizers: Synthesizers) -> Ints:
    """One ratio per synthesizer, from 1 to less than 2^22, which keeps the kernel's products in 64 bits."""
    checked: Ints = as_int("ratio", ratio, low=_RATIO_ONE, high=(1 << 42) - 1)
    if checked.size != synthesizers.tract.size:
        raise ParameterError(
            f"{checked.size} ratios for {synthesizers.tract.size} synthesizers: give one each"
        )
    return checked


def inner_privacy(privacy: PrivacyParameters) -> PrivacyParameters:
    """The promise that the mechanism drawn from is certified for: a little below epsilon_final + ln(1 - delta).

    The gap of 2^-16 is what thresholds in whole numbers lose, many times over: they stay between those certified and
    those of E.

    Raises
    ------
    ParameterError
        As :func:`certify_accepted`.
    """
    if privacy.accountant != "sound":
        raise ParameterError(
            f"accountant is {privacy.accountant!r}; accept/reject is certified by the sound accountant only"
        )
    # ln(1 - delta) is at least -delta / (1 - delta).
    inner = privacy.epsilon - privacy.delta / (1 - privacy.delta) - _GAP
    if inner <= 0 or privacy.epsilon > LARGEST_ACCEPTED_EPSILON:
        raise ParameterError(
            f"epsilon is {float(privacy.epsilon):g} with delta {float(privacy.delta):g}; accept/reject needs more "
            f"than delta/(1 - delta) + 2^-16 and at most {LARGEST_ACCEPTED_EPSILON}: lower epsilon or delta"
        )
    return PrivacyParameters(
        epsilon=inner, delta=privacy.delta, min_retention=privacy.min_retention, accountant="sound"
    )


def _accounting(sound: SoundAccounting, privacy: PrivacyParameters) -> AcceptedAccounting:
    """Ratios that follow from the accounting of the mechanism drawn from."""
    e = _allowed_ratio(privacy)
    kappas, position = np.unique(sound.terms[:, sound_kernels.KAPPA], return_inverse=True)
    ratios = [int(e * _RATIO_ONE / Fraction(float(kappa))) for kappa in kappas]
    ratio = np.array(ratios, dtype=np.int64)[position.reshape(-1)]
    return AcceptedAccounting(sound=sound, ratio=ratio)


def _allowed_ratio(privacy: PrivacyParameters) -> Fraction:
    """E = e^epsilon_final (1 - delta), rounded down."""
    bits = 128
    return (1 - privacy.delta) * Fraction(1 << bits, exponential_bounds(privacy.epsilon, bits)[1])


def _positions(ptr: Ints, places: Ints) -> Ints:
    """Positions of the values of some items, item by item, in arrays with CSR offsets ``ptr``."""
    sizes = np.diff(ptr)[places]
    ends = np.cumsum(sizes)
    positions: Ints = np.arange(int(sizes.sum())) + np.repeat(ptr[:-1][places] - ends + sizes, sizes)
    return positions


def _take_synthesizers(synthesizers: Synthesizers, places: Ints) -> Synthesizers:
    """Some of the synthesizers, in the order of ``places``."""
    ptr = synthesizers.worker_ptr
    published_count, prunes = synthesizers.published_count, synthesizers.prunes
    return Synthesizers(
        tract=synthesizers.tract[places],
        destination=synthesizers.destination[places],
        segment=synthesizers.segment[places],
        worker_ptr=np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(np.diff(ptr)[places]))),
        worker_point=synthesizers.worker_point[_positions(ptr, places)],
        min_prior_weight=synthesizers.min_prior_weight[places],
        published_count=None if published_count is None else published_count[places],
        prunes=None if prunes is None else prunes[places],
    )
