"""Synthesis: pruning and the Dirichlet-multinomial draw of every synthesizer, in exact integers."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from engine._arrays import IntArray
from engine.coarsening import Coarsening
from engine.pruning import NEVER_CERTAIN
from engine.streams import SecretKey

__all__ = ["SupportTable", "Synthesizers", "SyntheticPoints", "redraw_remainder", "synthesize"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SupportTable:
    """Public facts about the support points of a batch of destination tracts.

    Attributes
    ----------
    support_ptr : int64[T + 1]
        CSR offsets, as in :class:`engine.coarsening.Coarsening`.
    prior_weight : int64[K]
        strength × prior share in units of 2^-20 (:func:`engine.prior.prior_weight`); may be 0.
    retention_threshold : int64[K]
        f_i in units of 2^-32 (:func:`engine.pruning.retention_threshold`); 2^32 means certain.
    """

    support_ptr: npt.NDArray[np.int64]
    prior_weight: npt.NDArray[np.int64]
    retention_threshold: npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Synthesizers:
    """S synthesizers, one for each (destination, segment), with their real workers.

    Attributes
    ----------
    tract : int32[S]
        Position of the destination's tract in the batch, 0 to T - 1.
    destination : int64[S]
        Global number of the destination (0 to 2^32 - 1), the same in every batch: it addresses the stream.
    segment : int64[S]
        Number of the segment, 0 to 2^32 - 1; no (destination, segment) pair twice.
    worker_ptr : int64[S + 1]
        CSR offsets of each synthesizer's real workers; n is the difference.
    worker_point : int32[sum(n)]
        Local support point of each real worker (likelihood).
    min_prior_weight : int64[S]
        min_alpha in units of 2^-20, at least 1.
    published_count : int64[S]
        m, workers to draw; n where not given (None).
    """

    tract: npt.NDArray[np.int32]
    destination: npt.NDArray[np.int64]
    segment: npt.NDArray[np.int64]
    worker_ptr: npt.NDArray[np.int64]
    worker_point: npt.NDArray[np.int32]
    min_prior_weight: npt.NDArray[np.int64]
    published_count: npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class SyntheticPoints:
    """Support points drawn for synthetic workers.

    Attributes
    ----------
    synthetic_ptr : int64[S + 1]
        CSR offsets of each synthesizer's synthetic workers; m is the difference.
    synthetic_point : int32[sum(m)]
        Local support point of each synthetic worker.
    """

    synthetic_ptr: npt.NDArray[np.int64]
    synthetic_point: npt.NDArray[np.int32]


def synthesize(
    key: SecretKey,
    synthesizers: Synthesizers,
    support: SupportTable,
    *,
    certain_above: int = NEVER_CERTAIN,
    threads: int = 1,
) -> SyntheticPoints:
    """Prune each synthesizer's support and draw its synthetic workers.

    Parameters
    ----------
    key : SecretKey
    synthesizers : Synthesizers
    support : SupportTable
    certain_above : int
        Prior weight (units of 2^-20, the least weight applied) above which a point is never pruned;
        ``WEIGHT_ONE`` for the paper accountant.
    threads : int
        Threads to use; the result does not depend on it.

    Returns
    -------
    SyntheticPoints

    Raises
    ------
    ParameterError
        If arrays do not agree, an address occurs twice or a worker's point is not in its support.
    OverflowRefusedError
        If a synthesizer's weights could reach 2^62.

    Source: P08 Algorithms 1 and 2; METHOD sections 6 and 7.
    """
    raise NotImplementedError


def redraw_remainder(
    key: SecretKey,
    synthesizers: Synthesizers,
    drawn: SyntheticPoints,
    coarsening: Coarsening,
    redraw_weight: npt.NDArray[np.int64],
    *,
    threads: int = 1,
) -> SyntheticPoints:
    """Draw again, from the public prior, every synthetic worker that fell in a remainder point.

    The new point comes from the prior over the whole edited domain, never from the kept points, which
    depend on confidential counts; so this is post-processing. No result is a remainder point.

    Parameters
    ----------
    key : SecretKey
        Draws come from stage REMAINDER, addressed by (destination, segment).
    synthesizers : Synthesizers
    drawn : SyntheticPoints
    coarsening : Coarsening
        The edited support points.
    redraw_weight : int64[K]
        Prior shares as integers (:func:`engine.prior.redraw_weight`); a remainder's own is ignored.
    threads : int

    Returns
    -------
    SyntheticPoints

    Raises
    ------
    SupportError
        If a destination tract has no weight outside its remainder.

    Source: METHOD section 3.
    """
    raise NotImplementedError
