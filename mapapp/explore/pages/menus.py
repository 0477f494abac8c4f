"""The menus of attributes: the attributes of a cross table, and the values that are included."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final, TypedDict

import dash_mantine_components as dmc

from geodata.store.characteristic_groups import GROUPS
from mapapp.answers.areas.levels import level_label
from mapapp.answers.release import Release
from mapapp.question.fields import MAX_NAMES, USUAL
from mapapp.question.question import OTHER_END, Question

ATTRIBUTE_MENUS: Final = ("by", "attributes")


class Group(TypedDict):
    """Entries of a menu under one heading."""

    group: str
    items: list[dict[str, str]]


Entries = list[dict[str, str]] | list[Group]


def attribute_menus(release: Release) -> dict[str, Entries]:
    """The entries of each menu of `MENUS`."""
    return {
        "by": [{"value": attribute.name, "label": attribute.title} for attribute in release.attributes],
        "attributes": [
            Group(
                group=attribute.title,
                items=[
                    {"value": f"{attribute.name}:{code}", "label": f"{attribute.title}: {label}"}
                    for code, label in zip(attribute.codes, attribute.labels, strict=True)
                ],
            )
            for attribute in release.attributes.further
        ],
    }


def class_menu(value: str) -> dmc.Select:
    """The choice of the class of jobs that published characteristics count by unit."""
    groups = [
        Group(
            group=group.title,
            items=[
                {"value": code, "label": label} for code, label in zip(group.codes, group.labels, strict=True)
            ],
        )
        for group in GROUPS
    ]
    return dmc.Select(
        id="characteristic",
        label="Class of jobs",
        data=groups,
        value=value,
        allowDeselect=False,
        comboboxProps={"zIndex": 400, "withinPortal": False},
        withScrollArea=False,
        size="sm",
    )


def by_menu(release: Release, value: Sequence[str]) -> dmc.MultiSelect:
    """The choice of the attributes of a cross table."""
    return _menu(
        "by",
        "Attributes of the table (one to three)",
        attribute_menus(release)["by"],
        value,
        maxValues=MAX_NAMES,
        placeholder="" if value else "Age and earnings",
    )


def value_menu(release: Release, value: Sequence[str]) -> dmc.MultiSelect:
    """The choice of values of further attributes."""
    return _menu(
        "attributes",
        "Only workers with",
        attribute_menus(release)["attributes"],
        value,
        placeholder="" if value else "Any value",
    )


def _menu(name: str, label: str, entries: Entries, value: Sequence[str], **more: object) -> dmc.MultiSelect:
    return dmc.MultiSelect(
        id=name,
        label=label,
        data=entries,
        value=list(value),
        searchable=True,
        clearable=True,
        hidePickedOptions=True,
        nothingFoundMessage="No such value",
        comboboxProps={"zIndex": 400, "withinPortal": False},
        withScrollArea=False,  # the list scrolls by itself, see app.css
        size="sm",
        clearButtonProps={"aria-label": "Remove all"},
        **more,
    )


# The menus of layers: for rows, for both ends of a matrix, and for clicks on the map.

LAYER_MENUS: Final = ("layer", "home_layer", "work_layer", "pick")


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
    usual |= {name: getattr(settled, name) for name in LAYER_MENUS if name not in usual}
    given = {name: getattr(question, name, USUAL) for name in LAYER_MENUS}
    return {
        name: {USUAL: _label(usual[name])}
        | {level: label for level, label in layers.items() if level != usual[name] or level == given[name]}
        for name in LAYER_MENUS
    }


def _label(level: str) -> str:
    """The label of the usual layer, such as "Town (usual)"."""
    return "Usual areas" if level == USUAL else f"{level_label(level).split(' (')[0]} (usual)"
