"""A release measured against the dataset it was drawn from, on one part of the destination tracts.

Confidential: real and synthetic homes are compared one destination at a time.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from engine.parameters import PrivacyParameters, SynthesisParameters
from engine.streams import PublicSeed
from engine.validity import (
    SMALL_WORKPLACE,
    cell_counts,
    kl_divergence,
    kl_of_counts,
    squared_error,
    total_variation,
)
from geodata.errors import StoreError
from geodata.store.schema import GEOGRAPHY
from geodata.store.store import Store
from mapapp.analyst.validity.compared_workers import ratio
from mapapp.analyst.validity.confidential_parts import AnalystData
from mapapp.analyst.validity.tract_workers import Panel, read_tracts
from mapapp.answers.claims import read_claims, refusal
from mapapp.answers.publication import open_publication
from mapapp.answers.release_claims import ReleaseCertificate
from mapapp.base.errors import UsageError
from mapapp.kinds.base.certificate import keyed_file_hash
from mapapp.kinds.base.compared_homes import ComparedHomes, Places, commute_miles, compare_homes
from mapapp.kinds.base.geography import Geography, Ints, Workplaces, read_geography, read_workplaces
from mapapp.kinds.base.inputs import Inputs
from mapapp.kinds.release.certificate.exponential import read_privacy
from mapapp.kinds.release.make.marginal_segments import assigns_from_margins
from mapapp.kinds.release.make.prior import PublicPrior, public_prior

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawnRelease:
    """A release of the dataset that is measured: public, all of it.

    Attributes
    ----------
    store : Store
    certificate : ReleaseCertificate
    geography, workplaces
        As the release has them; the tracts and the workers of each are those of the dataset.
    prior : PublicPrior
    seed : PublicSeed
    privacy, parameters
        What it was made of.
    is_of_these_counts : bool
        Whether the certificate commits to the dataset's very table of jobs.
    """

    store: Store
    certificate: ReleaseCertificate
    geography: Geography
    workplaces: Workplaces
    prior: PublicPrior
    seed: PublicSeed
    privacy: PrivacyParameters
    parameters: SynthesisParameters
    is_of_these_counts: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawnPart:
    """What one part of a release gives.

    Attributes
    ----------
    destinations : dict of str to float64[D]
        kl_drawn, imse_drawn, moved, is_infinite, and average commutes between blocks.
    cells : float64[2, 29]
        Synthetic workers by cell, in all and in small destinations.
    homes : ComparedHomes
    lone_workers, lone_in_tract : int
        Workers alone in block and segment, and those who are shown in their true home tract.
    """

    destinations: dict[str, Floats]
    cells: Floats
    homes: ComparedHomes
    lone_workers: int
    lone_in_tract: int


def open_release(data: AnalystData, path: Path) -> DrawnRelease:
    """Open a release and see that it belongs to the dataset.

    Raises
    ------
    StoreError
        It is no release, or its certificate cannot be read.
    UsageError
        Its geography or its workplaces are not those of the dataset.
    """
    store = open_publication(path, "release")
    dataset = data.store
    require_same_geography(store, dataset)
    certificate = read_claims(store, ReleaseCertificate, f"check it with `commutemap certify {path}`")
    try:
        privacy = read_privacy(certificate.parameters)
        parameters = SynthesisParameters.from_dict(certificate.parameters.synthesis)
        seed = PublicSeed(certificate.made_from.editing_seed)
    except ValueError as error:
        raise StoreError(
            f"{path}/certificate.json: does not say what the release was made of ({refusal(error)})"
        ) from error
    geography = read_geography(store)
    workplaces = read_workplaces(store, geography)
    same = np.array_equal(workplaces.tract, data.tract)
    if not same or not np.array_equal(workplaces.n_workers, data.workplaces.n_workers):
        raise UsageError(other_counts(path, dataset))
    key = bytes.fromhex(dataset.manifest["commitment_key"])
    return DrawnRelease(
        store=store,
        certificate=certificate,
        geography=geography,
        workplaces=workplaces,
        prior=public_prior(geography, workplaces, parameters),
        seed=seed,
        privacy=privacy,
        parameters=parameters,
        is_of_these_counts=keyed_file_hash(key, replace(dataset, held={}).file("jobs"))
        == certificate.confidential_inputs.get("jobs"),
    )


def require_same_geography(publication: Store, dataset: Store) -> None:
    """Refuse a publication over another geography than a dataset's.

    Raises
    ------
    UsageError
        A table of the geography differs.
    """
    differs = [
        table.name for table in GEOGRAPHY if _sha256(publication, table.name) != _sha256(dataset, table.name)
    ]
    if differs:
        raise UsageError(
            f"{publication.path} was not made from the geography of {dataset.path} ({', '.join(differs)} differ): give "
            "the dataset that it was made from"
        )


def other_counts(path: Path, dataset: Store) -> str:
    """Say that a release has other workers by workplace and segment than a dataset."""
    return (
        f"{path} does not hold the workplaces of {dataset.path}: counts by workplace and segment are public and must "
        "be the same; give the dataset that it was made from"
    )


def _sha256(store: Store, table: str) -> str:
    return str(store.manifest["files"][f"{table}.parquet"]["sha256"])


def measure_drawn(panel: Panel, data: AnalystData, release: DrawnRelease) -> DrawnPart:
    """Compare the real and the synthetic workers of some destination tracts.

    Parameters
    ----------
    panel : Panel
        The real workers.
    data : AnalystData
    release : DrawnRelease

    Raises
    ------
    UsageError
        Workers by workplace and segment are not the same.
    """
    real, places = panel.inputs, data.places
    drawn = read_tracts(release.store, data.geography, release.workplaces, panel.position)
    for name in ("destination", "segment", "count"):
        if not np.array_equal(getattr(real, name), getattr(drawn, name)):
            raise UsageError(other_counts(release.store.path, data.store))
    ptr = real.worker_ptr[real.destination_ptr]
    n = np.diff(ptr)
    tract = np.repeat(real.tract, real.count)
    homes = [panel.home_tract, data.geography.tract_of_block[drawn.worker_origin].astype(np.int64)]
    cells = [cell_counts(ptr, panel.cell[tract, home]) for home in homes]
    columns = {
        "kl_drawn": kl_of_counts(*cells),
        "imse_drawn": squared_error(*cells),
        "moved": total_variation(*cells),
        "is_infinite": np.isinf(kl_divergence(*(counts / n[:, None] for counts in cells))).astype(np.float64),
    }
    is_lone = np.repeat(real.count == 1, real.count)
    if assigns_from_margins(release.store, (release.parameters.unit,)):
        is_lone[:] = False  # no home goes with a segment there
    return DrawnPart(
        destinations=columns | _block_distances(places, (real, drawn), ptr, release.parameters.q50_mi),
        cells=np.stack([cells[1].sum(axis=0), cells[1][n <= SMALL_WORKPLACE].sum(axis=0)]).astype(np.float64),
        homes=compare_homes(real, drawn.worker_origin, data.geography, places),
        lone_workers=int(is_lone.sum()),
        lone_in_tract=int((homes[0] == homes[1])[is_lone].sum()),
    )


def _block_distances(
    places: Places, inputs: tuple[Inputs, Inputs], ptr: Ints, short_mi: float
) -> dict[str, Floats]:
    """Average commutes between blocks, real and synthetic, all and short ones; NaN if nobody commutes."""
    n_destinations = ptr.size - 1
    of = np.repeat(np.arange(n_destinations), np.diff(ptr))
    distances = {}
    for who, part in zip(("real", "drawn"), inputs, strict=True):
        at, home = np.repeat(part.destination, part.count), part.worker_origin
        miles = commute_miles(places, at, home)
        for name, chosen in ((f"{who}_block_mi", slice(None)), (f"{who}_block_short_mi", miles < short_mi)):
            total = np.bincount(of[chosen], miles[chosen], n_destinations)
            distances[name] = ratio(total, np.bincount(of[chosen], minlength=n_destinations))
    return distances
