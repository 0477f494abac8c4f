"""A release measured against the dataset it was drawn from, on one part of the destination tracts.

Confidential: real and synthetic homes are compared one destination at a time.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from engine.parameters import PrivacyParameters, SynthesisParameters
from engine.streams import PublicSeed
from engine.validity import (
    SMALL_WORKPLACE,
    FlowErrors,
    TopAreas,
    cell_counts,
    flow_errors,
    kl_divergence,
    kl_of_counts,
    pair_counts,
    squared_error,
    top_areas,
    total_variation,
)
from geodata.distance import distance_mi
from geodata.errors import StoreError
from geodata.schema import GEOGRAPHY
from geodata.store import Store, open_store
from mapapp.answers.certificate_reader import read_certificate
from mapapp.errors import UsageError
from mapapp.measuring.analyst import AnalystData, Panel, read_tracts
from mapapp.measuring.compared_workers import ratio
from mapapp.publishing.certificate.certificate import keyed_file_hash
from mapapp.publishing.certificate.mechanism import read_privacy
from mapapp.publishing.certificate.terms import Certificate
from mapapp.publishing.geography import Geography, Ints, Workplaces, read_geography, read_workplaces
from mapapp.publishing.inputs import Inputs
from mapapp.publishing.prior import PublicPrior, public_prior

Floats = npt.NDArray[np.float64]

AREA_LEVELS = ("tract", "county")
"""Areas whose inflow and outflow are compared."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawnRelease:
    """A release of the dataset that is measured: public, all of it.

    Attributes
    ----------
    store : Store
    certificate : dict
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
    certificate: Certificate
    geography: Geography
    workplaces: Workplaces
    prior: PublicPrior
    seed: PublicSeed
    privacy: PrivacyParameters
    parameters: SynthesisParameters
    is_of_these_counts: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class AreaCounts:
    """Workers by area of one level, real and synthetic; parts add up.

    Attributes
    ----------
    residents, interior : int64[2, n_areas]
        Workers in the measured tracts who live in the area; and those of them who also work in it. Real, then
        synthetic.
    employed : int64[n_areas]
        Workers employed in the area, the same in both.
    """

    residents: Ints
    interior: Ints
    employed: Ints


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawnPart:
    """What one part of a release gives.

    Attributes
    ----------
    destinations : dict of str to float64[D]
        kl_drawn, imse_drawn, moved, is_infinite, and average commutes between blocks.
    cells : float64[2, 29]
        Synthetic workers by cell, in all and in small destinations.
    flows : dict of str to FlowErrors
        Between tracts, by real and by read size.
    top : TopAreas
        Home tracts of each workplace tract.
    areas : dict of str to AreaCounts
        By level.
    """

    destinations: dict[str, Floats]
    cells: Floats
    flows: dict[str, FlowErrors]
    top: TopAreas
    areas: dict[str, AreaCounts]


def open_release(data: AnalystData, path: Path) -> DrawnRelease:
    """Open a release and see that it belongs to the dataset.

    Raises
    ------
    StoreError
        It is no release, or its certificate cannot be read.
    UsageError
        Its geography or its workplaces are not those of the dataset.
    """
    store = open_store(path, "release")
    dataset = data.store
    differs = [
        table.name for table in GEOGRAPHY if _sha256(store, table.name) != _sha256(dataset, table.name)
    ]
    if differs:
        raise UsageError(
            f"{path} was not made from the geography of {dataset.path} ({', '.join(differs)} differ): give the dataset "
            "that it was made from"
        )
    try:
        certificate = read_certificate(store)
        privacy = read_privacy(certificate["parameters"])
        parameters = SynthesisParameters.from_dict(certificate["parameters"]["synthesis"])
        seed = PublicSeed(certificate["construction"]["editing_seed"])
        commitment = certificate["confidential_inputs"]["jobs"]
    except StoreError:
        raise
    except (OSError, KeyError, TypeError, ValueError, AttributeError) as error:
        raise StoreError(
            f"{path}/certificate.json: does not say what the release was made of ({type(error).__name__})"
        ) from error
    geography = read_geography(store)
    workplaces = read_workplaces(store, geography)
    same = np.array_equal(workplaces.tract, data.tract)
    if not same or not np.array_equal(workplaces.n_workers, data.workplaces.n_workers):
        raise UsageError(_other_counts(path, dataset))
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
        is_of_these_counts=keyed_file_hash(key, dataset.file("jobs")) == commitment,
    )


def _other_counts(path: Path, dataset: Store) -> str:
    return (
        f"{path} does not hold the workplaces of {dataset.path}: counts by workplace and segment are public and must "
        "be the same; give the dataset that it was made from"
    )


def _sha256(store: Store, table: str) -> str:
    return str(store.manifest["files"][f"{table}.parquet"]["sha256"])


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """Where blocks are, and the areas of tracts: public.

    Attributes
    ----------
    lon_deg, lat_deg : float64[blocks]
        Internal points; elsewhere units have one for the whole state.
    area_of : dict of str to int64[n_tracts]
        Number of each tract's area by level of :data:`AREA_LEVELS`; -1 for elsewhere units.
    """

    lon_deg: Floats
    lat_deg: Floats
    area_of: dict[str, Ints]

    @classmethod
    def read(cls, store: Store) -> Places:
        """Read them from a dataset or a release."""
        blocks = store.table("blocks", ["lon_deg", "lat_deg"])
        tracts = store.table("tracts", ["tract_id", "county_id", "elsewhere"])
        elsewhere = tracts["elsewhere"].to_numpy(np.bool_)
        area_of = {}
        for level in AREA_LEVELS:
            _, number = np.unique(tracts[f"{level}_id"].to_numpy(str), return_inverse=True)
            area_of[level] = np.where(elsewhere, -1, number).astype(np.int64)
        return cls(
            lon_deg=blocks["lon_deg"].to_numpy(np.float64),
            lat_deg=blocks["lat_deg"].to_numpy(np.float64),
            area_of=area_of,
        )


def measure_drawn(panel: Panel, data: AnalystData, release: DrawnRelease, places: Places) -> DrawnPart:
    """Compare the real and the synthetic workers of some destination tracts.

    Parameters
    ----------
    panel : Panel
        The real workers.
    data : AnalystData
    release : DrawnRelease
    places : Places

    Raises
    ------
    UsageError
        Workers by workplace and segment are not the same.
    """
    real = panel.inputs
    drawn = read_tracts(release.store, data.geography, release.workplaces, panel.position)
    for name in ("destination", "segment", "count"):
        if not np.array_equal(getattr(real, name), getattr(drawn, name)):
            raise UsageError(_other_counts(release.store.path, data.store))
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
    flows, top = _flows(tract, homes, data.geography.tracts.n_tracts)
    return DrawnPart(
        destinations=columns | _block_distances(places, (real, drawn), ptr, release.parameters.q50_mi),
        cells=np.stack([cells[1].sum(axis=0), cells[1][n <= SMALL_WORKPLACE].sum(axis=0)]).astype(np.float64),
        flows=flows,
        top=top,
        areas={
            level: _areas(area_of, area_of[real.destination_tract][tract], [area_of[home] for home in homes])
            for level, area_of in places.area_of.items()
        },
    )


def _block_distances(
    places: Places, inputs: tuple[Inputs, Inputs], ptr: Ints, short_mi: float
) -> dict[str, Floats]:
    """Average commutes between blocks, real and synthetic, all and short ones; NaN if there are none."""
    n_destinations = ptr.size - 1
    of = np.repeat(np.arange(n_destinations), np.diff(ptr))
    found = {}
    for who, part in zip(("real", "drawn"), inputs, strict=True):
        at, home = np.repeat(part.destination, part.count), part.worker_origin
        lon, lat = places.lon_deg, places.lat_deg
        miles = np.where(at == home, 0.0, distance_mi(lon[at], lat[at], lon[home], lat[home]))
        for name, chosen in ((f"{who}_block_mi", slice(None)), (f"{who}_block_short_mi", miles < short_mi)):
            total = np.bincount(of[chosen], miles[chosen], n_destinations)
            found[name] = ratio(total, np.bincount(of[chosen], minlength=n_destinations))
    return found


def _flows(
    tract: npt.NDArray[np.int32], homes: list[Ints], n_tracts: int
) -> tuple[dict[str, FlowErrors], TopAreas]:
    """Errors of flows between tracts by size, and of the largest home tracts of every workplace tract."""
    at = tract.astype(np.int64) * n_tracts
    pairs = pair_counts(at + homes[0], at + homes[1])
    errors = {
        "real": flow_errors(pairs.real, pairs.drawn, pairs.real),
        "read": flow_errors(pairs.real, pairs.drawn, pairs.drawn),
    }
    ptr = np.searchsorted(pairs.pair, np.arange(int(tract.max()) + 2) * n_tracts)
    return errors, top_areas(ptr, pairs.real, pairs.drawn)


def _areas(area_of: Ints, work: Ints, homes: list[Ints]) -> AreaCounts:
    """Workers by area of home, and those who live and work in one."""
    n_areas = int(area_of.max()) + 1
    return AreaCounts(
        residents=np.stack([np.bincount(home[home >= 0], minlength=n_areas) for home in homes]),
        interior=np.stack([np.bincount(home[home == work], minlength=n_areas) for home in homes]),
        employed=np.bincount(work, minlength=n_areas),
    )
