"""Stability-based sparse histogram: noise on occupied points only, published from a threshold on. (epsilon, delta)-DP.

An empty point is never published. A worker alone in a point is published with the chance that noise raises a count of
1 to the threshold, and that chance is delta. docs/theory/method.md, section 7b, has the proof for a single worker's
move from a point that no one else occupies to an empty one.

Source: Korolova, Kenthapadi, Mishra and Ntoulas 2009, and Bun, Nissim and Stemmer 2016 ("stability-based
histograms"), for tables that differ by adding a worker; the proof for one that moves is ours.
"""

import math
from fractions import Fraction
from typing import NamedTuple

from engine.comparison.drawing import Digits, Ints, draw_histogram, noise_epsilon
from engine.comparison.kernels.histograms import HistogramInputs, ThresholdNoise, sparse_range
from engine.errors import ParameterError
from engine.kernels.arrays import PointLists
from engine.mechanisms.chances import exponential_bounds, noise_digits
from engine.mechanisms.dirichlet_multinomial import Synthesizers, SyntheticPoints
from engine.parameters import Number, exact_fraction
from engine.streams import SecretKey
from engine.support.support_table import SupportTable

__all__ = ["Threshold", "least_threshold", "sparse_histogram"]


class Threshold(NamedTuple):
    """The least noisy count that is published, and what certifies it.

    Attributes
    ----------
    least : int
        At least 1.
    delta_bound : Fraction
        Not below the chance that a worker alone in a point is published; at most delta.
    """

    least: int
    delta_bound: Fraction


def least_threshold(epsilon: Number, delta: Number) -> Threshold:
    """Least threshold that keeps the promise, in exact arithmetic rounded to the safe side.

    Parameters
    ----------
    epsilon, delta : Fraction, str, int or float
        1/1024 ≤ epsilon ≤ 100, 0 < delta < 1.

    Returns
    -------
    Threshold
        The least T with q^(T-1) / (1 + q) at most delta, q = e^(-epsilon/2).

    Raises
    ------
    ParameterError
        A number is out of range.

    Source: docs/theory/method.md, section 7b.
    """
    rate, allowed = noise_epsilon(epsilon) / 2, exact_fraction(delta, "delta")
    if not 0 < allowed < 1:
        raise ParameterError(f"delta is {float(allowed):g}; it must lie strictly between 0 and 1")
    bits = 128 + allowed.denominator.bit_length()
    scale = 1 << bits
    q_low = exponential_bounds(rate, bits)[0]

    def chance(above: int) -> Fraction:
        """Not below P(noise ≥ above), above ≥ 0."""
        power = exponential_bounds(rate * above, bits)[1] if above else scale
        return Fraction(power, scale + q_low)

    # At or below the point where q^above = 2 delta, so that the search begins with more than the allowed chance.
    log_delta = math.log(allowed.numerator) - math.log(allowed.denominator)
    above = max(0, math.floor((-log_delta - math.log(2)) / float(rate)) - 2)
    while chance(above) > allowed:
        above += 1
    return Threshold(above + 1, chance(above))


def sparse_histogram(
    key: SecretKey,
    synthesizers: Synthesizers,
    support: SupportTable,
    *,
    epsilon: Number,
    delta: Number,
    threads: int = 1,
) -> SyntheticPoints:
    """Noisy counts of occupied points from a threshold on, filled up to m from the public prior.

    Parameters
    ----------
    key, synthesizers, support, threads
        As in :func:`engine.comparison.laplace.laplace_histogram`.
    epsilon, delta : Fraction, str, int or float
        As in :func:`least_threshold`.

    Returns
    -------
    SyntheticPoints
        If published counts exceed m, m of the published workers are taken at random; if they fall short, the rest is
        drawn from the prior. With n = 0 all workers are drawn from the prior.

    Raises
    ------
    ParameterError
        Epsilon or delta is out of range, or the arrays do not agree.
    OverflowRefusedError
        Noisy counts of one synthesizer passed 2^31, or prior weights could reach 2^62.

    Notes
    -----
    It takes a few random words per occupied point and synthetic worker, however many points there are.
    """
    threshold = least_threshold(epsilon, delta).least
    rate = noise_epsilon(epsilon) / 2

    def draw(
        bounds: tuple[int, int], inputs: HistogramInputs, chances: Digits, short: Ints, synthetic: PointLists
    ) -> int:
        noise = ThresholdNoise(chances[0], threshold, short)
        return sparse_range(bounds, inputs, noise, key.words, synthetic)

    work = synthesizers.n_likelihood + synthesizers.n_synthetic
    return draw_histogram(
        synthesizers, support, lambda n_digits: (noise_digits(rate, n_digits),), draw, work, threads
    )
