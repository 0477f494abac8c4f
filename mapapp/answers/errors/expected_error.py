"""The expected error of any count from a release, computed only from its certificate and public quantities.

A count C of synthetic workers who work in an area W and live in an area H estimates the real count N, which is secret.
A model of the mechanism says how much too large C is expected to be (bias), and how far it varies (variance), from sums
over workplace tracts: see `dirichlet_multinomial` and `exponential_mechanism`.

If H cuts a support point, synthetic homes within the point are placed by population, but real homes are not: they
cluster toward the workplace, as in the public gravity model. With g the share of the point's gravity mass in H, and s
its share of people, placing by population may have moved C (1 - g/s) workers; the sum of these is `placement`. Under
Algorithms 1-2, it also has what real homes differ from the gravity model. The expected error is the root of bias
squared plus variance plus placement squared: the root mean squared error of C.

The gravity model is a model; docs/theory/expected-errors.md reports how well the error covers.

Nothing confidential is read and nothing of the engine is imported, so pages may show the result.

Source: docs/theory/method.md, sections 3, 6, 7 and 10.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas

from geodata.store.schema import N_SEGMENTS
from mapapp.answers.errors.certificate_terms import (
    EXPONENTIAL,
    DrawnTerms,
    ExponentialTerms,
    SupportTerms,
    WeightTerms,
)
from mapapp.answers.errors.dirichlet_multinomial import DirichletErrors
from mapapp.answers.errors.exponential_mechanism import ExponentialErrors
from mapapp.answers.errors.exponential_noise import ExponentialNoise, ReleasedTables
from mapapp.answers.errors.home_values import TractValues, ValuesOfTracts, values_of_areas
from mapapp.answers.errors.support_prior import SupportPriors, Synthesizers
from mapapp.base import watch

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Numbers = Ints | Floats
WorkplaceArrays = tuple[Ints, Ints, Floats, Floats | None]
"""Tract, workers per synthesizer, number of such synthesizers, and number of units or None."""

__all__ = [
    "CountError",
    "ExpectedErrors",
    "UnitsOfTracts",
    "WorkplaceArrays",
    "WorkplaceCells",
    "Workplaces",
    "sample_tracts",
    "synthesizers_of",
]

_MOST_TRACTS: Final = 512
_TOGETHER: Final = 1024
"""Counts times tracts that are read together: more arrays at once would no longer fit into a processor's cache."""
_MOST_LISTED: Final = 1 << 19
"""Listed values that are read together."""


@dataclass(frozen=True, slots=True)
class CountError:
    """The expected error of one count, by its parts.

    Attributes
    ----------
    bias : float
        How much too large the count is expected to be; negative if too small.
    sd : float
        Standard deviation of the random part.
    placement : float
        Workers that placing homes by population within support points may have moved.
    """

    bias: float
    sd: float
    placement: float

    @property
    def error(self) -> float:
        """Expected root mean squared error: the number to show as ± beside the count."""
        return math.hypot(self.bias, self.sd, self.placement)


