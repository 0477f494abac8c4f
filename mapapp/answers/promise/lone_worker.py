"""What a lone worker risks, and what epsilon means in odds, in plain sentences."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final

from geodata.json_objects import JsonMapping

__all__ = ["lone_worker_sentence", "odds_sentence", "stay_text", "true_tract_text"]

_LARGEST_EXPONENT: Final = 700.0


def stay_text(facts: object) -> str | None:
    """Return the typical chance to keep the true home area, with least and greatest; None if it is not stated.

    Parameters
    ----------
    facts : object
        `lone_worker` of a certificate, which comes from a file and may hold anything.
    """
    return _text(facts, "stay")


def true_tract_text(facts: object) -> str | None:
    """Return the expected chance that the true home tract is shown, with least and greatest over workplace tracts.

    None if it is not stated, as in certificates of earlier versions; `facts` as in :func:`stay_text`.
    """
    return _text(facts, "true_tract")


def _text(facts: object, name: str) -> str | None:
    chances = _chances(facts, name)
    if chances is None:
        return None
    least, typical, greatest = (_percent(chances[which]) for which in ("least", "typical", "greatest"))
    return typical if least == greatest else f"{typical} (from {least} to {greatest})"


def lone_worker_sentence(facts: object) -> str | None:
    """Return a sentence on what a lone worker risks; None if the certificate does not say."""
    text = stay_text(facts)
    if text is None or not isinstance(facts, Mapping):
        return None
    if facts.get("case") == "apart in clusters":
        return (
            "Workers of several kinds were drawn together here, over groups of home areas, so what one worker risks "
            "depends on where the others live. As an example: if they all live in different groups, each of them keeps "
            f"the true group with a chance of {text}."
        )
    if facts.get("case") == "lone workers in clusters":
        return (
            "Some workers are the only one of their age, earnings and industry group at their workplace. They are the "
            "most exposed: such a worker keeps the true group of home areas with a chance of "
            f"{text}. Otherwise the release shows another group, and it does not say for which workers. The place "
            "within the group comes from what larger workplaces show."
        )
    if facts.get("case") == "apart":
        return (
            "Workers of several kinds or workplaces were drawn together here, so what one worker risks depends on "
            "where the others live. As an example: if they all live in different areas, each of them keeps the true "
            f"home area with a chance of {text}." + _tract_sentence(facts)
        )
    return (
        "Some workers are the only one of their age, earnings and industry group at their workplace. They are the most "
        f"exposed: such a worker keeps the true home area with a chance of {text}. Otherwise the release shows another "
        "area, and it does not say for which workers." + _tract_sentence(facts)
    )


def _tract_sentence(facts: object) -> str:
    """Return a sentence on the true tract, which follows another; empty if the certificate does not say."""
    text = true_tract_text(facts)
    if text is None:
        return ""
    return (
        " A home area may hold many census tracts. If homes are where a public model expects them, the release shows "
        f"such a worker in the true home tract with a chance of {text}."
    )


def odds_sentence(epsilon: float, *, delta_is_zero: bool) -> str:
    """Return what e^epsilon means: how much likelier one home can make a release than another."""
    factor = round_factor(math.exp(min(epsilon, _LARGEST_EXPONENT)))
    whatever = "Whatever is released" if delta_is_zero else "Outside that probability, whatever is released"
    return f"{whatever}, it is at most {factor} times as likely with one home of a worker as with another."


def round_factor(value: float) -> str:
    """Return a factor to two digits."""
    return f"{value:.1f}" if value < 10 else f"{float(f'{value:.2g}'):,.0f}"


def _chances(facts: object, name: str) -> JsonMapping | None:
    chances = facts.get(name) if isinstance(facts, Mapping) else None
    if not isinstance(chances, Mapping):
        return None
    values = [chances.get(which) for which in ("least", "typical", "greatest")]
    if any(isinstance(value, bool) or not isinstance(value, int | float) for value in values):
        return None
    return chances


def _percent(chance: float) -> str:
    return f"{100 * chance:.0f} %" if chance >= 0.095 or chance == 0 else f"{100 * chance:.1f} %"
