"""Combinations of values that never occur, as structural zeros of the tables of a model.

A combination is ruled out in the table of its attribute that is drawn last; its other attributes are parents there.
Where that leaves no value at all, the parents' own combination never occurs either, and is ruled out one table
earlier. So the model gives every forbidden record the chance 0, and nothing has to be drawn twice: every candidate
that is tried counts (docs/theory/synthetic-records.md, "Combinations that never occur").
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from engine.errors import ParameterError
from engine.records.structure import Possible

__all__ = ["StructuralZeros", "structural_zeros"]

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

_MOST_COMBINATIONS = 1 << 25
_Allowed = tuple[tuple[int, ...], Bools]
"""Attributes in rising order, and which of their combinations may occur: bool[their sizes ...]."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StructuralZeros:
    """What a model needs to give forbidden combinations the chance 0.

    Attributes
    ----------
    possible : tuple of Possible
        One for each table that has such zeros.
    groups : mapping of (int, int) to int64[size of the parent]
        Children and parents that every structure needs. The zeros tell the parent's values apart by these groups only,
        so a table with little room may take the parent by them.
    """

    possible: tuple[Possible, ...] = ()
    groups: Mapping[tuple[int, int], Ints] = field(default_factory=dict)


def structural_zeros(domain: Sequence[int], never: Sequence[Mapping[int, Sequence[int]]]) -> StructuralZeros:
    """Turn combinations that never occur into structural zeros.

    Parameters
    ----------
    domain : sequence of int
        Number of values of each attribute, in the order in which they are drawn.
    never : sequence of mapping of int to sequence of int
        No record has, in all attributes of one of these, one of the listed values.

    Raises
    ------
    ParameterError
        An attribute or a value does not exist, no record at all is left, or one table would have to tell apart more
        than 2^25 combinations.
    """
    by_child: dict[int, list[_Allowed]] = {}
    for combination in never:
        scope, allowed = _allowed(domain, combination)
        by_child.setdefault(scope[-1], []).append((scope, allowed))
    possible: list[Possible] = []
    groups: dict[tuple[int, int], Ints] = {}
    for child in range(len(domain) - 1, -1, -1):
        if child not in by_child:
            continue
        given, table = _join(domain, child, by_child[child])
        without_value: Bools = np.logical_not(np.asarray(table.any(axis=-1)))
        if without_value.any():
            if not given:
                raise ParameterError(f"attribute {child} has no value left: forbid fewer combinations")
            by_child.setdefault(given[-1], []).append((given, np.logical_not(without_value)))
            table = table | without_value[..., None]  # nobody gets here; its cells only need to be drawable
        possible.append(Possible(attribute=child, given=given, table=table))
        groups |= {(child, parent): _alike(table, axis) for axis, parent in enumerate(given)}
    return StructuralZeros(possible=tuple(reversed(possible)), groups=groups)


def _allowed(domain: Sequence[int], combination: Mapping[int, Sequence[int]]) -> _Allowed:
    scope = tuple(sorted(combination))
    if not scope or not 0 <= scope[0] <= scope[-1] < len(domain):
        raise ParameterError(
            f"a combination that never occurs names attributes {scope}: give some of 0 to {len(domain) - 1}"
        )
    listed = [np.asarray(combination[attribute], dtype=np.int64) for attribute in scope]
    for attribute, values in zip(scope, listed, strict=True):
        if not values.size or values.min() < 0 or values.max() >= domain[attribute]:
            raise ParameterError(
                f"a combination that never occurs lists values of attribute {attribute}: give some of 0 to "
                f"{domain[attribute] - 1}"
            )
    _refuse_many(domain, scope)
    allowed = np.ones([domain[attribute] for attribute in scope], dtype=np.bool_)
    allowed[np.ix_(*listed)] = False
    return scope, allowed


def _join(domain: Sequence[int], child: int, rules: Sequence[_Allowed]) -> tuple[tuple[int, ...], Bools]:
    """What all rules of a child allow together: the other attributes that they name, and the table over all."""
    scope = tuple(sorted({attribute for named, _ in rules for attribute in named}))
    _refuse_many(domain, scope)
    table = np.ones([domain[attribute] for attribute in scope], dtype=np.bool_)
    for named, allowed in rules:
        shape = [domain[attribute] if attribute in named else 1 for attribute in scope]
        table &= allowed.reshape(shape)
    return scope[:-1], table


def _refuse_many(domain: Sequence[int], scope: tuple[int, ...]) -> None:
    if math.prod(domain[attribute] for attribute in scope) > _MOST_COMBINATIONS:
        raise ParameterError(
            f"combinations that never occur tie attributes {scope} together, with more than 2^25 combinations: name "
            "fewer attributes, or attributes with fewer values"
        )


def _alike(table: Bools, axis: int) -> Ints:
    """Group of each value of one axis: values with the same zeros are in one."""
    slices = np.moveaxis(table, axis, 0).reshape(table.shape[axis], -1)
    return np.unique(slices, axis=0, return_inverse=True)[1].ravel().astype(np.int64)
