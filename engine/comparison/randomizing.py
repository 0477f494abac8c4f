"""Two mechanisms beside the exponential one: keep-or-redraw, and geometric noise projected on the public total.

Both are private with delta 0, draw as many workers as there are, and take units as the exponential mechanism does.
Keep-or-redraw is the simplest to explain, and a little better for two to nine workers at some epsilons; projected noise
is better for whole tracts at an epsilon of 3 or less.

Source: Warner 1965 and Kairouz, Oh and Viswanath 2016 (randomized response); Ghosh, Roughgarden and Sundararajan 2009
(geometric noise); docs/theory/method.md, section 7e.
"""

import numpy as np
import numpy.typing as npt

from engine.comparison.drawing import Digits, Ints, draw_histogram, gap_digits
from engine.comparison.kernels.histograms import HistogramInputs, LaplaceNoise
from engine.comparison.kernels.randomizing import geometric_range, keep_or_redraw_range
from engine.kernels.arrays import PointLists
from engine.mechanisms.chances import noise_digits
from engine.mechanisms.dirichlet_multinomial import Synthesizers, SyntheticPoints
from engine.mechanisms.thetas import exponential_epsilon, inverse_theta
from engine.mechanisms.unit import draw_by_unit
from engine.parameters import Number, Unit
from engine.streams import SecretKey
from engine.support.support_table import SupportTable

__all__ = ["geometric_histogram", "keep_or_redraw"]


def keep_or_redraw(
    key: SecretKey,
    synthesizers: Synthesizers,
    support: SupportTable,
    *,
    epsilon: Number,
    unit: Unit = "cell",
    tract_number: npt.NDArray[np.int64] | None = None,
    threads: int = 1,
) -> SyntheticPoints:
    """Every worker keeps the true support point, or is redrawn uniformly over all of them.

    Parameters, returns and errors as in :func:`engine.mechanisms.exponential.exponential`, but for its limits of size.

    Source: docs/theory/method.md, section 7e.
    """
    odds = inverse_theta(exponential_epsilon(epsilon), 1, 1)

    def draw(
        bounds: tuple[int, int],
        inputs: HistogramInputs,
        _chances: Digits,
        _short: Ints,
        synthetic: PointLists,
    ) -> int:
        return keep_or_redraw_range(bounds, inputs, odds, key.words, synthetic)

    def draw_units(units: Synthesizers) -> SyntheticPoints:
        return draw_histogram(units, support, lambda n_digits: (), draw, units.n_synthetic, threads)

    return draw_by_unit(key, synthesizers, unit, tract_number, draw_units, threads=threads)


def geometric_histogram(
    key: SecretKey,
    synthesizers: Synthesizers,
    support: SupportTable,
    *,
    epsilon: Number,
    unit: Unit = "cell",
    tract_number: npt.NDArray[np.int64] | None = None,
    threads: int = 1,
) -> SyntheticPoints:
    """Counts with two-sided geometric noise of scale 2 / epsilon, clamped at 0 and projected on the public total.

    Parameters and returns as in :func:`engine.mechanisms.exponential.exponential`; draws come from stages NOISE and
    TOTAL, and DEAL.

    Raises
    ------
    ParameterError
        Epsilon is out of range, published counts differ from real ones, or the arrays do not agree.
    OverflowRefusedError
        Noisy counts of one unit passed 2^31.

    Source: docs/theory/method.md, section 7e.
    """
    rate = exponential_epsilon(epsilon) / 2

    def digits(n_digits: int) -> Digits:
        return noise_digits(rate, n_digits), gap_digits(rate, n_digits)

    def draw(
        bounds: tuple[int, int], inputs: HistogramInputs, chances: Digits, short: Ints, synthetic: PointLists
    ) -> int:
        noise = LaplaceNoise(chances[0], chances[1], short)
        return geometric_range(bounds, inputs, noise, key.words, synthetic)

    def draw_units(units: Synthesizers) -> SyntheticPoints:
        work = units.n_synthetic + support.n_support[units.tract]
        return draw_histogram(units, support, digits, draw, work, threads)

    return draw_by_unit(key, synthesizers, unit, tract_number, draw_units, threads=threads)
