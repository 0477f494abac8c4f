"""Classes of colored areas, chosen for each answer by a declared rule.

The rule looks at the areas that together have 95% of the workers, so that hundreds of far areas with a few workers each
do not decide. Round limits in logarithmic steps are easiest to read, and keep counts of 1–2 and 3–9, which call for
caution, apart. If they would put more than 40% of those areas into one class, the map would have one color; then the
limits are quantiles, rounded to two digits, so that about as many of them have each color, with a class below for the
other areas. A legend says which.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, Literal

import numpy
import numpy.typing as npt

from mapapp.show.content import palette
from mapapp.show.content.labels import class_text

Rule = Literal["round", "quantiles"]
RULE_WORDS: Final[dict[Rule, str]] = {
    "round": "Round limits",
    "quantiles": "About as many areas in each color",
}
_FULLEST: Final = 0.4  # share of the areas in one class
_DECIDING: Final = 0.95  # share of the workers in the areas that decide
_FEWEST_AREAS: Final = 12  # fewer areas have no meaningful quantiles
_STEPS: Final = ((1, 2, 5), (1, 3), (1,))

Numbers = npt.NDArray[numpy.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class AreaClasses:
    """Classes of areas by value.

    Attributes
    ----------
    of : intp[areas]
        Class of each area: 0 for no workers, then 1, 2, … from few to many.
    texts : tuple of str
        What a legend says for each class from 0 on.
    limits : tuple of float
        Lower limit of each class from 1 on.
    sizes : tuple of int
        Number of areas in each class from 0 on.
    rule : {"round", "quantiles"}
    """

    of: npt.NDArray[numpy.intp]
    texts: tuple[str, ...]
    limits: tuple[float, ...]
    sizes: tuple[int, ...]
    rule: Rule

    @property
    def n_classes(self) -> int:
        """Number of classes without class 0."""
        return len(self.texts) - 1


def area_classes(
    values: npt.ArrayLike, workers: npt.ArrayLike, *, whole: bool, unit: str = ""
) -> AreaClasses:
    """Return the classes of some areas.

    Parameters
    ----------
    values : float[areas]
        Not negative; 0 for areas without workers.
    workers : float[areas]
        Workers of each area, which decide how much it counts for the choice of limits.
    whole : bool
        Whether the values are counts.
    unit : str
        Follows each number in the texts, such as "%".
    """
    numbers = numpy.asarray(values, dtype=numpy.float64)
    positive = numpy.sort(numbers[numbers > 0])
    deciding = _select_deciding_values(numbers, numpy.asarray(workers, dtype=numpy.float64))
    lower, rule = _round_limits(positive, deciding, whole=whole), "round"
    if len(deciding) >= _FEWEST_AREAS and _count_fullest_class(deciding, lower) > _FULLEST * len(deciding):
        quantiles = _quantiles(positive[0], deciding, whole=whole)
        if _count_fullest_class(deciding, quantiles) < _count_fullest_class(deciding, lower):
            lower, rule = quantiles, "quantiles"
    of = numpy.searchsorted(lower, numbers, side="right")
    of = numpy.where(numbers > 0, numpy.maximum(of, 1), 0)
    return AreaClasses(
        of=of,
        limits=tuple(lower),
        texts=("none", *_texts(lower, whole=whole, unit=unit)),
        sizes=tuple(numpy.bincount(of, minlength=len(lower) + 1).tolist()),
        rule="quantiles" if rule == "quantiles" else "round",
    )


def _select_deciding_values(values: Numbers, workers: Numbers) -> Numbers:
    """Return the values, ascending, of the areas that together have 95% of the workers."""
    order = numpy.argsort(-workers, kind="stable")
    before = numpy.cumsum(workers[order]) - workers[order]
    kept = values[order[before < _DECIDING * workers.sum()]]
    return numpy.sort(kept[kept > 0])


def _count_fullest_class(positive: Numbers, lower: Sequence[float]) -> int:
    """Return the number of areas in the fullest class."""
    return int(numpy.bincount(numpy.searchsorted(lower, positive, side="right")).max(initial=0))


def _round_limits(positive: Numbers, deciding: Numbers, *, whole: bool) -> list[float]:
    """Return lower limits in logarithmic steps, of which the fullest class has the fewest areas."""
    if not len(positive):
        return [1.0]
    if whole:
        return [float(low) for low, _ in palette.count_classes(int(positive[0]), int(positive[-1]))]
    least, most = float(deciding[0]), float(positive[-1])
    powers = range(math.floor(math.log10(least)), math.floor(math.log10(most)) + 1)
    choices = []
    for factors in _STEPS:
        limits = [factor * 10.0**power for power in powers for factor in factors]
        reached = [limit for limit in limits if least < limit <= most]
        choices.append([float(positive[0]), *reached[1 - palette.MOST_CLASSES :]])
    return min(choices, key=lambda lower: _count_fullest_class(deciding, lower))


def _quantiles(least: float, deciding: Numbers, *, whole: bool) -> list[float]:
    """Return the least value, and limits between about equally many deciding areas, rounded down to two digits."""
    n_classes = palette.MOST_CLASSES - 1  # one more is for the areas that do not decide
    shares = numpy.arange(n_classes) / n_classes
    limits = numpy.quantile(deciding, shares, method="lower")
    scale = 10.0 ** (numpy.floor(numpy.log10(limits)) - 1)
    rounded = numpy.floor(limits / scale + 1e-9) * scale
    if whole:
        rounded = numpy.maximum(numpy.round(rounded), 1)
    return [float(limit) for limit in numpy.unique([min(least, rounded[0]), *rounded])]


def _texts(lower: Sequence[float], *, whole: bool, unit: str) -> list[str]:
    if whole:
        highs = [*(int(limit) - 1 for limit in lower[1:]), None]
        return [class_text(int(low), high) for low, high in zip(lower, highs, strict=True)]
    if len(lower) == 1:
        return [f"{_short(lower[0])}{unit} or more"]
    between = [f"{_short(low)}–{_short(high)}{unit}" for low, high in pairwise(lower[1:])]
    return [f"under {_short(lower[1])}{unit}", *between, f"{_short(lower[-1])}{unit} or more"]


def _short(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 else f"{value:.2g}"
