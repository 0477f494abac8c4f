"""Structures of a Bayesian network over worker records: the parents of every attribute.

Attributes are in the order in which they are drawn (the resampling order), and parents come before their children. A
parent may enter a table by *buckets* of its values: 20 industries by their three groups, a region by its state.

Source: P17 section 3.1 and 3.3, equations 2 and 7.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from engine.arrays import as_int
from engine.errors import ParameterError
from engine.records.cells import Rule, TableCells, offsets, table_cells
from engine.records.kernels.model import Families

__all__ = [
    "COMMUTE_PARENTS",
    "FURTHER_PARENTS",
    "RECORDS_PER_CELL",
    "Possible",
    "PublicStructure",
    "Structure",
    "WishedParent",
    "count_cells",
    "fit_parents",
    "public_structure",
]

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

RECORDS_PER_CELL = 30
"""A table never has more cells than a thirtieth of the records that fill it."""

COMMUTE_PARENTS: Mapping[str, tuple[str, ...]] = {
    "work_puma": (),
    "home_puma": ("work_puma",),
    "industry": ("home_puma", "work_puma"),
    "earnings": ("industry", "home_puma", "work_puma"),
    "age": ("earnings", "home_puma", "industry", "work_puma"),
    "work_tract": ("work_puma", "industry"),
    "distance_band": ("work_puma", "home_puma"),
}
"""Parents of the attributes of commutes, the most important first: if there is no room, the last is dropped first."""

FURTHER_PARENTS = ("industry", "earnings")
"""Parents of any further attribute for which none are given."""

_MOST_RULED = 1 << 25
"""Configurations up to which structural zeros are counted."""
_Value = TypeVar("_Value", bound=np.generic)


@dataclass(frozen=True, slots=True, kw_only=True)
class Possible:
    """Values of an attribute that are possible, given what some of its parents are: the others are structural zeros.

    Attributes
    ----------
    attribute : int
    given : tuple of int
        Attributes that decide. Where one of them is not a parent, nothing is ruled out.
    table : bool[sizes of given ..., size of the attribute]
        At least one value is possible whatever is given.
    """

    attribute: int
    given: tuple[int, ...]
    table: Bools

    def __post_init__(self) -> None:
        if not self.table.any(axis=-1).all():
            raise ParameterError(
                f"possible values of attribute {self.attribute}: none where attributes {self.given} have some "
                "values; allow at least one value everywhere"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Structure:
    """Parents of every attribute of a record.

    Attributes
    ----------
    domain : tuple of int
        Number of values of each attribute.
    parents : tuple of tuple of int
        Parents of each attribute; all of them come before it.
    buckets : tuple of tuple of (int64[size of the parent] or None)
        For each parent of each attribute, the bucket of each of its values, from 0; None if it enters by its values.
        ``()`` for an attribute is short for None everywhere.
    possible : tuple of Possible
        Structural zeros.

    Raises
    ------
    ParameterError
        A parent does not come before its child, buckets do not fit, a table has more than 2^31 cells, or no value is
        possible for some of the parents' values.
    """

    domain: tuple[int, ...]
    parents: tuple[tuple[int, ...], ...]
    buckets: tuple[tuple[Ints | None, ...], ...] = ()
    possible: tuple[Possible, ...] = ()
    cells: tuple[TableCells, ...] = field(init=False, repr=False, compare=False)
    families: Families = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if len(self.parents) != len(self.domain) or not self.domain or min(self.domain) < 1:
            raise ParameterError(
                f"{len(self.domain)} domain sizes, the least of them {min(self.domain, default=0)}, and parents of "
                f"{len(self.parents)} attributes: give one of each per attribute, sizes of at least 1"
            )
        given = self.buckets or ((),) * len(self.domain)
        full = tuple(
            attribute_buckets or (None,) * len(parents)
            for attribute_buckets, parents in zip(given, self.parents, strict=True)
        )
        object.__setattr__(self, "buckets", full)
        for child, parents in enumerate(self.parents):
            _check_parents(child, parents, full[child], self.domain)
        cells = tuple(
            table_cells(child, size, self.bucket_sizes(child), self._rules(child))
            for child, size in enumerate(self.domain)
        )
        object.__setattr__(self, "cells", cells)
        object.__setattr__(self, "families", _families(self))

    @classmethod
    def of_marginals(cls, domain: Sequence[int]) -> "Structure":
        """No parents at all: every attribute by itself, which is the paper's baseline."""
        return cls(domain=tuple(domain), parents=((),) * len(domain))

    @property
    def n_attributes(self) -> int:
        """Number of attributes of a record."""
        return len(self.domain)

    def bucket_sizes(self, child: int) -> tuple[int, ...]:
        """Number of values, or of buckets, by which each parent of an attribute enters its table."""
        return tuple(
            self.domain[parent] if bucket is None else int(bucket.max()) + 1
            for parent, bucket in zip(self.parents[child], self.buckets[child], strict=True)
        )

    def n_configurations(self, child: int) -> int:
        """Number of configurations of an attribute's parents."""
        return math.prod(self.bucket_sizes(child))

    def spread(self, child: int, values: npt.NDArray[_Value]) -> npt.NDArray[_Value]:
        """Values of an attribute's cells at their places in the whole table, and zeros: [configurations, values]."""
        whole = np.zeros((self.n_configurations(child), self.domain[child]), dtype=values.dtype)
        whole[self.cells[child].places()] = values
        return whole

    def _rules(self, child: int) -> list[Rule]:
        """What is possible given some of an attribute's parents, each by values or buckets."""
        parents = self.parents[child]
        return [
            self._rule(child, rule)
            for rule in self.possible
            if rule.attribute == child and set(rule.given) <= set(parents)
        ]

    def _rule(self, child: int, rule: Possible) -> Rule:
        """A rule by the places of its parents; a value is possible in a bucket if it is for any value in it."""
        parents, sizes = self.parents[child], self.bucket_sizes(child)
        order = sorted(range(len(rule.given)), key=lambda at: parents.index(rule.given[at]))
        table = np.transpose(rule.table, (*order, len(order)))
        places = tuple(parents.index(rule.given[at]) for at in order)
        for axis, place in enumerate(places):
            bucket = self.buckets[child][place]
            if bucket is not None:
                shape = (*table.shape[:axis], sizes[place], *table.shape[axis + 1 :])
                merged = np.zeros(shape, dtype=np.bool_)
                np.logical_or.at(np.moveaxis(merged, axis, 0), bucket, np.moveaxis(table, axis, 0))
                # A bucket that no value is in occurs nowhere; its cells only need to be drawable.
                np.moveaxis(merged, axis, 0)[np.bincount(bucket, minlength=sizes[place]) == 0] = True
                table = merged
        return places, np.ascontiguousarray(table)

    def n_cells(self, child: int) -> int:
        """Number of cells of an attribute's table, without structural zeros."""
        return self.cells[child].n_possible

    def covers(self, attributes: Sequence[int]) -> bool:
        """Whether the model draws these attributes together, each by its own values.

        The table of the last one must hold the others, and these must be drawn together as well: two attributes that
        only meet as parents of a third are drawn apart. If they are not drawn together, counts by their combination
        rest on the assumption that they are independent given their parents.
        """
        *others, last = sorted(set(attributes))
        by_value = {p for p, b in zip(self.parents[last], self.buckets[last], strict=True) if b is None}
        return not others or (by_value.issuperset(others) and self.covers(others))


