"""Whether stated errors of classes of counts are too small, and whether that can be told from chance.

A stated error is right if its square is what the squared error is on average. Even then the errors of a class come out
larger than stated about half of the time, and much larger if the class has few counts. If errors are independent and
about normal, the sum of their squares has a chi-square law. The n counts of a class count by their weights w, the
shares of their stated squares in the sum, and the part rho of the mean squared error that is the same in every draw
counts once, the rest once in each of D draws. That makes about

    degrees of freedom   1 / ((rho^2 + (1 - rho^2)/D) sum of w^2),

or n D for equal weights and no such part. Errors of one class that rise and fall together make fewer, so chances are
stated too small rather than too large. Rho is measured in further keyed draws.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.stats import chi2

Floats = npt.NDArray[np.float64]

CLASSES: Final = ((1, 2), (3, 9), (10, 49), (50, 99), (100, 499), (500, 10**9))
LEAST: Final = 0.8
"""No class should be stated below this part of its error."""
CHANCE: Final = 0.05
"""What a right error would do more often than this may be chance."""
HEAD: Final = (
    "| epsilon | area | workplaces | true count | counts | stated | actual | stated / actual | mean error | degrees | "
    "right as low | right below 0.8 | |\n|---|---|---|---|---|---|---|---|---|---|---|---|---|"
)


class Asked(NamedTuple):
    """Counts of one kind, such as those between tracts from small workplaces.

    Attributes
    ----------
    true : float64[counts]
    stated, actual : float64[draws, counts]
        Stated and actual errors in the draws that were measured.
    law : float64[more draws, counts]
        Actual errors in further draws.
    """

    true: Floats
    stated: Floats
    actual: Floats
    law: Floats


class ClassErrors(NamedTuple):
    """Root mean squares of a class of counts.

    Attributes
    ----------
    name : str
    n_counts : int
    stated, actual : float
        In the draws that were measured.
    mean : float
        Actual errors in the further draws.
    degrees : float
        Degrees of freedom of the chi-square law.
    """

    name: str
    n_counts: int
    stated: float
    actual: float
    mean: float
    degrees: float

    @property
    def ratio(self) -> float:
        """Stated error as a multiple of the actual one; infinite without any error."""
        return self.stated / self.actual if self.actual else np.inf

    @property
    def is_met(self) -> bool:
        """Whether no less is stated than occurred."""
        return self.stated >= self.actual

    @property
    def as_low(self) -> float:
        """Chance that a right error is as small beside the actual one as the stated error, or smaller."""
        return self.chance(self.ratio)

    def chance(self, ratio: float) -> float:
        """Chance that a right error is at most this multiple of the actual one."""
        return float(chi2.sf(self.degrees / ratio**2, self.degrees)) if ratio else 0.0

    @property
    def is_telling(self) -> bool:
        """Whether the class has enough counts: a right error would hardly ever be below 0.8 of the actual one."""
        return self.chance(LEAST) < CHANCE

    @property
    def verdict(self) -> str:
        """Whether the stated error is too small."""
        if self.is_met:
            return "met"
        return "understated" if self.as_low < CHANCE else "may be chance"


class Tally(NamedTuple):
    """How many classes there are, how many are met, and the least ratio."""

    total: int
    met: int
    least: float

    @classmethod
    def of(cls, rows: list[ClassErrors]) -> Tally:
        """Count some classes."""
        return cls(
            len(rows), sum(row.is_met for row in rows), min((row.ratio for row in rows), default=np.inf)
        )

    def __str__(self) -> str:
        return f"{self.met} of {self.total}, least ratio {self.least:.2f}"


def class_errors(asked: Asked) -> list[ClassErrors]:
    """Return the errors of every class that has counts."""
    found = []
    for low, high in CLASSES:
        chosen = (asked.true >= low) & (asked.true <= high)
        if not chosen.any():
            continue
        stated, actual, law = (each[:, chosen] for each in asked[1:])
        found.append(
            ClassErrors(
                f"{low}-{high}" if high < 10**9 else f"{low} or more",
                int(chosen.sum()),
                float(np.sqrt((stated**2).mean())),
                float(np.sqrt((actual**2).mean())),
                float(np.sqrt((law**2).mean())),
                degrees_of_freedom((stated**2).mean(axis=0), len(actual), lasting_part(law)),
            )
        )
    return found


def lasting_part(law: Floats) -> float:
    """Return the part of the mean squared error that is the same in every draw, from errors float64[draws, counts]."""
    chance = law.var(axis=0, ddof=1).mean()
    whole = (law**2).mean()
    return float(np.clip(1.0 - chance / whole, 0.0, 1.0)) if whole else 0.0


def degrees_of_freedom(squares: Floats, n_draws: int, lasting: float) -> float:
    """Return the degrees of freedom of the sum of squared errors, if they are `squares` on average.

    Parameters
    ----------
    squares : float64[counts]
        Stated squared errors.
    n_draws : int
    lasting : float
        Part of them that is the same in every draw.
    """
    weight = squares / max(squares.sum(), 1e-300)
    once = lasting**2 + (1.0 - lasting**2) / n_draws
    return float(1.0 / max(once * (weight**2).sum(), 1e-300))


def report(epsilon: str, found: dict[tuple[str, str], Asked]) -> list[ClassErrors]:
    """Print a row for each class, and return all."""
    every = []
    for (who, area), asked in found.items():
        for one in class_errors(asked):
            ratio = f"{one.ratio:.2f}" if np.isfinite(one.ratio) else "no error"
            sizes = f"{one.n_counts} | {one.stated:.2f} | {one.actual:.2f} | {ratio} | {one.mean:.2f}"
            chances = f"{one.degrees:.3g} | {one.as_low:.2%} | {one.chance(LEAST):.2%}"
            print(
                f"| {epsilon} | {area} | {who} | {one.name} | {sizes} | {chances} | {one.verdict} |",
                flush=True,
            )
            every.append(one)
    return every


def summary(rows: list[ClassErrors]) -> str:
    """Return how many classes are met, of all and of those with enough counts, and how many are surely understated."""
    telling = [row for row in rows if row.is_telling]
    surely = [row for row in rows if row.verdict == "understated"]
    return (
        f"Stated at least the actual error: {Tally.of(rows)}.\n"
        f"Of classes with enough counts: {Tally.of(telling)}.\n"
        f"Understated, and not by chance: {len(surely)} of {len(rows)}, least ratio {Tally.of(surely).least:.2f}."
    )


def rows_of(parts: Sequence[npt.ArrayLike]) -> Floats:
    """Return parts of equal length as rows."""
    return np.asarray(np.stack([np.asarray(part) for part in parts]), dtype=np.float64)
