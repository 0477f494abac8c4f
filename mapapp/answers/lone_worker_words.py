"""What a lone worker risks, and what epsilon means in odds, in plain sentences."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final

from geodata.json_objects import JsonMapping

__all__ = ["lone_worker_sentence", "odds_sentence", "stay_text"]

_LARGEST_EXPONENT: Final = 700.0
_EXAMPLES: Final = {
    "apart": "if they all live in different areas, each of them",
    "alone in a unit": "a worker with whom no other was drawn",
}


def stay_text(facts: object) -> str | None:
    """Return the typical chance to keep the true home area, with least and greatest; None if it is not stated.

    Parameters
    ----------
    facts : object
        `lone_worker` of a certificate, which comes from a file and may hold anything.
    """
    chances = _chances(facts)
    if chances is None:
        return None
    least, typical, greatest = (_percent(chances[name]) for name in ("least", "typical", "greatest"))
    bound = "at most " if isinstance(facts, Mapping) and facts.get("is_bound") else ""
    return bound + (typical if least == greatest else f"{typical} (from {least} to {greatest})")


def lone_worker_sentence(facts: object) -> str | None:
    """Return a sentence on what a lone worker risks; None if the certificate does not say."""
    text = stay_text(facts)
    if text is None or not isinstance(facts, Mapping):
        return None
    example = _EXAMPLES.get(str(facts.get("case")))
    if example is not None:
        return (
            "Workers of several kinds or workplaces were drawn together here, so what one worker risks depends on "
            f"where the others live. As an example: {example} keeps the true home area with a chance of {text}."
        )
    return (
        "Some workers are the only one of their age, earnings and industry group at their workplace. They are the most "
        f"exposed: such a worker keeps the true home area with a chance of {text}. Otherwise the release shows another "
        "area, and it does not say for which workers."
    )


def odds_sentence(epsilon: float, *, delta_is_zero: bool) -> str:
    """Return what e^epsilon means: how much likelier one home can make a release than another."""
    factor = rounded(math.exp(min(epsilon, _LARGEST_EXPONENT)))
    whatever = "Whatever is released" if delta_is_zero else "Outside that probability, whatever is released"
    return f"{whatever}, it is at most {factor} times as likely with one home of a worker as with another."


def rounded(value: float) -> str:
    """Return a factor to two digits."""
    return f"{value:.1f}" if value < 10 else f"{float(f'{value:.2g}'):,.0f}"


def _chances(facts: object) -> JsonMapping | None:
    stay = facts.get("stay") if isinstance(facts, Mapping) else None
    if not isinstance(stay, Mapping):
        return None
    values = [stay.get(name) for name in ("least", "typical", "greatest")]
    if any(isinstance(value, bool) or not isinstance(value, int | float) for value in values):
        return None
    return stay


def _percent(chance: float) -> str:
    return f"{100 * chance:.0f} %" if chance >= 0.095 or chance == 0 else f"{100 * chance:.1f} %"