def _check_parents(
    child: int, parents: tuple[int, ...], buckets: tuple[Ints | None, ...], domain: tuple[int, ...]
) -> None:
    if len(set(parents)) != len(parents) or not all(0 <= parent < child for parent in parents):
        raise ParameterError(
            f"attribute {child} has parents {parents}: each must come before it, and none twice"
        )
    if len(buckets) != len(parents):
        raise ParameterError(
            f"attribute {child} has {len(parents)} parents and {len(buckets)} lists of buckets: give one each, or None"
        )
    for parent, bucket in zip(parents, buckets, strict=True):
        if bucket is not None and as_int("buckets", bucket).size != domain[parent]:
            raise ParameterError(
                f"buckets of parent {parent} of attribute {child} are for {bucket.size} values: it has {domain[parent]}"
            )


def _families(structure: Structure) -> Families:
    adds: list[Ints] = []
    for child, (parents, buckets) in enumerate(zip(structure.parents, structure.buckets, strict=True)):
        stride = structure.n_configurations(child)
        for size, parent, bucket in zip(structure.bucket_sizes(child), parents, buckets, strict=True):
            stride //= size
            own = np.arange(structure.domain[parent]) if bucket is None else bucket.astype(np.int64)
            adds.append(own * stride)
    cells = structure.cells
    cells_at = offsets([family_cells.possible.size for family_cells in cells])
    starts = [family_cells.ptr[:-1] + at for family_cells, at in zip(cells, cells_at.tolist(), strict=False)]
    return Families(
        parent_ptr=offsets([len(parents) for parents in structure.parents]),
        parent=np.array([parent for parents in structure.parents for parent in parents], dtype=np.int64),
        adds_at=offsets([steps.size for steps in adds]),
        adds=np.concatenate([*adds, np.zeros(0, dtype=np.int64)]),
        table_at=offsets([family_cells.first.size for family_cells in cells]),
        first=np.concatenate([family_cells.first for family_cells in cells]),
        cell_ptr=np.concatenate([*starts, cells_at[-1:]]),
        sizes=np.array(structure.domain, dtype=np.int64),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class PublicStructure:
    """A structure chosen from public numbers alone, and what had no room in it.

    Attributes
    ----------
    structure : Structure
    dropped : tuple of (int, int)
        Attributes and wished parents that were dropped.
    coarsened : tuple of (int, int)
        Attributes and parents that enter by coarser buckets than wished.
    """

    structure: Structure
    dropped: tuple[tuple[int, int], ...]
    coarsened: tuple[tuple[int, int], ...]


def public_structure(
    domain: Sequence[int],
    wished: Sequence[Sequence[int]],
    n_records: int,
    *,
    buckets: Mapping[int, Ints] | None = None,
    coarser: Mapping[int, Ints] | None = None,
    possible: Sequence[Possible] = (),
    groups: Mapping[tuple[int, int], Ints] | None = None,
) -> PublicStructure:
    """The structure with as many of the wished parents as the records can fill.

    Parameters
    ----------
    domain : sequence of int
        Number of values of each attribute.
    wished : sequence of sequence of int
        Parents of each attribute, the most important first.
    n_records : int
        A public lower bound of the number of records that fill the tables.
    buckets : mapping of int to int64[size], optional
        Attributes that enter every table as a parent by these buckets.
    coarser : mapping of int to int64[size], optional
        Coarser buckets that a parent enters by before it would be dropped.
    possible : sequence of Possible, optional
        Structural zeros, which are not counted as cells.
    groups : mapping of (int, int) to int64[size of the parent], optional
        Children and parents that are never dropped, and groups of the parent's values that the child always tells
        apart: those of :class:`engine.records.zeros.StructuralZeros`.

    Raises
    ------
    ParameterError
        The parts do not fit together.

    Notes
    -----
    No table has more cells than ``n_records / 30`` unless the attribute alone has. The last parent is
    coarsened first, then dropped; then the one before it. A parent that costs no cells is kept: a table of tracts alone
    has as many cells as one of the tracts within each region.
    """
    first, second, needed = dict(buckets or {}), dict(coarser or {}), dict(groups or {})
    parents: list[tuple[int, ...]] = []
    chosen: list[tuple[Ints | None, ...]] = []
    dropped: list[tuple[int, int]] = []
    coarsened: list[tuple[int, int]] = []
    for child, wish in enumerate(wished):
        kept = fit_parents(
            domain,
            child,
            [WishedParent.of(parent, first, second, needed.get((child, parent))) for parent in wish],
            n_records,
            possible,
        )
        parents.append(tuple(parent.attribute for parent in kept))
        chosen.append(tuple(parent.bucket for parent in kept))
        dropped += [(child, parent) for parent in wish if parent not in parents[-1]]
        coarsened += [(child, parent.attribute) for parent in kept if parent.at > 0]
    return PublicStructure(
        structure=Structure(
            domain=tuple(domain), parents=tuple(parents), buckets=tuple(chosen), possible=tuple(possible)
        ),
        dropped=tuple(dropped),
        coarsened=tuple(coarsened),
    )


class WishedParent(NamedTuple):
    """A parent, the buckets by which it may enter a table, from the finest on, and which of them it has."""

    attribute: int
    forms: tuple[Ints | None, ...]
    is_required: bool
    at: int = 0

    @property
    def bucket(self) -> Ints | None:
        """The buckets by which it enters; None for its values."""
        return self.forms[self.at]

    @classmethod
    def of(
        cls,
        attribute: int,
        buckets: Mapping[int, Ints],
        coarser: Mapping[int, Ints],
        groups: Ints | None,
    ) -> "WishedParent":
        """A parent with its usual forms; one whose `groups` the child must tell apart is required."""
        usual = [buckets.get(attribute), *([coarser[attribute]] if attribute in coarser else [])]
        if groups is None:
            return cls(attribute, tuple(usual), is_required=False)
        return cls(attribute, (*(_refine(form, groups) for form in usual), groups), is_required=True)


def _refine(buckets: Ints | None, groups: Ints) -> Ints | None:
    """Buckets that also tell groups apart; None, which is every value by itself, does so anyway."""
    if buckets is None:
        return None
    return np.unique(np.stack((buckets, groups)), axis=1, return_inverse=True)[1].ravel().astype(np.int64)


def fit_parents(
    domain: Sequence[int],
    child: int,
    wished: Sequence[WishedParent],
    n_records: int,
    possible: Sequence[Possible],
) -> list[WishedParent]:
    """As many of the wished parents, as finely, as so many records can fill; those that are required in any case."""

    def n_cells(kept: Sequence[WishedParent]) -> int:
        return count_cells(domain, child, [(parent.attribute, parent.bucket) for parent in kept], possible)

    kept = list(wished)
    cells = n_cells(kept)
    while cells * RECORDS_PER_CELL > n_records:
        smaller = next(((tried, n) for tried in _smaller(kept) if (n := n_cells(tried)) < cells), None)
        if smaller is None:
            break
        kept, cells = smaller
    return kept


def _smaller(kept: list[WishedParent]) -> Iterator[list[WishedParent]]:
    """The parents with the last one coarser, or without it; those before it if it is required."""
    for place in range(len(kept) - 1, -1, -1):
        parent = kept[place]
        for at in range(parent.at + 1, len(parent.forms)):
            yield [*kept[:place], parent._replace(at=at), *kept[place + 1 :]]
        if not parent.is_required:
            yield [*kept[:place], *kept[place + 1 :]]
            return


def count_cells(
    domain: Sequence[int],
    child: int,
    kept: Sequence[tuple[int, Ints | None]],
    possible: Sequence[Possible],
) -> int:
    """Cells of one table; all of them if there are too many to rule out any."""
    sizes = [domain[p] if bucket is None else int(bucket.max()) + 1 for p, bucket in kept]
    cells = math.prod(sizes) * domain[child]
    if math.prod(sizes) > _MOST_RULED or not any(rule.attribute == child for rule in possible):
        return cells
    empty: tuple[tuple[int, ...], ...] = tuple(() for _ in domain)
    own = tuple(p for p, _ in kept)
    alone = Structure(
        domain=tuple(domain),
        parents=(*empty[:child], own, *empty[child + 1 :]),
        buckets=(*((),) * child, tuple(b for _, b in kept), *((),) * (len(domain) - child - 1)),
        possible=tuple(possible),
    )
    return alone.n_cells(child)