class ExpectedErrors:
    """Expected errors of the counts of one release; safe to use from several threads.

    Parameters
    ----------
    certificate : mapping
        `certificate.json` of the release.
    tracts : DataFrame
        The release's `tracts`: lon_deg, lat_deg, puma_index, superpuma_index, population; state_id and elsewhere too
        if far states are pooled.
    flows : DataFrame
        The release's `prior`.
    released : callable, optional
        Returns the released commutes to a workplace tract; needed for the exponential mechanism.
    """

    def __init__(
        self,
        certificate: Mapping[str, object],
        tracts: pandas.DataFrame,
        flows: pandas.DataFrame,
        released: ReleasedTables | None = None,
    ) -> None:
        support = SupportPriors(SupportTerms.of(certificate), tracts, flows)
        self._model: ExponentialErrors | DirichletErrors
        drawn = DrawnTerms.of(certificate)
        if drawn.mechanism == EXPONENTIAL:
            assert released is not None, "the model of this mechanism reads released tables"
            noise = ExponentialNoise(ExponentialTerms.of(certificate))
            self._model = ExponentialErrors(noise, drawn.clean, support, released)
        else:
            self._model = DirichletErrors(WeightTerms.of(certificate), support)

    def of_counts(
        self,
        homes: Floats | ValuesOfTracts,
        counts: Numbers,
        tract: Ints,
        n_workers: Numbers,
        n_synthesizers: Numbers,
        n_units: Numbers | None = None,
    ) -> list[CountError]:
        """Return expected errors of R counts with one work area.

        If there are more than 512 workplace tracts, an evenly spaced sample represents all of them.

        Parameters
        ----------
        homes : float64[R, n_tracts] or ValuesOfTracts
            Share of each tract's people in the home area: 1 for a tract inside, 0 for one outside, and the area's share
            of the population for a tract that it cuts. Listed, they may depend on the workplace tract.
        counts : float64[R, n_tracts]
            Counts by workplace tract.
        tract, n_workers : [P]
            Tracts of the work area, and workers per synthesizer.
        n_synthesizers : [R, P]
            Number of such synthesizers in each count: (workplace block, segment) pairs with that many workers, for the
            segments in question. If workers of several segments or blocks were drawn together and
            a count covers only some of them, their synthesizer counts by the part that is covered.
        n_units : [P], optional
            Number of such synthesizers of which any workers are in the work area, if the counts cover parts of them.
        """
        # Counts of the same segments, as those of a table mostly are, share their synthesizers.
        alike = n_synthesizers[:1] if (n_synthesizers == n_synthesizers[:1]).all() else n_synthesizers
        values = values_of_areas(homes) if isinstance(homes, np.ndarray) else homes
        asked = _Asked.of(values, (counts, counts), (tract, n_workers, alike, n_units))
        sums = self._errors_of(asked, is_count=True)
        return [
            CountError(float(bias), math.sqrt(variance), float(placement))
            for bias, variance, placement in zip(*sums, strict=True)
        ]

    def of_sums(
        self,
        values: ValuesOfTracts,
        totals: Floats,
        squares: Floats,
        tract: Ints,
        n_workers: Numbers,
        n_synthesizers: Numbers,
        n_units: Numbers | None = None,
    ) -> list[float]:
        """Return expected errors of R sums over workers, whose values depend on home and workplace.

        A count is the sum of values that are 1 in the home area and 0 elsewhere. The same formula holds, with variances
        of values in place of p (1 - p), including their spread within support points.

        Parameters
        ----------
        values : ValuesOfTracts
        totals, squares : float64[R, n_tracts]
            Sums of values and of squared values of the synthetic workers, by workplace tract.
        tract, n_workers, n_synthesizers, n_units : [P]
            As in :meth:`of_counts`; the number of synthesizers applies to all sums.

        Returns
        -------
        list of float
            Root mean squared errors, in units of the values.
        """
        asked = _Asked.of(values, (totals, squares), (tract, n_workers, n_synthesizers[None], n_units))
        bias, variance, placement = self._errors_of(asked, is_count=False)
        return [float(error) for error in np.sqrt(bias**2 + variance + placement**2)]

    def prepare(self, tracts: Ints) -> None:
        """Read what is kept of workplace tracts."""
        for tract in tracts.tolist():
            watch.check()
            self._model.prepare(tract)

    def _errors_of(self, asked: _Asked, *, is_count: bool) -> tuple[Floats, Floats, Floats]:
        """Return bias, variance and placement; if there are many tracts, some that are read represent all."""
        n_tracts, n_rows = asked.tracts.size, len(asked.found[0])
        if not n_tracts:
            nothing = np.zeros(n_rows)
            return nothing, nothing, nothing
        read = sample_tracts(np.arange(n_tracts))
        most = min(_TOGETHER // n_rows, _MOST_LISTED // max(asked.values.n_listed, 1))
        parts = np.array_split(read, -(-read.size // max(most, 1)))
        sums = np.asarray(
            sum(self._model.of_tracts(asked.in_tracts(part), is_count=is_count) for part in parts)
        )
        return self._model.errors_of(sums * (n_tracts / len(read)), 0.0 if is_count else -math.inf)


def sample_tracts(tracts: Ints) -> Ints:
    """Return tracts, or an evenly spaced sample of many."""
    return tracts[:: -(-max(tracts.size, 1) // _MOST_TRACTS)]


class _Asked(NamedTuple):
    """R counts or sums with one work area.

    Attributes
    ----------
    tracts : int64[T]
        Tracts of the work area, ascending.
    values : ValuesOfTracts
    found : tuple of float64[R, n_tracts]
        Of `TractValues`, but of every tract.
    synthesizers : Synthesizers
        Of all T tracts.
    """

    tracts: Ints
    values: ValuesOfTracts
    found: tuple[Numbers, Numbers]
    synthesizers: Synthesizers

    @classmethod
    def of(
        cls,
        values: ValuesOfTracts,
        counts: tuple[Numbers, Numbers],
        workplaces: tuple[Ints, Numbers, Numbers, Numbers | None],
    ) -> _Asked:
        """Sort the synthesizers of a work area by tract."""
        tract, n_workers, times, units = workplaces
        order = np.argsort(tract, kind="stable")
        tracts, place = np.unique(tract[order], return_inverse=True)
        sorted_units = None if units is None else units[order].astype(np.float64)
        synthesizers = Synthesizers(
            place.reshape(-1),
            n_workers[order].astype(np.float64),
            times[:, order].astype(np.float64),
            sorted_units,
        )
        return cls(tracts, values, counts, synthesizers)

    def in_tracts(self, at: Ints) -> TractValues:
        """Return what the counts or sums are of some of the T tracts."""
        watch.check()
        tracts = self.tracts[at]
        place, n, times, units = self.synthesizers
        number = np.full(self.tracts.size, -1)
        number[at] = np.arange(at.size)
        here = np.flatnonzero(number[place] >= 0)
        synthesizers = Synthesizers(
            number[place[here]], n[here], times[:, here], None if units is None else units[here]
        )
        counts = [column[:, tracts].T.astype(np.float64) for column in self.found]
        values, of_row = self.values.of(tracts), self.values.of_row
        return TractValues(tracts, values, of_row, synthesizers, (counts[0], counts[1]))


class WorkplaceCells(NamedTuple):
    """Workers of the (block, segment) pairs of a work area.

    Attributes
    ----------
    tract, block, segment, workers : int64[C]
    """

    tract: Ints
    block: Ints
    segment: Ints
    workers: Ints


class UnitsOfTracts(NamedTuple):
    """How workers were drawn together.

    Attributes
    ----------
    unit : {"cell", "block", "tract"}
    tract_workers : int64[n_tracts]
        All workers of each workplace tract.
    """

    unit: str
    tract_workers: Ints


class Workplaces(NamedTuple):
    """Synthesizers by workplace tract and number of workers.

    Attributes
    ----------
    tract, n_workers : int64[P]
    by_segment : float64[P, 27]
        Their number by segment. Of a synthesizer of several segments, each counts by its part of the workers.
    n_units : float64[P] or None
        Number of synthesizers, if they have several segments or blocks.
    """

    tract: Ints
    n_workers: Ints
    by_segment: Floats
    n_units: Floats | None

    def of_segments(self, segments: Sequence[int]) -> Floats:
        """Return the number of synthesizers in some segments: float64[P]."""
        return np.asarray(self.by_segment[:, segments].sum(axis=1))

    def arrays(self, segments: Sequence[int]) -> WorkplaceArrays:
        """Return tract, workers per synthesizer, number of synthesizers in some segments, and number of units."""
        return self.tract, self.n_workers, self.of_segments(segments), self.n_units


def synthesizers_of(cells: WorkplaceCells, units: UnitsOfTracts) -> Workplaces:
    """Return the synthesizers to which the workers of some cells belong."""
    n, number = _sizes(cells, units)
    most = int(n.max(initial=0)) + 1
    made, row = np.unique(cells.tract * most + n, return_inverse=True)
    row = row.reshape(-1)
    part = cells.workers / np.maximum(n, 1)
    times = np.bincount(row * N_SEGMENTS + cells.segment, part, made.size * N_SEGMENTS)
    together = None
    if units.unit != "cell":
        first = np.unique(number, return_index=True)[1]
        together = np.bincount(row[first], minlength=made.size).astype(np.float64)
    return Workplaces(made // most, made % most, times.reshape(-1, N_SEGMENTS).astype(np.float64), together)


def _sizes(cells: WorkplaceCells, units: UnitsOfTracts) -> tuple[Ints, Ints]:
    """Return the workers of each cell's synthesizer, and which one it is."""
    if units.unit == "tract":
        return units.tract_workers[cells.tract], cells.tract
    if units.unit == "block":
        number = np.unique(cells.block, return_inverse=True)[1].reshape(-1)
        return np.bincount(number, cells.workers).astype(np.int64)[number], number
    return cells.workers, np.arange(cells.workers.size)
