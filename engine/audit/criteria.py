"""k-anonymity, l-diversity and t-closeness: what groups reach, and rules that the leaves of a tree must meet.

The functions take the counts of sensitive values in groups, a table of groups times values, and return what every
group reaches.

Source: M06 (Machanavajjhala, Gehrke, Kifer and Venkitasubramaniam 2006) for l-diversity, L07 (Li, Li and
Venkatasubramanian 2007) for t-closeness; C13, section I.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from engine.arrays import FloatArray, as_amounts
from engine.audit.kernels.mondrian import DISTINCT, ENTROPY, FREQUENCY, NO_DIVERSITY, RECURSIVE, Rule
from engine.errors import ParameterError

__all__ = [
    "Distance",
    "Diversity",
    "SplitRule",
    "k_anonymity",
    "l_distinct",
    "l_entropy",
    "l_frequency",
    "recursive_c",
    "recursive_l",
    "t_closeness",
]

Diversity = Literal["distinct", "entropy", "frequency", "recursive"]
Distance = Literal["equal", "ordered"]

_KINDS = {"distinct": DISTINCT, "entropy": ENTROPY, "frequency": FREQUENCY, "recursive": RECURSIVE}


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitRule:
    """When a tree may split a group.

    Attributes
    ----------
    k : int
        Both halves have at least k people.
    diversity : {"distinct", "entropy", "frequency", "recursive"}, optional
        Both halves have that kind of l-diversity: at least l values; an entropy whose exponential is at least l; no
        value with more than a share of 1/l; or a largest count below c times the sum of all but the l - 1 largest.
    least : float
        The l of l-diversity. A whole number for "distinct" and "recursive".
    c : float
        For "recursive".
    t : float, optional
        Greatest earth mover's distance from the whole table, 0 to 1.
    distance : {"equal", "ordered"}
        Between values: 1 between any two, or proportional to the difference of their codes.
    t_rule : {"children", "node"}
        What must be within t: both halves, or the group before it is split. The leaves of "node" may be farther than t
        from the table, and must not be called t-close; it is C13's rule, for replications.

    Raises
    ------
    ParameterError
        A parameter is out of its range.
    """

    k: int = 1
    diversity: Diversity | None = None
    least: float = 1.0
    c: float = 1.0
    t: float | None = None
    distance: Distance = "equal"
    t_rule: Literal["children", "node"] = "children"

    def __post_init__(self) -> None:
        if self.k < 1 or self.k != int(self.k):
            raise ParameterError(f"k = {self.k}: give a whole number of at least 1")
        if self.diversity is not None:
            _require_choice("diversity", self.diversity, get_args(Diversity))
        if not 1 <= self.least < np.inf:
            raise ParameterError(f"l = {self.least}: give a number of at least 1")
        if self.diversity in {"distinct", "recursive"} and self.least != int(self.least):
            raise ParameterError(f"l = {self.least}: {self.diversity} l-diversity takes a whole number")
        if not 0 < self.c < np.inf:
            raise ParameterError(f"c = {self.c}: give a number above 0")
        if self.t is not None and not 0 <= self.t <= 1:
            raise ParameterError(f"t = {self.t}: give a distance from 0 to 1")
        _require_choice("distance", self.distance, get_args(Distance))
        _require_choice("t_rule", self.t_rule, ("children", "node"))

    def for_values(self, n_values: int) -> Rule:
        """The rule for a sensitive attribute with ``n_values`` values, as the kernels take it.

        Raises
        ------
        ParameterError
            l is above the number of values.
        """
        if self.diversity is not None and self.least > n_values:
            raise ParameterError(
                f"l = {self.least:g}: the sensitive attribute has {n_values} values, so no group can be that diverse; "
                f"give an l of at most {n_values}"
            )
        return Rule(
            k=int(self.k),
            diversity=NO_DIVERSITY if self.diversity is None else _KINDS[self.diversity],
            least=float(self.least),
            c=float(self.c),
            t=-1.0 if self.t is None else float(self.t),
            ordered=self.distance == "ordered",
            of_children=self.t_rule == "children",
        )


def k_anonymity(histogram: npt.ArrayLike) -> int:
    """People in the smallest group."""
    return int(_groups(histogram).sum(axis=1).min())


def l_distinct(histogram: npt.ArrayLike) -> int:
    """Least number of values in a group."""
    return int((_groups(histogram) > 0).sum(axis=1).min())


def l_entropy(histogram: npt.ArrayLike) -> float:
    """Least exponential of a group's entropy."""
    share = _shares(histogram)
    logs = np.log(np.where(share > 0, share, 1.0))
    return float(np.exp(-(share * logs).sum(axis=1)).min())


def l_frequency(histogram: npt.ArrayLike) -> float:
    """Least inverse of the share of a group's most frequent value."""
    return float((1 / _shares(histogram).max(axis=1)).min())


def recursive_c(histogram: npt.ArrayLike, least: int) -> float:
    """The c above which every group has recursive (c, l)-diversity for a least l; infinite below l values."""
    falling = np.sort(_groups(histogram), axis=1)[:, ::-1]
    with np.errstate(divide="ignore"):
        return float((falling[:, 0] / falling[:, least - 1 :].sum(axis=1)).max())


def recursive_l(histogram: npt.ArrayLike, c: float = 1.0) -> int:
    """The largest l for which every group has recursive (c, l)-diversity, at least 1."""
    n_values = _groups(histogram).shape[1]
    return max((least for least in range(1, n_values + 1) if recursive_c(histogram, least) < c), default=1)


def t_closeness(histogram: npt.ArrayLike, whole: npt.ArrayLike, distance: Distance) -> float:
    """Greatest earth mover's distance between a group and the counts of the whole table."""
    gap = _shares(histogram) - _shares(np.atleast_2d(np.asarray(whole, dtype=np.float64)))
    if distance == "equal":
        return float(np.abs(gap).sum(axis=1).max() / 2)
    return float(np.abs(gap.cumsum(axis=1)).sum(axis=1).max() / max(gap.shape[1] - 1, 1))


def _groups(histogram: npt.ArrayLike) -> FloatArray:
    groups = as_amounts("histogram", histogram, ndim=2)
    if not groups.size or not groups.any(axis=1).all():
        raise ParameterError("histogram has a group without people: leave it out")
    return groups


def _shares(histogram: npt.ArrayLike) -> FloatArray:
    groups = _groups(histogram)
    shares: FloatArray = groups / groups.sum(axis=1, keepdims=True)
    return shares


def _require_choice(name: str, value: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise ParameterError(f"{name} = {value!r}: give one of {', '.join(allowed)}")
