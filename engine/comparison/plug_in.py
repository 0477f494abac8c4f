"""Plug-in multinomial: synthetic workers drawn from the real ones. It is not private.

It serves to show how much accuracy the other mechanisms give up for privacy. Never publish its output.
"""

from engine.comparison.drawing import Digits, Ints, draw_histogram
from engine.comparison.kernels.histograms import HistogramInputs, plug_in_range
from engine.kernels.arrays import PointLists
from engine.mechanisms.dirichlet_multinomial import Synthesizers, SyntheticPoints
from engine.streams import SecretKey
from engine.support.support_table import SupportTable

__all__ = ["plug_in_multinomial"]


def plug_in_multinomial(
    key: SecretKey, synthesizers: Synthesizers, support: SupportTable, *, threads: int = 1
) -> SyntheticPoints:
    """Draw m workers with chances n_i / n, exactly; where n = 0, from the public prior.

    Parameters and errors as in :func:`engine.comparison.laplace.laplace_histogram`; all draws, also those with n = 0,
    come from stage SAMPLE.

    Returns
    -------
    SyntheticPoints

    Source: P10 "The Multinomial-Dirichlet Synthesizer", whose table holds plug-in chances.
    """

    def draw(
        bounds: tuple[int, int],
        inputs: HistogramInputs,
        _chances: Digits,
        _short: Ints,
        synthetic: PointLists,
    ) -> int:
        return plug_in_range(bounds, inputs, key.words, synthetic)

    return draw_histogram(synthesizers, support, lambda n_digits: (), draw, synthesizers.n_synthetic, threads)
