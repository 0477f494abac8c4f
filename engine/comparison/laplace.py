"""The Laplace sanitizer of P10: independent noise on the count of every support point, pure epsilon-DP.

P10 shows only the case of two categories and does not say how to keep the total with more. Here noisy counts are
clamped at zero, and the m synthetic workers are divided in proportion to them; docs/theory/method.md, section 7b,
explains why that is post-processing. The noise is discrete Laplace, P(z) ∝ exp(-epsilon |z| / 2), instead of the
rounded continuous Laplace of P10's table: the same epsilon with less noise.

Source: P10 "Laplace Sanitizer"; Ghosh, Roughgarden and Sundararajan 2009 (the discrete law); Canonne, Kamath and
Steinke 2020 (exact draws from it).
"""

import numpy as np
import numpy.typing as npt

from engine.comparison.drawing import Digits, Ints, draw_histogram, gap_digits, noise_epsilon
from engine.comparison.kernels.histograms import HistogramInputs, LaplaceNoise, laplace_range
from engine.kernels.arrays import PointLists
from engine.kernels.chacha import STREAM_FIELDS, open_stream
from engine.kernels.noise import fill_noise
from engine.mechanisms.chances import draw_with_digits, noise_digits
from engine.mechanisms.dirichlet_multinomial import Synthesizers, SyntheticPoints
from engine.parameters import Number, exact_fraction
from engine.streams import SecretKey, Stage, check_addresses
from engine.support.support_table import SupportTable

__all__ = ["laplace_histogram", "laplace_noise"]


def laplace_histogram(
    key: SecretKey,
    synthesizers: Synthesizers,
    support: SupportTable,
    *,
    epsilon: Number,
    threads: int = 1,
) -> SyntheticPoints:
    """Synthetic workers in proportion to counts with discrete Laplace noise of scale 2 / epsilon.

    Parameters
    ----------
    key : SecretKey
        Draws come from stages NOISE and TOTAL, addressed by (destination, segment).
    synthesizers : Synthesizers
        `min_prior_weight` is used only where the prior is drawn from.
    support : SupportTable
        Retentions are not used: nothing is pruned.
    epsilon : Fraction, str, int or float
        1/1024 to 100.
    threads : int
        Threads to use; the result does not depend on it.

    Returns
    -------
    SyntheticPoints
        Points of one synthesizer in rising order. If no noisy count is above zero, or n = 0, all come from the public
        prior.

    Raises
    ------
    ParameterError
        Epsilon is out of range, or the arrays do not agree.
    OverflowRefusedError
        Noisy counts of one synthesizer passed 2^31, or prior weights could reach 2^62.

    Notes
    -----
    Time grows with the number of workers and of empty points that get noise above 0, about one in e^(epsilon/2).
    Privacy requires noise on every point, but nothing is drawn for the other empty points.

    Source: P10 "Laplace Sanitizer".
    """
    rate = noise_epsilon(epsilon) / 2

    def digits(n_digits: int) -> Digits:
        return noise_digits(rate, n_digits), gap_digits(rate, n_digits)

    def draw(
        bounds: tuple[int, int], inputs: HistogramInputs, chances: Digits, short: Ints, synthetic: PointLists
    ) -> int:
        noise = LaplaceNoise(chances[0], chances[1], short)
        return laplace_range(bounds, inputs, noise, key.words, synthetic)

    work = synthesizers.n_likelihood + synthesizers.n_synthetic
    return draw_histogram(synthesizers, support, digits, draw, work, threads)


def laplace_noise(
    key: SecretKey, destination: int, segment: int, *, rate: Number, count: int
) -> npt.NDArray[np.int64]:
    """Discrete Laplace noise from the start of one stream of stage NOISE: int64[count], P(z) ∝ exp(-rate |z|).

    Raises
    ------
    ParameterError
        The rate is not in 2^-11 to 50, or the address is out of range.
    """
    exact = noise_epsilon(2 * exact_fraction(rate, "rate")) / 2
    first, second = check_addresses(np.array([destination]), np.array([segment]))
    values = np.empty(count, dtype=np.int64)

    def draw(n_digits: int, short: Ints) -> None:
        stream = np.zeros(STREAM_FIELDS, dtype=np.int64)
        open_stream(int(Stage.NOISE), first[0], second[0], stream)
        fill_noise(key.words, stream, noise_digits(exact, n_digits), short, values)

    draw_with_digits(draw)
    return values
