"""What each part of a run costs a worker, and how candidates from seeds are tested."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from engine.records.acceptance import Acceptance

__all__ = ["Amounts", "Part", "SeedPlan"]


class Amounts(NamedTuple):
    """Epsilon and delta of one reading."""

    epsilon: Fraction
    delta: Fraction


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """What a run does with one subset of the workers, and what that costs a worker in it.

    Attributes
    ----------
    name : {"seeds", "parameters", "structure"}
    share : Fraction
        Chance that a worker is in the subset.
    add_remove, replace_one : Amounts
    """

    name: str
    share: Fraction
    add_remove: Amounts
    replace_one: Amounts


@dataclass(frozen=True, slots=True, kw_only=True)
class SeedPlan:
    """How candidates are made from seeds and tested.

    Attributes
    ----------
    kept : int
        How many attributes are kept.
    acceptance : Acceptance
    similarity : Fraction
    n_min, n_tries : int
    rdp_order : float or None
        Order of the Rényi divergence that gives epsilon; None for the paper's accountant.
    """

    kept: int
    acceptance: Acceptance
    similarity: Fraction
    n_min: int
    n_tries: int
    rdp_order: float | None
