"""One destination tract under a setting, support point by support point: what the analyst sees of it on the map.

Confidential, as all of validity: it holds where the tract's workers really live.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas

from engine.kernels.units import RETENTION_UNITS
from engine.parameters import PrivacyParameters, SynthesisParameters
from engine.streams import PublicSeed
from engine.support.coarsening import LEVEL_SUPERPUMA, Coarsening
from engine.validity import MeasuredWorkers, PriorClasses, expected_means
from geodata.geography.elsewhere import division_name
from geodata.store.store import Store
from mapapp.analyst.validity.confidential_parts import AnalystData
from mapapp.analyst.validity.simulated_draws import simulate_points
from mapapp.kinds.base.geography import Ints
from mapapp.kinds.base.inputs import Inputs
from mapapp.kinds.release.make.certified_weights import CertifiedClasses, certify_weights
from mapapp.kinds.release.make.support import Support, build_support

Floats = npt.NDArray[np.float64]

LEVELS = ("tract", "PUMA", "SuperPUMA", "remainder")


@dataclass(frozen=True, slots=True, kw_only=True)
class TractPoints:
    """Support points of one destination tract.

    Attributes
    ----------
    tract_index : int
        Row of `tracts`.
    n_workers : int
        Real workers, those whose point was dropped included.
    points : DataFrame
        One row a support point: `level` (0 tract, 1 PUMA, 2 SuperPUMA, 3 remainder), `unit_id`, `name`, `distance_mi`,
        `retention` (probability of being kept where nobody lives), and shares of workers: `prior` (before pruning),
        `likelihood` (of all real workers) and `posterior` (expected).
    point_of_tract : int32[n_tracts]
        Row of `points` of every origin tract; -1 where it was dropped.
    """

    tract_index: int
    n_workers: int
    points: pandas.DataFrame
    point_of_tract: npt.NDArray[np.int32]


def measure_tract(
    data: AnalystData,
    privacy: PrivacyParameters,
    parameters: SynthesisParameters,
    position: int,
    *,
    seed: PublicSeed | None = None,
) -> TractPoints:
    """Look at one destination tract under a setting.

    Parameters
    ----------
    data : AnalystData
    privacy, parameters
        The setting.
    position : int
        Of the tract in :attr:`AnalystData.tract`.
    seed : PublicSeed, optional
        Of domain editing; that of tests by default, as for `measure_setting`.

    Raises
    ------
    EngineError
        The setting cannot be certified for this tract.
    """
    data = data.select_drawn_data(parameters)
    (panel,) = data.panels(np.array([position]))
    inputs = panel.inputs
    chosen = PublicSeed.for_tests() if seed is None else seed
    support = build_support(
        chosen, data.geography.tracts, inputs.destination_tract, data.prior(parameters), privacy, parameters
    )
    certified = certify_weights(inputs, support, privacy, parameters.mechanism)
    classes = certified.prior_classes()
    (point_of_tract,) = support.point_of_tract
    local = point_of_tract[panel.home_tract]
    k = classes.n_points
    if certified.accounting is None:
        weights = certified.of_synthesizers()
        draws = simulate_points(inputs, support, weights, privacy, parameters, local)
        posterior = _mean_of_draws(draws, k)
    else:
        posterior = _expect_points(inputs, classes, certified.class_of, local)
    points = _name_points(data.store, support.coarsening)
    n = max(local.size, 1)
    points["retention"] = support.table.retention / RETENTION_UNITS
    points["prior"] = _prior(inputs, classes, certified, support)
    points["likelihood"] = np.bincount(local[local >= 0], minlength=k) / n
    points["posterior"] = posterior
    return TractPoints(
        tract_index=int(inputs.destination_tract[0]),
        n_workers=int(local.size),
        points=points,
        point_of_tract=point_of_tract,
    )


def _prior(inputs: Inputs, classes: PriorClasses, certified: CertifiedClasses, support: Support) -> Floats:
    """Share of the prior sample, averaged over synthesizers by their workers."""
    if certified.accounting is None:
        return support.share
    mass, by_point, _ = classes.sums(np.eye(classes.n_points), pruned=False)
    workers = np.bincount(certified.class_of, inputs.count, classes.tract.size)
    return np.asarray((workers / workers.sum()) @ (by_point / mass[:, None]))


def _expect_points(
    inputs: Inputs, classes: PriorClasses, class_of: Ints, local: npt.NDArray[np.int32]
) -> Floats:
    """Posterior expectation over points, all synthesizers together."""
    workers = MeasuredWorkers(
        destination_ptr=inputs.destination_ptr,
        class_of=class_of,
        worker_ptr=inputs.worker_ptr,
        worker_point=local.astype(np.int64),
    )
    n = np.add.reduceat(inputs.count, inputs.destination_ptr[:-1]).astype(np.float64)
    means = expected_means(classes, workers, np.eye(classes.n_points))
    return np.asarray((n / n.sum()) @ means)


def _mean_of_draws(draws: Iterable[npt.NDArray[np.int32]], n_points: int) -> Floats:
    """Share of synthetic workers at each point over all draws, for mechanisms without a closed form."""
    total = np.zeros(n_points)
    for point in draws:
        total += np.bincount(point, minlength=n_points)
    return np.asarray(total / total.sum())


def _name_points(store: Store, coarse: Coarsening) -> pandas.DataFrame:
    """Level, identifier, name and distance of every point."""
    level, unit = coarse.support_level, coarse.support_unit
    ids = np.full(level.size, "", dtype=object)
    names = np.full(level.size, "eliminated points", dtype=object)
    for at, (table, column) in enumerate(
        (("tracts", "tract_id"), ("pumas", "puma_id"), ("superpumas", "superpuma_id"))
    ):
        frame = store.table(table, [column, "name"]).sort_values(column, ignore_index=True)
        of_level = (level == at) & (unit < len(frame))
        ids[of_level] = frame[column].to_numpy(dtype=object)[unit[of_level]]
        names[of_level] = frame["name"].to_numpy(dtype=object)[unit[of_level]]
    pools = np.flatnonzero((level == LEVEL_SUPERPUMA) & (unit >= coarse.tracts.n_superpumas))
    numbers = unit[pools] - coarse.tracts.n_superpumas
    ids[pools] = [f"division-{number}" for number in numbers]
    names[pools] = [f"far states, {division_name(number)}" for number in numbers]
    return pandas.DataFrame(
        {"level": level, "unit_id": ids, "name": names, "distance_mi": coarse.support_distance_mi}
    )
