"""The expected error of any count from a release, computed only from its certificate and public quantities.

A count C of synthetic workers who work in an area W and live in an area H estimates the real count N, which is secret.
A model of the mechanism says how much too large C is expected to be (bias), and how far it varies (variance), from sums
over workplace tracts: see `mapapp.answers.weighted_errors` and `mapapp.answers.table_errors`.

If H cuts a support point, synthetic homes within the point are placed by population, but real homes are not: they
cluster toward the workplace, as in the public gravity model. With g the share of the point's gravity mass in H, and s
its share of people, placing by population may have moved C (1 - g/s) workers; the sum of these is `placement`. Under
Algorithms 1-2, it also has what real homes differ from the gravity model. The expected error is the root of bias
squared plus variance plus placement squared: the root mean squared error of C.

The gravity model is a model; docs/validity.md reports how well the error covers.

Nothing confidential is read and nothing of the engine is imported, so pages may show the result.

Source: docs/method.md, sections 3, 6, 7 and 10.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import pandas

from mapapp.answers.error_models import ErrorModel, error_model, has_error_model
from mapapp.answers.noisy_tables import ReleasedTables
from mapapp.answers.support_prior import HomeShares, Synthesizers, TractValues

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Numbers = Ints | Floats

__all__ = ["CountError", "ExpectedErrors"]

_MOST_TRACTS: Final = 512


@dataclass(frozen=True, slots=True)
class CountError:
    """The expected error of one count, by its parts.

    Attributes
    ----------
    count : int
        The count itself.
    bias : float
        How much too large the count is expected to be; negative if too small.
    sd : float
        Standard deviation of the random part.
    placement : float
        Workers that placing homes by population within support points may have moved.
    """

    count: int
    bias: float
    sd: float
    placement: float

    @property
    def error(self) -> float:
        """Expected root mean squared error: the number to show as ± beside the count."""
        return math.hypot(self.bias, self.sd, self.placement)

    @property
    def interval(self) -> tuple[float, float]:
        """The count plus and minus two expected errors, not below 0."""
        return max(self.count - 2 * self.error, 0.0), self.count + 2 * self.error


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
        Returns the released commutes to a workplace tract; needed by mechanisms without prior weights.

    Raises
    ------
    ValueError
        If no error is known for the mechanism; see :meth:`is_known`.
    """

    def __init__(
        self,
        certificate: Mapping[str, object],
        tracts: pandas.DataFrame,
        flows: pandas.DataFrame,
        released: ReleasedTables | None = None,
    ) -> None:
        self._model: ErrorModel = error_model(certificate, tracts, flows, released)

    @staticmethod
    def is_known(certificate: Mapping[str, object]) -> bool:
        """Return whether errors are known for the mechanism of a release."""
        return has_error_model(certificate)

    def of_count(
        self, home_share: npt.ArrayLike, workplaces: pandas.DataFrame, counts: Mapping[int, int]
    ) -> CountError:
        """Return the expected error of one count.

        Parameters
        ----------
        home_share : float[n_tracts]
            Share of each tract's people in the home area: 1 for a tract inside, 0 for one outside, and the area's share
            of the population for a tract that it cuts.
        workplaces : DataFrame
            `tract_index`, `n_workers`, `n_synthesizers`: the number of (workplace block, segment) pairs with that many
            workers that the work area has in a tract, for the segments in question. Public.
        counts : mapping of int to int
            The count by workplace tract; tracts with 0 may be omitted.

        Returns
        -------
        CountError

        Notes
        -----
        If there are more than 512 workplace tracts, an evenly spaced sample represents all of them.
        """
        n, times = (workplaces[name].to_numpy(np.float64) for name in ("n_workers", "n_synthesizers"))
        tract = workplaces["tract_index"].to_numpy(np.int64)
        by_tract = np.zeros((1, np.size(home_share)))
        by_tract[0, list(counts)] = list(counts.values())
        home = np.asarray(home_share, dtype=np.float64)[None]
        return self.of_counts(home, by_tract, tract, n, times[None])[0]

    def of_counts(
        self,
        home_shares: Floats | Callable[[int], HomeShares],
        counts: Numbers,
        tract: Ints,
        n_workers: Numbers,
        n_synthesizers: Numbers,
        n_units: Numbers | None = None,
    ) -> list[CountError]:
        """Return expected errors of R counts with one work area, much faster than one by one; see :meth:`of_count`.

        Parameters
        ----------
        home_shares : float64[R, n_tracts], or callable
            As in :meth:`of_count`, or a function of the workplace tract, which may list them.
        counts : float64[R, n_tracts]
            Counts by workplace tract.
        tract, n_workers : [P]
            Tracts of the work area, and workers per synthesizer.
        n_synthesizers : [R, P]
            Number of such synthesizers in each count. If workers of several segments or blocks were drawn together and
            a count covers only some of them, their synthesizer counts by the part that is covered.
        n_units : [P], optional
            Number of such synthesizers of which any workers are in the work area, if the counts cover parts of them.
        """
        order = np.argsort(tract, kind="stable")
        tracts = np.unique(tract)
        first = np.append(np.searchsorted(tract[order], tracts), tract.size)
        n = n_workers[order].astype(np.float64)
        # Counts of the same segments, as those of a table mostly are, share their synthesizers.
        alike = n_synthesizers[:1] if (n_synthesizers == n_synthesizers[:1]).all() else n_synthesizers
        times = alike[:, order].astype(np.float64)
        units = None if n_units is None else n_units[order].astype(np.float64)

        def of_tract(number: int) -> TractValues:
            rows, one = slice(first[number], first[number + 1]), int(tracts[number])
            home = home_shares(one) if callable(home_shares) else home_shares
            synthesizers = Synthesizers(n[rows], times[:, rows], None if units is None else units[rows])
            read = np.asarray(counts[:, one], dtype=np.float64)
            return TractValues(one, (home, home), synthesizers, (read, read))

        found = self._errors_of(of_tract, tracts.size, len(counts), is_count=True)
        return [
            CountError(int(total), float(bias), math.sqrt(variance), float(placement))
            for total, bias, variance, placement in zip(counts.sum(axis=1), *found, strict=True)
        ]

    def of_sums(
        self,
        values: Callable[[int], tuple[Floats, Floats]],
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
        values : callable
            For a workplace tract: mean and mean square of the values in each home tract, float64[R, n_tracts].
        totals, squares : float64[R, n_tracts]
            Sums of values and of squared values of the synthetic workers, by workplace tract.
        tract, n_workers, n_synthesizers, n_units : [P]
            As in :meth:`of_counts`; the number of synthesizers applies to all sums.

        Returns
        -------
        list of float
            Root mean squared errors, in units of the values.
        """
        order = np.argsort(tract, kind="stable")
        tracts = np.unique(tract)
        first = np.append(np.searchsorted(tract[order], tracts), tract.size)
        n, times = n_workers[order].astype(np.float64), n_synthesizers[order].astype(np.float64)
        units = None if n_units is None else n_units[order].astype(np.float64)

        def of_tract(number: int) -> TractValues:
            rows, one = slice(first[number], first[number + 1]), int(tracts[number])
            synthesizers = Synthesizers(n[rows], times[None, rows], None if units is None else units[rows])
            return TractValues(one, values(one), synthesizers, (totals[:, one], squares[:, one]))

        bias, variance, placement = self._errors_of(of_tract, tracts.size, len(totals), is_count=False)
        return [float(error) for error in np.sqrt(bias**2 + variance + placement**2)]

    def _errors_of(
        self, of_tract: Callable[[int], TractValues], n_tracts: int, n_counts: int, *, is_count: bool
    ) -> tuple[Floats, Floats, Floats]:
        """Return bias, variance and placement; if there are many tracts, some that are read represent all."""
        if not n_tracts:
            nothing = np.zeros(n_counts)
            return nothing, nothing, nothing
        read = range(0, n_tracts, -(-n_tracts // _MOST_TRACTS))
        sums = self._model.of_tracts(map(of_tract, read), is_count=is_count)
        return self._model.errors_of(sums * (n_tracts / len(read)), 0.0 if is_count else -math.inf)
