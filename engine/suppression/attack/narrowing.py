"""Ranges of suppressed cells from one row or column at a time, with every step, as a reader would find them by hand.

Each equation says what its suppressed cells add up to. So a cell is at most that sum less the least the others can be,
and at least that sum less the most the others can be. Steps are repeated until none narrows a range. The ranges always
contain the exact ones (:mod:`engine.suppression.attack.ranges`), and often equal them.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from engine.suppression.tables_given import ContradictionError, Named, Sums

__all__ = ["Narrowed", "Step", "narrow", "narrow_ranges"]

_SWEEPS: Final = 100


class Step(NamedTuple):
    """One use of a row or column.

    Attributes
    ----------
    star, line : int
        The suppressed cell, and the equation that was used.
    is_low : bool
        Whether the cell's lower end was moved; otherwise its upper end.
    bound : int
        The new end.
    rest : int
        What the suppressed cells of the equation add up to, totals counted as negative.
    others : int
        The most or the least that the other suppressed cells of the equation add to it, whichever gives the bound.
    """

    star: int
    line: int
    is_low: bool
    bound: int
    rest: int
    others: int


class Narrowed(NamedTuple):
    """Ranges, and how they were found.

    Attributes
    ----------
    low : list of int
    high : list of (int or None)
        None without a limit.
    steps : list of Step
        In the order in which they were taken.
    """

    low: list[int]
    high: list[int | None]
    steps: list[Step]


def narrow(table: Named, sums: Sums) -> Narrowed:
    """Narrow the ranges of all suppressed cells by one row, column, or link at a time.

    Raises
    ------
    ContradictionError
        A row or column leaves no value for one of its cells.
    """
    narrowed = Narrowed([star.low for star in sums.stars], [star.high for star in sums.stars], [])
    members = sums.members()
    lines = [line for line, stars in enumerate(members) if stars]
    for _ in range(_SWEEPS):
        before = len(narrowed.steps)
        for line in lines:
            _use(table, sums, line, members[line], narrowed)
        if len(narrowed.steps) == before:
            break
    return narrowed


def narrow_ranges(sums: Sums, low: list[int], high: list[int | None]) -> Sums:
    """Return the same equations with narrower ranges of the cells."""
    stars = [
        star._replace(low=low[position], high=high[position]) for position, star in enumerate(sums.stars)
    ]
    return Sums(tuple(stars), sums.rest)


def _use(table: Named, sums: Sums, line: int, members: list[int], narrowed: Narrowed) -> None:
    """Use one equation for each of its cells: sign times value is the rest less what the others contribute."""
    rest = sums.rest[line]
    signs = [dict(sums.stars[position].lines)[line] for position in members]
    ends = [_contribution(narrowed, position, sign) for position, sign in zip(members, signs, strict=True)]
    least, most = _Total([low for low, _ in ends]), _Total([high for _, high in ends])
    for position, sign, (own_least, own_most) in zip(members, signs, ends, strict=True):
        fewest, largest = least.subtract(own_least), most.subtract(own_most)
        low_by, high_by = (largest, fewest) if sign > 0 else (fewest, largest)
        if low_by is not None:
            _raise_low(narrowed, Step(position, line, True, sign * (rest - low_by), rest, low_by))
        if high_by is not None:
            _lower_high(narrowed, Step(position, line, False, sign * (rest - high_by), rest, high_by))
        low, high = narrowed.low[position], narrowed.high[position]
        if high is not None and low > high:
            star = sums.stars[position]
            raise ContradictionError(
                f"{table.line_name(line)} does not add up, whatever its suppressed cells are: "
                f"{table.star_name(star)} would have to be at least {low:,} and at most {high:,}"
            )


class _Total:
    """A sum of numbers of which some have no limit (None)."""

    def __init__(self, numbers: list[int | None]) -> None:
        self._sum = sum(number for number in numbers if number is not None)
        self._n_unlimited = numbers.count(None)

    def subtract(self, number: int | None) -> int | None:
        """Return the sum of the others; None if one of them has no limit."""
        if self._n_unlimited > (number is None):
            return None
        return self._sum - (number or 0)


def _contribution(narrowed: Narrowed, position: int, sign: int) -> tuple[int | None, int | None]:
    """Return the least and the most that a cell adds to an equation."""
    low, high = narrowed.low[position], narrowed.high[position]
    return (low, high) if sign > 0 else (None if high is None else -high, -low)


def _raise_low(narrowed: Narrowed, step: Step) -> None:
    if step.bound > narrowed.low[step.star]:
        narrowed.low[step.star] = step.bound
        narrowed.steps.append(step)


def _lower_high(narrowed: Narrowed, step: Step) -> None:
    high = narrowed.high[step.star]
    if high is None or step.bound < high:
        narrowed.high[step.star] = step.bound
        narrowed.steps.append(step)
