"""Composition of many private steps: one after the other, or advanced.

Source: P17 Theorems 2 and 3.
"""

import math
from fractions import Fraction

from engine.errors import ParameterError

__all__ = ["advanced_composition", "most_epsilon_each"]

_BINARY_STEPS = 60


def advanced_composition(epsilon: float, delta: float, n_steps: int, slack: float) -> tuple[float, float]:
    """Epsilon and delta of many steps with the same epsilon and delta each, by advanced composition.

    Parameters
    ----------
    epsilon, delta : float
        Promise of each step.
    n_steps : int
    slack : float
        Further delta, above 0 (delta'' of the paper).

    Raises
    ------
    ParameterError
        The slack is not between 0 and 1.
    """
    if not 0 < slack < 1:
        raise ParameterError(f"slack of advanced composition is {slack:g}: give a number between 0 and 1")
    spread = epsilon * math.sqrt(2 * n_steps * math.log(1 / slack))
    return spread + n_steps * epsilon * math.expm1(epsilon), n_steps * delta + slack


def most_epsilon_each(total: Fraction, n_steps: int, slack: float) -> Fraction:
    """The largest epsilon of each of many pure steps that compose to ``total``, by either kind, rounded down."""
    step_epsilon = total / n_steps
    low, high = float(step_epsilon), float(total)
    if slack <= 0:
        return step_epsilon
    for _ in range(_BINARY_STEPS):
        middle = (low + high) / 2
        if advanced_composition(middle, 0, n_steps, slack)[0] <= float(total) * (1 - 1e-9):
            low = middle
        else:
            high = middle
    return max(step_epsilon, Fraction(math.floor(low * 10**6), 10**6))
