"""The attributes of worker records in the order in which they are drawn: values, parents, and what is impossible.

Everything here is public: values come from the geography and from the schema of the workers, never from the workers.
An attribute that another one derives (an industry group that follows from a sector) is no attribute of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final

import numpy as np
import numpy.typing as npt

from engine.records.placing import RecordGround
from engine.records.structure import COMMUTE_PARENTS, Possible
from engine.records.zeros import StructuralZeros, structural_zeros
from geodata.json_objects import JsonObject
from geodata.store.schema import COMMUTE_EDGES_MI, JOB_LABELS
from geodata.store.store import Store
from geodata.workers.schema import Never, WorkerSchema
from mapapp.kinds.base.geography import Geography, read_geography
from mapapp.kinds.base.persons import has_persons

__all__ = [
    "BAND",
    "HOME_PUMA",
    "WORK_PUMA",
    "WORK_TRACT",
    "RecordAttribute",
    "RecordAttributes",
    "read_attributes",
]

Ints = npt.NDArray[np.int64]

WORK_PUMA: Final = "work_puma"
HOME_PUMA: Final = "home_puma"
WORK_TRACT: Final = "work_tract"
BAND: Final = "distance_band"
_JOB_TITLES: Final = {"industry": "Industry", "earnings": "Earnings", "age": "Age"}
_ROUNDING: Final = 1e-6  # radians, about 20 feet: more than floats err by
_SPAN: Final = 2.0  # longest chord of a sphere of radius 1


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordAttribute:
    """One attribute of a worker record.

    Attributes
    ----------
    name, title : str
    codes, labels : tuple of str
        Of each value, in order.
    parents : tuple of str
        On which it depends in the public structure, the most important first.
    derives : dict of str to tuple of int
        Attributes of the job that follow from it: for each, the code 1 to 3 of every value.
    """

    name: str
    title: str
    codes: tuple[str, ...]
    labels: tuple[str, ...]
    parents: tuple[str, ...]
    derives: Mapping[str, tuple[int, ...]] = field(default_factory=dict)

    def as_fact(self) -> JsonObject:
        """The attribute as a certificate lists it."""
        values = zip(self.codes, self.labels, strict=True)
        return {
            "name": self.name,
            "title": self.title,
            "values": [{"code": code, "label": label} for code, label in values],
            "parents": list(self.parents),
            "derives": {name: list(groups) for name, groups in self.derives.items()} or None,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordAttributes:
    """All attributes, in resampling order, over the geography of a dataset or of its records.

    Attributes
    ----------
    attributes : tuple of RecordAttribute
    ground : RecordGround
        Public geography on which records are placed.
    geography : Geography
    work_tract, work_puma : int64[values]
        Rows of `tracts` and `pumas` of the values of the two attributes; home PUMAs are all rows of `pumas`.
    superpuma_of_puma : int64[pumas]
    missing : tuple of str
        Attributes of the job that the dataset lacks.
    never : tuple of mapping of str to tuple of str
        Combinations that never occur, by the schema of the workers.
    zeros : StructuralZeros
        What these combinations are in the tables of a model.
    has_persons : bool
        Whether the dataset says which jobs are one person's.
    """

    attributes: tuple[RecordAttribute, ...]
    ground: RecordGround
    geography: Geography
    work_tract: Ints
    work_puma: Ints
    superpuma_of_puma: Ints
    missing: tuple[str, ...]
    never: tuple[Never, ...] = ()
    zeros: StructuralZeros = field(default_factory=StructuralZeros)
    has_persons: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """Names in resampling order."""
        return tuple(attribute.name for attribute in self.attributes)

    @property
    def domain(self) -> tuple[int, ...]:
        """Number of values of each attribute."""
        return tuple(len(attribute.codes) for attribute in self.attributes)

    def place(self, name: str) -> int:
        """Position of an attribute in resampling order."""
        return self.names.index(name)

    @property
    def wished(self) -> list[list[int]]:
        """Positions of the parents of each attribute, the most important first; then those that its zeros need."""
        needed = [
            [parent for child, parent in self.zeros.groups if child == at] for at in range(len(self.names))
        ]
        return [
            list(dict.fromkeys((*map(self.place, attribute.parents), *further)))
            for attribute, further in zip(self.attributes, needed, strict=True)
        ]

    @property
    def buckets(self) -> dict[int, Ints]:
        """Buckets of the attributes that enter as parents by what they derive."""
        return {
            self.place(attribute.name): _joint(list(attribute.derives.values()))
            for attribute in self.attributes
            if attribute.derives
        }

    @property
    def coarser(self) -> dict[int, Ints]:
        """Buckets by which a parent enters a table that has no room for its values: SuperPUMAs in place of PUMAs."""
        numbers = {HOME_PUMA: self.superpuma_of_puma, WORK_PUMA: self.superpuma_of_puma[self.work_puma]}
        return {self.place(name): _joint([units]) for name, units in numbers.items()}

    @property
    def possible(self) -> list[Possible]:
        """Structural zeros: a work tract outside its PUMA, a distance that no two blocks of two PUMAs have, and the
        combinations that never occur.
        """
        tract_puma = self.geography.tracts.puma[self.work_tract]
        work, home = self.place(WORK_PUMA), self.place(HOME_PUMA)
        return [
            Possible(
                attribute=self.place(WORK_TRACT),
                given=(work,),
                table=self.work_puma[:, None] == tract_puma[None, :],
            ),
            Possible(
                attribute=self.place(BAND),
                given=(work, home),
                table=_possible_bands(self.ground, self.geography, self.work_puma),
            ),
            *self.zeros.possible,
        ]


def read_attributes(store: Store) -> RecordAttributes:
    """Read the attributes of a dataset, or of records made from it, from public tables and facts.

    Parameters
    ----------
    store : Store
        Only its geography and manifest are read. The fact `missing_attributes` lists those of age, earnings, and
        industry that its workers lack: `jobs` has code 1 everywhere.
    """
    missing = [str(name) for name in store.manifest.get("missing_attributes", ())]
    return attributes_over(store, WorkerSchema.from_facts(store.manifest), missing=missing)


def attributes_over(store: Store, schema: WorkerSchema, *, missing: Sequence[str] = ()) -> RecordAttributes:
    """The attributes over a store's geography, with those that a schema adds and without those that are missing."""
    geography = read_geography(store)
    tracts = store.table("tracts", ["tract_id", "name", "state_id", "elsewhere"])
    pumas = store.table("pumas", ["puma_id", "name", "superpuma_id"])
    blocks = store.table("blocks", ["lon_deg", "lat_deg"])
    covered = tracts["state_id"].isin([str(state) for state in store.manifest["destination_states"]])
    work_tract = np.flatnonzero((covered & ~tracts["elsewhere"]).to_numpy(np.bool_))
    work_puma = np.unique(geography.tracts.puma[work_tract]).astype(np.int64)
    puma = (pumas["puma_id"].to_numpy(dtype=str), pumas["name"].to_numpy(dtype=str))
    tract = (
        tracts["tract_id"].to_numpy(dtype=str)[work_tract],
        tracts["name"].to_numpy(dtype=str)[work_tract],
    )
    listed = [
        _place_attribute(WORK_PUMA, "PUMA of work", puma[0][work_puma], puma[1][work_puma]),
        _place_attribute(HOME_PUMA, "PUMA of home", *puma),
        *_people(schema, missing),
        _place_attribute(WORK_TRACT, "Tract of work", *tract),
        _place_attribute(BAND, "Distance from home to work", *_band_values()),
    ]
    ground = RecordGround(
        tracts=geography.tracts,
        blocks=geography.blocks,
        block_lon_deg=blocks["lon_deg"].to_numpy(np.float64),
        block_lat_deg=blocks["lat_deg"].to_numpy(np.float64),
        edges_mi=COMMUTE_EDGES_MI,
    )
    ordered = tuple(_order_by_parents(_replace_parents(listed, schema)))
    # A combination that names a missing attribute says nothing.
    never = tuple(combination for combination in schema.never if not set(missing) & set(combination))
    return RecordAttributes(
        attributes=ordered,
        ground=ground,
        geography=geography,
        work_tract=work_tract.astype(np.int64),
        work_puma=work_puma,
        superpuma_of_puma=np.unique(pumas["superpuma_id"].to_numpy(dtype=str), return_inverse=True)[1].astype(
            np.int64
        ),
        missing=tuple(missing),
        never=never,
        zeros=_zeros(ordered, schema, never),
        has_persons=has_persons(store.manifest),
    )


