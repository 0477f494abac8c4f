"""A setting drawn several times on the analyst's machine, and how far each draw is from the real homes.

Draws are made with keys that follow from the published test key, and nothing of them is written: only means over
destinations come out. Confidential all the same.

Source: docs/theory/method.md, section 10.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from engine.parameters import PrivacyParameters, SynthesisParameters
from engine.streams import PublicSeed, SecretKey, attempt_key
from engine.validity import (
    SMALL_WORKPLACE,
    cell_counts,
    kl_divergence,
    kl_of_counts,
    squared_error,
    total_variation,
)
from mapapp.base.progress import Report, silent
from mapapp.measuring.analyst import AnalystData
from mapapp.measuring.tract_workers import Panel
from mapapp.publishing.batch import draw_workers
from mapapp.publishing.certified_weights import certify_weights
from mapapp.publishing.geography import Geography, Ints
from mapapp.publishing.prior import PublicPrior
from mapapp.publishing.support import build_support

Floats = npt.NDArray[np.float64]

_KINDS: Final = ("kl_drawn", "imse_drawn", "moved", "infinite")

DRAWN: Final = tuple(f"{kind}_{who}" for kind in _KINDS for who in ("all", "small"))
"""Names of what is measured on a draw, as of a release in :mod:`mapapp.measuring.validity`."""


def drawn_measures(
    data: AnalystData,
    privacy: PrivacyParameters,
    parameters: SynthesisParameters,
    n_draws: int,
    *,
    tracts: Ints | None = None,
    report: Report = silent,
) -> dict[str, Floats]:
    """Draw a setting `n_draws` times and measure each draw as a release is measured.

    The first draw is the one that `synthesize --test-key` makes. Domain editing has the public seed of tests in all of
    them, so that they differ by the draw of workers alone.

    Parameters
    ----------
    data : AnalystData
    privacy, parameters
        The setting.
    n_draws : int
        0 or more.
    tracts : int64[T], optional
        Positions of the destination tracts to draw; all by default.
    report : callable
        Called with (stage, done, total) before every part.

    Returns
    -------
    dict of str to float64[n_draws]
        By the names of `DRAWN`: means over destinations weighted by workers, NaN without destinations.

    Raises
    ------
    EngineError
        The setting cannot be certified.
    """
    if not n_draws:
        return {}
    data = data.drawn_from(parameters)
    keys = [_key(number) for number in range(n_draws)]
    prior = data.prior(parameters)
    sums = np.zeros((len(DRAWN), n_draws))
    weights = np.zeros(len(DRAWN))
    for panel in data.panels(tracts, report):
        added, counted = _of_panel(panel, data.geography, prior, keys, privacy, parameters)
        sums += added
        weights += counted
    with np.errstate(invalid="ignore", divide="ignore"):
        means = np.where(weights[:, None] > 0, sums / weights[:, None], np.nan)
    return dict(zip(DRAWN, means, strict=True))


def _key(number: int) -> SecretKey:
    test_key = SecretKey.for_tests()
    return test_key if number == 0 else attempt_key(test_key, (1 << 32) - number)


def _of_panel(
    panel: Panel,
    geography: Geography,
    prior: PublicPrior,
    keys: Sequence[SecretKey],
    privacy: PrivacyParameters,
    parameters: SynthesisParameters,
) -> tuple[Floats, Floats]:
    """Sums of workers times measures [8, n_draws], and of workers [8]."""
    inputs, seed = panel.inputs, PublicSeed.for_tests()
    support = build_support(seed, geography.tracts, inputs.destination_tract, prior, privacy, parameters)
    weights = certify_weights(inputs, support, privacy, parameters.mechanism).of_synthesizers()
    ptr = inputs.worker_ptr[inputs.destination_ptr]
    tract = np.repeat(inputs.tract, inputs.count)
    real = cell_counts(ptr, panel.cell[tract, panel.home_tract])
    n = np.diff(ptr).astype(np.float64)
    weight = np.stack([n, n * (n <= SMALL_WORKPLACE)])
    sums = np.empty((len(DRAWN), len(keys)))
    for column, key in enumerate(keys):
        drawn = draw_workers(key, inputs, geography, support, weights, privacy, parameters)
        home = geography.tract_of_block[drawn.home_block]
        other = cell_counts(ptr, panel.cell[tract, home])
        sums[:, column] = (np.stack(_measures(real, other, n)) @ weight.T).ravel()
    return sums, np.tile(weight.sum(axis=1), len(_KINDS))


def _measures(real: Ints, drawn: Ints, n: Floats) -> list[Floats]:
    """Of each destination: KL with one worker added, squared error, share moved, and whether plain KL is infinite."""
    plain = kl_divergence(real / n[:, None], drawn / n[:, None])
    return [
        kl_of_counts(real, drawn),
        squared_error(real, drawn),
        total_variation(real, drawn),
        np.isinf(plain).astype(np.float64),
    ]
