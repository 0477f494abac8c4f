"""Draws of the exponential mechanism with laws that a test chooses."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import pytest

from engine.mechanisms import exponential as mechanism
from engine.mechanisms.prices import TableLaw


def draw_with(patch: pytest.MonkeyPatch, find: Callable[[Fraction, int, int], TableLaw]) -> None:
    """Draw tables of k points and n workers with the law ``find(epsilon, k, n)``.

    The function that keeps laws is replaced as a whole: laws that it keeps from other tests would be drawn otherwise.
    """
    patch.setattr(
        mechanism,
        "_laws_drawn",
        lambda epsilon: lambda points, workers: mechanism._reduce_theta(find(epsilon, points, workers)),
    )