def _zeros(
    attributes: Sequence[RecordAttribute], schema: WorkerSchema, never: Sequence[Never]
) -> StructuralZeros:
    """The structural zeros of combinations that never occur."""
    place = {attribute.name: at for at, attribute in enumerate(attributes)}
    combinations = []
    for combination in never:
        values = dict[int, set[int]]()
        for name, codes in combination.items():
            source, positions = _positions(schema, name, codes)
            # A derived attribute and its source may both be named: only values of both are meant.
            values[place[source]] = values.get(place[source], positions) & positions
        if all(values.values()):
            combinations.append({at: sorted(of_one) for at, of_one in values.items()})
    return structural_zeros([len(attribute.codes) for attribute in attributes], combinations)


def _positions(schema: WorkerSchema, name: str, codes: Sequence[str]) -> tuple[str, set[int]]:
    """The attribute that is drawn for this one, which it may derive, and positions of its values with such codes."""
    source = schema.derived_from.get(name)
    if source is not None:
        derived = [str(code) for code in source.derives[name]]
        return source.name, {at for at, code in enumerate(derived) if code in codes}
    known = schema.codes_of(name) or ()
    return name, {at for at, code in enumerate(known) if code in codes}


def _place_attribute(name: str, title: str, codes: Iterable[str], labels: Iterable[str]) -> RecordAttribute:
    return RecordAttribute(
        name=name,
        title=title,
        codes=tuple(map(str, codes)),
        labels=tuple(map(str, labels)),
        parents=COMMUTE_PARENTS[name],
    )


