"""The share of workers whom a setting misplaces: simulated homes, a release drawn from them, and tables of both.

Everything is done to the simulated homes that a release does to real ones: coarsening, the draw, cleaning, and the
split of far states. Only the last step is coarser: a home is placed in a tract of its support point by population, not
in a block.

Tables: flows from tract to tract, the same by earnings, flows from town to town, and commute ranges by workplace
tract. A table's share is half the sum of absolute errors over the number of workers. The objective is the mean over
the four tables; half of it for all workers, half for those of workplaces of 1 to 9 workers.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from engine.mechanisms.dirichlet_multinomial import Synthesizers
from engine.parameters import PrivacyParameters, SynthesisParameters
from engine.streams import PublicSeed, SecretKey, attempt_key
from engine.validity import SMALL_WORKPLACE
from engine.validity.grid import CELL_RANGE, RANGES
from mapapp.kinds.base.inputs import WorkplaceCounts, destination_ptr
from mapapp.kinds.release.choose.expected_validity import HomeTracts, ranges_around
from mapapp.kinds.release.choose.public_part import (
    CONCENTRATION,
    PublicPart,
    PublicPriors,
    simulated_home_tracts,
)
from mapapp.kinds.release.make.certified_weights import SynthesizerWeights, certify_weights
from mapapp.kinds.release.make.drawn_points import draw_points
from mapapp.kinds.release.make.support import Support, build_support, point_of_tract

__all__ = ["OBJECTIVE", "Misplaced", "Misplacement", "misplaced_share", "standard_error"]

Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

OBJECTIVE: Final = (
    "share of workers misplaced in flows by tract and town and in commute ranges, half over all, half over workplaces "
    "of 1 to 9"
)

_MOST_SAMPLED: Final = 64
_LEAST_DRAWN: Final = 15_000  # workers; fewer would be drawn by chance too far from what is expected
_MOST_DRAWS: Final = 5
_N_EARNINGS: Final = 3
_TWO_BYTES: Final = 1 << 15
_PLACING: Final = 20101  # any number: the same places in every run


class Misplaced(NamedTuple):
    """What one setting misplaces.

    Attributes
    ----------
    share : float
        The objective.
    of_town : float64[G]
        What each of the sample's G workplace towns adds to it.
    weight : float64[G]
        Each town's share of the workers, half of all workers, half of those of small workplaces; sums to 1.
    n_points : int
        Support points of the sample's destination tracts.
    of_all : float
        The same share over all workers, without the half for small workplaces.
    """

    share: float
    of_town: Floats
    weight: Floats
    n_points: int
    of_all: float


def standard_error(first: Misplaced, second: Misplaced) -> float:
    """Standard error of the difference of two objectives, if the workplace towns were a sample of towns.

    Both settings were drawn for the same simulated homes, so what their towns have in common cancels. The difference is
    a ratio of sums over towns; its error is that of the towns' deviations from it. 0 for a single town, which says
    nothing.
    """
    n_towns = first.weight.size
    if n_towns < 2:
        return 0.0
    difference = first.of_town - second.of_town
    deviation = difference - difference.sum() * first.weight
    return float(np.sqrt(n_towns / (n_towns - 1) * np.square(deviation).sum()))


class Misplacement:
    """Counts how many workers a setting misplaces.

    Parameters
    ----------
    public : PublicPart
    base : SynthesisParameters
        The prior, and the percentiles to which gravity is fitted.
    homes : HomeTracts, optional
        Homes of the sample's workers; simulated ones of at most 64 destination tracts by default. With real ones, the
        result is confidential.
    """

    def __init__(
        self, public: PublicPart, base: SynthesisParameters, homes: HomeTracts | None = None
    ) -> None:
        self._public = public = _fewer(public) if homes is None else public
        priors = PublicPriors(public, base)
        self._prior = priors.of(base.prior)
        sample = public.sample
        if homes is None:
            self._home = simulated_home_tracts(public, priors.gravity, CONCENTRATION)
            self._range = ranges_around(public.geography.tracts, sample.destination_tract)
        else:
            self._home, self._range = homes.origin_tract, CELL_RANGE[homes.cell].astype(np.int8)
        of_block = destination_ptr(sample.destination)
        n_of_block = np.add.reduceat(sample.count, of_block[:-1])
        is_small = np.repeat(n_of_block <= SMALL_WORKPLACE, np.diff(of_block))
        self._tract = np.repeat(sample.tract, sample.count).astype(np.int64)
        self._earnings = np.repeat(sample.segment // 3 % _N_EARNINGS, sample.count)
        self._is_small = np.repeat(is_small, sample.count)
        self._n_draws = min(_MOST_DRAWS, -(-_LEAST_DRAWN // self._tract.size))
        town = public.towns.of_tract
        self._town_of_work = np.unique(town[sample.destination_tract], return_inverse=True)[1]
        self._work_town = self._town_of_work[self._tract]
        n_tracts = public.geography.tracts.n_tracts
        self._n_places = (n_tracts, n_tracts, int(town.max()) + 1, len(RANGES))
        everybody, small = slice(None), np.flatnonzero(self._is_small)
        self._groups: list[Ints | slice] = [everybody, small] if small.size else [everybody]
        self._real = [self._tables(group, self._home) for group in self._groups]
        self._n_workers = [tables[0].size for tables in self._real]
        workers = [np.bincount(self._work_town[group], minlength=self._n_towns) for group in self._groups]
        self._weight: Floats = np.mean([of_group / of_group.sum() for of_group in workers], axis=0)

    @property
    def n_tracts(self) -> int:
        """Destination tracts looked at."""
        return int(self._public.sample.destination_tract.size)

    @property
    def _n_towns(self) -> int:
        return int(self._town_of_work.max()) + 1

    def count_misplaced(self, privacy: PrivacyParameters, parameters: SynthesisParameters) -> Misplaced:
        """Draw releases with the published test key, and count the misplaced.

        Raises
        ------
        EngineError
            The setting cannot be certified.
        """
        tracts, sample = self._public.geography.tracts, self._public.sample
        support = build_support(
            PublicSeed.for_tests(), tracts, sample.destination_tract, self._prior, privacy, parameters
        )
        weights = certify_weights(sample, support, privacy, parameters.mechanism).of_synthesizers()
        synthesizers = self._synthesizers(support, weights)
        of_tracts = point_of_tract(support.coarsening_of_homes)
        shares, of_towns = [], []
        for draw in range(self._n_draws):
            points = draw_points(
                attempt_key(SecretKey.for_tests(), draw + 1),
                synthesizers,
                support,
                privacy,
                parameters,
                destination_tract=sample.destination_tract,
            )
            home = self._place_homes(points.synthetic_point, of_tracts)
            errors = self._errors(home)
            shares.append(self._shares(errors))
            of_towns.append(self._of_towns(errors))
        return Misplaced(
            share=float(np.mean(shares)),
            of_town=np.mean(of_towns, axis=0),
            weight=self._weight,
            n_points=support.share.size,
            of_all=float(np.mean(np.array(shares)[:, : len(self._n_places)])),
        )

    def _synthesizers(self, support: Support, weights: SynthesizerWeights) -> Synthesizers:
        sample = self._public.sample
        return Synthesizers(
            tract=sample.tract,
            destination=sample.destination,
            segment=sample.segment,
            worker_ptr=np.append(0, np.cumsum(sample.count)),
            worker_point=support.coarsening.find(self._tract, self._home),
            min_prior_weight=weights.min_prior_weight,
            prunes=weights.prunes,
        )

    def _place_homes(self, point: npt.NDArray[np.int32], of_tracts: npt.NDArray[np.int32]) -> Ints:
        """A home tract within each drawn point, by population."""
        people = np.maximum(self._public.geography.tracts.population.astype(np.float64), 1e-9)
        value = np.random.default_rng(_PLACING).random(point.size)
        home = np.empty(point.size, dtype=np.int64)
        ends = np.searchsorted(self._tract, np.arange(self.n_tracts + 1))
        for position, of_tract in enumerate(of_tracts):
            # Two bytes are sorted in an eighth of the time.
            short = of_tract.astype(np.int16) if of_tract.max() < _TWO_BYTES else of_tract
            order = np.argsort(short, kind="stable")
            running = np.append(0.0, np.cumsum(people[order]))
            bounds = np.searchsorted(of_tract[order], np.arange(int(of_tract.max()) + 2))
            workers = slice(ends[position], ends[position + 1])
            low, high = running[bounds[point[workers]]], running[bounds[point[workers] + 1]]
            places = np.searchsorted(running, low + value[workers] * (high - low), side="right") - 1
            home[workers] = order[np.minimum(places, order.size - 1)]
        return home

    def _errors(self, home: Ints) -> list[list[Ints]]:
        """The sum of absolute differences from the real table in every row of each table of each group."""
        return [
            [
                row_errors(real, drawn, n_places)
                for real, drawn, n_places in zip(
                    of_group, self._tables(group, home), self._n_places, strict=True
                )
            ]
            for group, of_group in zip(self._groups, self._real, strict=True)
        ]

    def _shares(self, errors: list[list[Ints]]) -> list[float]:
        """The share misplaced in each table of each group."""
        return [
            misplaced_share(error, n_workers)
            for of_group, n_workers in zip(errors, self._n_workers, strict=True)
            for error in of_group
        ]

    def _of_towns(self, errors: list[list[Ints]]) -> Floats:
        """What each workplace town adds to the mean of :meth:`_shares`."""
        # Rows of the four tables are tracts, tracts by earnings, towns, and tracts.
        towns = (
            self._town_of_work,
            np.repeat(self._town_of_work, _N_EARNINGS),
            np.arange(self._n_towns),
            self._town_of_work,
        )
        parts = [
            np.bincount(town[: error.size], error, self._n_towns) / (2 * n_workers)
            for of_group, n_workers in zip(errors, self._n_workers, strict=True)
            for town, error in zip(towns, of_group, strict=True)
        ]
        return np.asarray(np.mean(parts, axis=0))

    def _tables(self, group: Ints | slice, home: Ints) -> list[Ints]:
        """Where each of some workers counts in the four tables: row times the number of places, plus place."""
        at, tract, earnings = home[group], self._tract[group], self._earnings[group]
        town = self._public.towns.of_tract
        rows = (tract, tract * _N_EARNINGS + earnings, self._work_town[group], tract)
        places = (at, at, town[at], self._range[tract, at].astype(np.int64))
        return [
            row * n_places + place for row, place, n_places in zip(rows, places, self._n_places, strict=True)
        ]


def row_errors(real: Ints, drawn: Ints, n_places: int) -> Ints:
    """Sum of the absolute differences of two tables in each row, from the entries in which their workers count.

    Only entries with workers are looked at: most of a nation's have none.

    Parameters
    ----------
    real, drawn : int64[N]
        Entry of each worker in two tables of the same rows: row times `n_places`, plus place.
    n_places : int

    Returns
    -------
    int64[rows]
        Up to the last row with workers.
    """
    # The last bit says in which of the two tables a worker counts.
    both = np.sort(np.concatenate((real << 1, (drawn << 1) + 1)))
    entry = both >> 1
    first = np.flatnonzero(np.append(True, entry[1:] != entry[:-1]))
    difference = np.add.reduceat(1 - ((both & 1) << 1), first)
    row = entry[first] // n_places
    start = np.flatnonzero(np.append(True, row[1:] != row[:-1]))
    errors = np.zeros(int(row[-1]) + 1, dtype=np.int64)
    errors[row[start]] = np.add.reduceat(np.abs(difference), start)
    return errors


def misplaced_share(error: Ints, n_workers: int) -> float:
    """Half the sum of the absolute differences of two tables of as many workers, over the workers."""
    return float(error.sum() / (2 * n_workers))


def _fewer(public: PublicPart) -> PublicPart:
    """At most 64 of the sampled tracts, evenly spaced: drawing takes longer than a closed form."""
    sample = public.sample
    size = sample.destination_tract.size
    if size <= _MOST_SAMPLED:
        return public
    kept = np.unique(np.linspace(0, size - 1, _MOST_SAMPLED).round().astype(np.int64))
    is_kept = np.isin(sample.tract, kept)
    fewer = WorkplaceCounts(
        destination_tract=sample.destination_tract[kept],
        destination=sample.destination[is_kept],
        segment=sample.segment[is_kept],
        tract=np.searchsorted(kept, sample.tract[is_kept]).astype(np.int32),
        count=sample.count[is_kept],
    )
    return replace(public, sample=fewer)
