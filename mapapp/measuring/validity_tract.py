"""One destination tract under a setting, support point by support point: what the analyst sees of it on the map.

Confidential, as all of validity: it holds where the tract's workers really live.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas

from engine.coarsening import Coarsening
from engine.parameters import PrivacyParameters, SynthesisParameters
from engine.streams import PublicSeed, SecretKey
from engine.synthesis import Synthesizers
from engine.units import RETENTION_UNITS
from engine.validity import MeasuredWorkers, PriorClasses, expected_means
from geodata.store import Store
from mapapp.measuring.analyst import AnalystData
from mapapp.measuring.validity_part import N_DRAWS, points_of_tracts, prior_classes, without_weights
from mapapp.publishing.geography import Ints
from mapapp.publishing.inputs import Inputs
from mapapp.publishing.mechanisms import draw_support_points
from mapapp.publishing.promise import CertifiedBatch, certify_batch
from mapapp.publishing.support import Support, build_support

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
    (panel,) = data.panels(np.array([position]))
    inputs = panel.inputs
    chosen = PublicSeed.for_tests() if seed is None else seed
    support = build_support(
        chosen, data.geography.tracts, inputs.destination_tract, data.prior(parameters), privacy, parameters
    )
    certified = certify_batch(inputs, support, privacy, parameters.mechanism)
    classes, class_of = prior_classes(inputs, support, certified, parameters)
    point_of_tract = points_of_tracts(support.coarsening)[0]
    local = point_of_tract[panel.home_tract]
    k = classes.n_points
    posterior = (
        _drawn(inputs, support, certified, privacy, parameters, local)
        if without_weights(parameters)
        else _expected(inputs, classes, class_of, local)
    )
    points = _named(data.store, support.coarsening)
    n = max(local.size, 1)
    points["retention"] = support.table.retention_threshold / RETENTION_UNITS
    points["prior"] = _prior(inputs, classes, class_of, support, parameters)
    points["likelihood"] = np.bincount(local[local >= 0], minlength=k) / n
    points["posterior"] = posterior
    return TractPoints(
        tract_index=int(inputs.destination_tract[0]),
        n_workers=int(local.size),
        points=points,
        point_of_tract=point_of_tract,
    )


def _prior(
    inputs: Inputs,
    classes: PriorClasses,
    class_of: Ints,
    support: Support,
    parameters: SynthesisParameters,
) -> Floats:
    """Share of the prior sample, averaged over synthesizers by their workers."""
    if without_weights(parameters):
        return support.share
    mass, by_point, _ = classes.sums(np.eye(classes.n_points), pruned=False)
    workers = np.bincount(class_of, inputs.count, classes.tract.size)
    return np.asarray((workers / workers.sum()) @ (by_point / mass[:, None]))


def _expected(inputs: Inputs, classes: PriorClasses, class_of: Ints, local: npt.NDArray[np.int32]) -> Floats:
    """Posterior expectation over points, all synthesizers together."""
    start = np.flatnonzero(np.diff(inputs.destination, prepend=-1))
    workers = MeasuredWorkers(
        destination_ptr=np.append(start, inputs.destination.size),
        class_of=class_of,
        worker_ptr=inputs.worker_ptr,
        worker_point=local.astype(np.int64),
    )
    n = np.add.reduceat(inputs.count, start).astype(np.float64)
    means = expected_means(classes, workers, np.eye(classes.n_points))
    return np.asarray((n / n.sum()) @ means)


def _drawn(
    inputs: Inputs,
    support: Support,
    certified: CertifiedBatch,
    privacy: PrivacyParameters,
    parameters: SynthesisParameters,
    local: npt.NDArray[np.int32],
) -> Floats:
    """Mean over some draws with the test key, for mechanisms without closed form."""
    total = np.zeros(support.share.size)
    for draw in range(N_DRAWS):
        synthesizers = Synthesizers(
            tract=inputs.tract,
            destination=inputs.destination,
            segment=inputs.segment + 27 * draw,
            worker_ptr=inputs.worker_ptr,
            worker_point=local,
            min_prior_weight=certified.min_prior_weight,
            published_count=inputs.count,
            prunes=certified.prunes,
        )
        drawn = draw_support_points(
            SecretKey.for_tests(),
            synthesizers,
            support.table,
            privacy,
            parameters.mechanism,
            accepted_ratio=None,
        )
        total += np.bincount(drawn.synthetic_point, minlength=total.size)
    return np.asarray(total / total.sum())


def _named(store: Store, coarse: Coarsening) -> pandas.DataFrame:
    """Level, identifier, name and distance of every point."""
    level, unit = coarse.support_level, coarse.support_unit
    ids = np.full(level.size, "", dtype=object)
    names = np.full(level.size, "eliminated points", dtype=object)
    for at, (table, column) in enumerate(
        (("tracts", "tract_id"), ("pumas", "puma_id"), ("superpumas", "superpuma_id"))
    ):
        frame = store.table(table, [column, "name"]).sort_values(column, ignore_index=True)
        mine = level == at
        ids[mine] = frame[column].to_numpy(dtype=object)[unit[mine]]
        names[mine] = frame["name"].to_numpy(dtype=object)[unit[mine]]
    return pandas.DataFrame(
        {"level": level, "unit_id": ids, "name": names, "distance_mi": coarse.support_distance_mi}
    )