def _band_values() -> tuple[list[str], list[str]]:
    edges = [f"{edge:g}" for edge in COMMUTE_EDGES_MI]
    between = [f"{low} to {high} miles" for low, high in pairwise(edges)]
    labels = [f"Under {edges[0]} mile", *between, f"{edges[-1]} miles or more"]
    return [str(number) for number in range(len(labels))], labels


def _people(schema: WorkerSchema, missing: Sequence[str]) -> list[RecordAttribute]:
    """Attributes of the job, with what derives one in its place; then the further attributes."""
    attributes: list[RecordAttribute] = []
    derived = schema.derived_from
    by_name = {
        attribute.name: RecordAttribute(
            name=attribute.name,
            title=attribute.title,
            codes=attribute.codes,
            labels=attribute.labels,
            parents=attribute.parents,
            derives=attribute.derives,
        )
        for attribute in schema.attributes
    }
    for name in ("industry", "earnings", "age"):
        if name in derived:
            attributes.append(by_name[derived[name].name])
        elif name not in missing:
            codes = ("1", "2", "3")
            attributes.append(
                RecordAttribute(
                    name=name,
                    title=_JOB_TITLES[name],
                    codes=codes,
                    labels=tuple(JOB_LABELS[name]),
                    parents=COMMUTE_PARENTS[name],
                )
            )
    return list({attribute.name: attribute for attribute in (*attributes, *by_name.values())}.values())


def _replace_parents(attributes: Sequence[RecordAttribute], schema: WorkerSchema) -> list[RecordAttribute]:
    """The attributes, with what derives a parent in its place, and without parents that the dataset lacks."""
    names = {attribute.name for attribute in attributes}
    source = {name: attribute.name for name, attribute in schema.derived_from.items()}
    with_known_parents = []
    for attribute in attributes:
        parents = dict.fromkeys(source.get(parent, parent) for parent in attribute.parents)
        kept = tuple(parent for parent in parents if parent in names and parent != attribute.name)
        with_known_parents.append(
            RecordAttribute(
                name=attribute.name,
                title=attribute.title,
                codes=attribute.codes,
                labels=attribute.labels,
                parents=kept,
                derives=attribute.derives,
            )
        )
    return with_known_parents


def _order_by_parents(attributes: Sequence[RecordAttribute]) -> list[RecordAttribute]:
    """The attributes with parents before children, and otherwise in the given order."""
    left, ordered = list(attributes), list[RecordAttribute]()
    while left:
        done = {attribute.name for attribute in ordered}
        # The schema has refused parents that go in a circle.
        following = next(attribute for attribute in left if done.issuperset(attribute.parents))
        left.remove(following)
        ordered.append(following)
    return ordered


def _joint(numbers: Sequence[Sequence[int] | Ints]) -> Ints:
    """Numbers 0, 1, ... of the combinations that occur: one for each position."""
    return np.unique(np.array(numbers), axis=1, return_inverse=True)[1].ravel().astype(np.int64)


def _possible_bands(ground: RecordGround, geography: Geography, work_puma: Ints) -> npt.NDArray[np.bool_]:
    """Which distance bands two blocks of a PUMA of work and a PUMA of home can have: bool[work, home, bands].

    Each PUMA is taken to fill the smallest cap around its mean that holds its blocks, so more is allowed than occurs.
    """
    puma = geography.tracts.puma[geography.tract_of_block]
    place = ground.block_place
    n_pumas = geography.tracts.puma_members[0].size - 1
    sums = np.stack(
        [np.bincount(puma, weights=place[:, axis], minlength=n_pumas) for axis in range(3)], axis=1
    )
    center = sums / np.maximum(np.linalg.norm(sums, axis=1, keepdims=True), 1e-12)
    reach = np.zeros(n_pumas)
    np.maximum.at(reach, puma, _angle(np.linalg.norm(place - center[puma], axis=1)))
    between = _angle(np.sqrt(np.maximum(2.0 - 2.0 * center[work_puma] @ center.T, 0.0)))
    slack = reach[work_puma][:, None] + reach[None, :] + _ROUNDING
    edges = _angle(np.sqrt(ground.limits))
    low, high = np.append(0.0, edges), np.append(edges, np.pi)
    nearest, farthest = np.maximum(between - slack, 0.0), between + slack
    return np.asarray((nearest[..., None] < high) & (farthest[..., None] >= low))


def _angle(chord: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Angle of a chord of the sphere, radians."""
    return np.asarray(2.0 * np.arcsin(np.minimum(chord / _SPAN, 1.0)))
