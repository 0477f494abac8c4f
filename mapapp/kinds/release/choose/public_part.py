"""What a setting is chosen from: the public part of a dataset, and tables of homes simulated from it.

No confidential count takes part: the column of homes is not even read. A prior always looks good on homes drawn from
itself. Hence the simulated homes are not. Where there are flows, a fifth follow the gravity prior instead. Three in a
hundred are anywhere, by population alone: P10 reports 3 to 7% of workers where its prior had nothing, and without them
eliminating far points would look free. And every workplace draws a distribution of its own around that (a Pólya urn:
worker j lives where an earlier one does with probability j / (j + 25)).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas

from engine.parameters import Prior, SynthesisParameters, Unit
from engine.support.gravity import GravityDecay, decay_at
from engine.support.tracts import OriginTracts, great_circle_mi
from geodata.store.schema import LAYER_LABELS, N_SEGMENTS
from geodata.store.store import Store
from mapapp.kinds.base.geography import (
    PUBLIC_COLUMNS,
    Geography,
    Ints,
    ListedSynthesizers,
    Workplaces,
    read_geography,
    read_workplaces,
)
from mapapp.kinds.base.inputs import WorkplaceCounts, segment_of
from mapapp.kinds.release.choose.expected_validity import HomeTracts, grid_around
from mapapp.kinds.release.make.marginal_segments import add_joint_segments, assigns_from_margins
from mapapp.kinds.release.make.prior import FittedDecays, PublicPrior, public_prior

# The town of every tract, from the public layers of a store: what people call places, for counting flows.

_LAYERS: Final = ("ctycsub", "stplc")
"""Layers that may hold towns, preferred first."""

_PUMA: Final = "PUMA"


class Towns(NamedTuple):
    """Towns of tracts.

    Attributes
    ----------
    of_tract : int64[n_tracts]
        Number of each tract's town, from 0.
    kinds : tuple of str
        What the towns are, the most frequent kind first.
    """

    of_tract: Ints
    kinds: tuple[str, ...]

    @classmethod
    def of_pumas(cls, tracts: OriginTracts) -> Towns:
        """PUMAs in place of towns."""
        return cls(tracts.puma.astype(np.int64), (_PUMA,))


def read_towns(store: Store) -> Towns:
    """Return the county subdivision of each tract, or else its place, or else its PUMA.

    A tract belongs to the unit in which most of its people live, or to none if most live outside all of them.
    """
    tracts = store.table("tracts", ["puma_id", "elsewhere"])
    puma, is_open = tracts["puma_id"].to_numpy(str), ~tracts["elsewhere"].to_numpy(np.bool_)
    kind, unit = np.full(puma.size, _PUMA, dtype=object), puma.astype(object)
    known = store.columns("blocks")
    for layer in _LAYERS:
        if is_open.any() and f"layer_{layer}" in known:
            tract, name = _most_people(store, f"layer_{layer}")
            still_open = is_open[tract]
            kind[tract[still_open]], unit[tract[still_open]] = LAYER_LABELS[layer], name[still_open]
            is_open[tract] = False
    _, of_tract = np.unique([f"{a}:{b}" for a, b in zip(kind, unit, strict=True)], return_inverse=True)
    frequent = pandas.Series(kind).value_counts()
    return Towns(of_tract.astype(np.int64), tuple(str(name) for name in frequent.index))


def _most_people(store: Store, column: str) -> tuple[Ints, npt.NDArray[np.object_]]:
    """Rows of the tracts that have a unit of a layer, and the unit of each in which most people live."""
    parts = []
    for part in store.batches("blocks", ["tract_index", "population", column]):
        unit = part.column(column).combine_chunks().dictionary_encode()
        names = np.asarray(unit.dictionary.to_pylist(), dtype=object)
        pair = part.column("tract_index").to_numpy().astype(np.int64) * names.size + unit.indices.to_numpy()
        # Where nobody lives, every block counts a little. Blocks come by tract, so most pairs follow each other.
        people = part.column("population").to_numpy() + 1e-6
        first = np.flatnonzero(np.diff(pair, prepend=-1))
        distinct = pair[first]
        columns = {
            "tract": distinct // names.size,
            "unit": names[distinct % names.size],
            "people": np.add.reduceat(people, first),
        }
        parts.append(pandas.DataFrame(columns))
    people_of = pandas.concat(parts).groupby(["tract", "unit"])["people"].sum().reset_index()
    most = people_of.sort_values("people", ascending=False, kind="stable").drop_duplicates("tract")
    most = most[most["unit"] != ""]
    return most["tract"].to_numpy(np.int64), most["unit"].to_numpy()


Floats = npt.NDArray[np.float64]

CONCENTRATION = 25.0
"""Of the urn that draws the homes of a workplace."""

SHARE_ANYWHERE = 0.03
"""Simulated homes that are anywhere, by population."""

_NEAR_ROWS = 1 << 16  # rows of `jobs` between two that are read together
_MOST_TRACTS = 256
_LEAST_TRACTS = 48
_MOST_PAIRS = 2_000_000  # of destination and origin tracts, between the two numbers above
_SHARE_OF_FLOWS = 0.8
_GENERATOR = 20100  # any number: the same homes in every run


@dataclass(frozen=True, slots=True, kw_only=True)
class PublicPart:
    """What the choice is made from: the public part of a dataset, or of a release.

    Attributes
    ----------
    geography : Geography
        Tracts, blocks and public flows.
    workplaces : Workplaces
        All destination tracts and their workers.
    sample : WorkplaceCounts
        Synthesizers of 48 to 256 destination tracts, evenly spaced in their order.
    towns : Towns
    fitted : dict
        Decays of the gravity model that were fitted so far: see :func:`mapapp.kinds.release.make.prior.public_prior`.
    """

    geography: Geography
    workplaces: Workplaces
    sample: WorkplaceCounts
    towns: Towns
    fitted: FittedDecays = field(default_factory=dict)

    @property
    def homes_text(self) -> str:
        """What :func:`simulated_homes` come from, for the certificate."""
        return f"simulated from public {'gravity' if self.geography.flows.empty else 'flows and gravity'}"


def read_public_part(store: Store, units: tuple[Unit, ...] = ("cell",)) -> PublicPart:
    """Read geography, flows, and workers by workplace and segment; of the homes, nothing.

    Parameters
    ----------
    store : Store
        A dataset or a release.
    units : tuple of str
        That may be chosen: larger ones than cells are drawn with segments from margins (`marginal_segments`).

    Raises
    ------
    StoreError
        When the store holds no jobs.
    """
    if assigns_from_margins(store, units):
        store = add_joint_segments(store)
    geography = read_geography(store)
    return public_part_of(store, geography, read_workplaces(store, geography))


def public_part_of(
    store: Store, geography: Geography, workplaces: Workplaces, fitted: FittedDecays | None = None
) -> PublicPart:
    """The same where geography and workplaces have been read, and perhaps decays `fitted`."""
    n_tracts = workplaces.tract.size
    size = min(n_tracts, max(_LEAST_TRACTS, min(_MOST_TRACTS, _MOST_PAIRS // geography.tracts.n_tracts)))
    chosen = workplaces.tract[np.linspace(0, n_tracts - 1, size).round().astype(np.int64)]
    return PublicPart(
        geography=geography,
        workplaces=workplaces,
        sample=_counts(store, geography, workplaces, np.unique(chosen)),
        towns=read_towns(store),
        fitted={} if fitted is None else fitted,
    )


def _counts(
    store: Store, geography: Geography, workplaces: Workplaces, destination_tract: Ints
) -> WorkplaceCounts:
    """Workers by workplace and segment in some destination tracts, as listed or from the rows of `jobs` with them."""
    if workplaces.synthesizers is not None:
        return _select_listed(workplaces.synthesizers, geography, destination_tract)
    is_chosen = np.zeros(geography.tracts.n_tracts, dtype=np.bool_)
    is_chosen[destination_tract] = True
    at = np.searchsorted(workplaces.tract, destination_tract)
    batches = np.unique(np.searchsorted(workplaces.tract_ptr, at, side="right") - 1)
    synthesizers, workers = [], []
    for start, stop in zip(
        workplaces.row_ptr[batches].tolist(), workplaces.row_ptr[batches + 1].tolist(), strict=True
    ):
        of_row = np.asarray(store.slice("jobs", start, stop, ["destination_index"])["destination_index"])
        wanted = np.flatnonzero(is_chosen[geography.tract_of_block[of_row]])
        if not wanted.size:
            continue
        for place in np.split(wanted, np.flatnonzero(np.diff(wanted) > _NEAR_ROWS) + 1):
            first, last = start + int(place[0]), start + int(place[-1]) + 1
            columns = store.slice("jobs", first, last, PUBLIC_COLUMNS)
            rows = {name: np.asarray(columns[name])[place - place[0]] for name in PUBLIC_COLUMNS}
            synthesizers.append(rows["destination_index"].astype(np.int64) * N_SEGMENTS + segment_of(rows))
            workers.append(rows["count"])
    synthesizer, of = np.unique(np.concatenate(synthesizers), return_inverse=True)
    destination = synthesizer // N_SEGMENTS
    tract = np.searchsorted(destination_tract, geography.tract_of_block[destination])
    return WorkplaceCounts(
        destination_tract=destination_tract,
        destination=destination,
        segment=synthesizer % N_SEGMENTS,
        tract=tract.astype(np.int32),
        count=np.bincount(of, np.concatenate(workers)).astype(np.int64),
    )


def _select_listed(
    synthesizers: ListedSynthesizers, geography: Geography, destination_tract: Ints
) -> WorkplaceCounts:
    """The synthesizers of some destination tracts."""
    ptr = geography.blocks.block_ptr
    ends = zip(ptr[destination_tract].tolist(), ptr[destination_tract + 1].tolist(), strict=True)
    parts = [synthesizers.within(blocks) for blocks in ends]
    sizes = [part.stop - part.start for part in parts]
    return WorkplaceCounts(
        destination_tract=destination_tract,
        destination=np.concatenate([synthesizers.destination[part] for part in parts]).astype(np.int64),
        segment=np.concatenate([synthesizers.segment[part] for part in parts]).astype(np.int64),
        tract=np.repeat(np.arange(len(parts), dtype=np.int32), sizes),
        count=np.concatenate([synthesizers.count[part] for part in parts]).astype(np.int64),
    )


def simulated_homes(public: PublicPart, decay: GravityDecay, concentration: float) -> HomeTracts:
    """Homes as :func:`simulated_home_tracts` makes them, and the grid around the destination tracts."""
    origin_tract = simulated_home_tracts(public, decay, concentration)
    return HomeTracts(
        cell=grid_around(public.geography.tracts, public.sample.destination_tract)[1],
        origin_tract=origin_tract,
    )


def simulated_home_tracts(public: PublicPart, decay: GravityDecay, concentration: float) -> Ints:
    """A home tract for every worker of the sample, from public data and a fixed seed.

    Parameters
    ----------
    public : PublicPart
    decay : GravityDecay
        Of the gravity model.
    concentration : float
        As in :func:`design_parameters`.

    Returns
    -------
    int64[W]
        Row of `tracts`, synthesizer by synthesizer.
    """
    sample = public.sample
    mass = public_distribution(public, decay)
    draw = np.random.default_rng(_GENERATOR)
    tract = np.repeat(sample.tract, sample.count)
    value = draw.random(tract.size)
    home: Ints = np.empty(tract.size, dtype=np.int64)
    # Blocks are sorted by tract, so workers come sorted by both.
    for position in range(sample.destination_tract.size):
        workers = slice(*np.searchsorted(tract, (position, position + 1)))
        below = np.cumsum(mass[position])
        home[workers] = np.searchsorted(below, value[workers] * below[-1], side="right")
    home = np.minimum(home, np.int64(mass.shape[1] - 1))
    destination = np.repeat(sample.destination, sample.count)
    first = np.searchsorted(destination, destination)
    earlier = np.arange(destination.size) - first
    copies = draw.random(destination.size) * (concentration + earlier) < earlier
    source = first + (draw.random(destination.size) * earlier).astype(np.int64)
    for worker in np.flatnonzero(copies):
        home[worker] = home[source[worker]]
    return home


def public_distribution(public: PublicPart, decay: GravityDecay) -> Floats:
    """Where the workers of each destination tract live by public data: float64[T, n_tracts], rows sum to 1."""
    tracts, at = public.geography.tracts, public.sample.destination_tract
    mass = _normalize_rows(tracts.population * decay_at(great_circle_mi(tracts, at), decay))
    flows = public.geography.flows
    flows = flows[flows["destination_tract_index"].isin(at)]
    if not flows.empty:
        row = np.searchsorted(at, flows["destination_tract_index"].to_numpy(np.int64))
        flow = np.zeros_like(mass)
        np.add.at(flow, (row, flows["origin_tract_index"].to_numpy(np.int64)), flows["weight"].to_numpy())
        known = flow.any(axis=1)
        mass[known] = _SHARE_OF_FLOWS * _normalize_rows(flow[known]) + (1 - _SHARE_OF_FLOWS) * mass[known]
    anywhere = tracts.population / tracts.population.sum()
    return np.asarray((1 - SHARE_ANYWHERE) * mass + SHARE_ANYWHERE * anywhere)


def _normalize_rows(mass: Floats) -> Floats:
    return np.asarray(mass / mass.sum(axis=1, keepdims=True))


class PublicPriors:
    """The public priors of one dataset, each fitted once."""

    def __init__(self, public: PublicPart, shape: SynthesisParameters) -> None:
        self._public, self._shape = public, shape
        self._made: dict[Prior, PublicPrior] = {}

    @property
    def allowed(self) -> tuple[Prior, ...]:
        """Those that the dataset has."""
        return ("gravity",) if self._public.geography.flows.empty else ("gravity", "flows")

    @property
    def gravity(self) -> GravityDecay:
        """The gravity model's decay."""
        decay = self.of("gravity").decay
        assert decay is not None
        return decay

    def of(self, prior: Prior) -> PublicPrior:
        """One of them."""
        if prior not in self._made:
            self._made[prior] = public_prior(
                self._public.geography,
                self._public.workplaces,
                replace(self._shape, prior=prior),
                fitted=self._public.fitted,
            )
        return self._made[prior]
