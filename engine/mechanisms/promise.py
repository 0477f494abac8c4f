"""The promise of a mechanism, for the certificate: exact numbers, the rule behind them, and its preconditions."""

from dataclasses import dataclass, field
from fractions import Fraction

from engine.errors import ParameterError
from engine.parameters import LARGEST_EPSILON, Number, exact_fraction

__all__ = ["LEAST_NOISE_EPSILON", "NEIGHBORS", "MechanismPromise", "noise_epsilon"]

LEAST_NOISE_EPSILON = Fraction(1, 1024)
"""Below this, noise of thousands of workers on every point would leave nothing worth publishing."""

NEIGHBORS = (
    "neighboring tables: one worker moves between two support points of one destination and segment, n stays",
    "one worker is in one destination and segment, so the promise of a release is that of its worst synthesizer",
    "support points and prior weights are public; the synthetic total m is public",
)
"""Preconditions that every mechanism here shares."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MechanismPromise:
    """The promise of one mechanism for each of its synthesizers, and so for the release.

    Attributes
    ----------
    mechanism : str
        Its name.
    epsilon, delta : Fraction or None
        (epsilon, delta)-differential privacy; both None if nothing is promised.
    rule : str
        The rule from which the numbers follow.
    preconditions : tuple of str
        Assumptions of the proof.
    holds_as_probabilistic : bool
        Whether the same numbers also hold as probabilistic differential privacy (P08 Definition 6).
    numbers : dict of str to int or Fraction
        Numbers with which the promise can be checked: noise, thresholds, bounds.

    Raises
    ------
    ParameterError
        Only one of epsilon and delta is given, or one is outside its range.
    """

    mechanism: str
    epsilon: Fraction | None
    delta: Fraction | None
    rule: str
    preconditions: tuple[str, ...] = ()
    holds_as_probabilistic: bool = False
    numbers: dict[str, int | Fraction] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if (self.epsilon is None) != (self.delta is None):
            raise ParameterError(f"epsilon is {self.epsilon} and delta {self.delta}: give both or neither")
        if self.epsilon is not None and not 0 < self.epsilon <= LARGEST_EPSILON:
            raise ParameterError(
                f"epsilon is {float(self.epsilon):g}; it must lie above 0 and at most at {LARGEST_EPSILON}"
            )
        if self.delta is not None and not 0 <= self.delta < 1:
            raise ParameterError(f"delta is {float(self.delta):g}; it must be at least 0 and below 1")

    @property
    def is_private(self) -> bool:
        """Whether the mechanism promises anything."""
        return self.epsilon is not None


def noise_epsilon(epsilon: Number) -> Fraction:
    """Epsilon exactly, in the range that noise can be drawn for.

    Raises
    ------
    ParameterError
        Below 1/1024 or above 100.
    """
    exact = exact_fraction(epsilon, "epsilon")
    if not LEAST_NOISE_EPSILON <= exact <= LARGEST_EPSILON:
        raise ParameterError(
            f"epsilon is {float(exact):g}; noise is drawn for 1/1024 to {LARGEST_EPSILON}: less would bury every "
            "count, more would promise nothing"
        )
    return exact
