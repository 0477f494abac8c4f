"""The menus of layers: for rows, for both ends of a matrix, and for clicks on the map."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from mapapp.answers.levels import LEVEL_LABELS
from mapapp.answers.release import Release
from mapapp.question.fields import USUAL
from mapapp.question.question import OTHER_END, Question

MENUS: Final = ("layer", "home_layer", "work_layer", "pick")


def click_level(release: Release, question: Question) -> str:
    """The level that a click on the map selects unless the visitor chose one.

    It does not depend on how the chosen area is divided, so that its neighbors are units of the same layer.
    """
    chosen = release.areas.select(question.area) if question.areas else None
    return release.areas.usual.of(OTHER_END[question.side] if chosen else question.side, there=chosen)


def layer_menus(release: Release, question: Question, layers: dict[str, str]) -> dict[str, dict[str, str]]:
    """Labels by level for each menu of `MENUS`; `layers` has those of all levels. The usual one comes first."""
    settled = release.areas.usual.settle(replace(question, layer=USUAL, home_layer=USUAL, work_layer=USUAL))
    usual = {"pick": click_level(release, question)}
    usual |= {name: getattr(settled, name) for name in MENUS if name not in usual}
    given = {name: getattr(question, name, USUAL) for name in MENUS}
    return {
        name: {USUAL: _label(usual[name])}
        | {level: label for level, label in layers.items() if level != usual[name] or level == given[name]}
        for name in MENUS
    }


def _label(level: str) -> str:
    """The label of the usual layer, such as "Town (usual)"."""
    return "Usual areas" if level == USUAL else f"{LEVEL_LABELS[level].split(' (')[0]} (usual)"
