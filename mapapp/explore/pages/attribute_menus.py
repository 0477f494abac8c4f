"""The menus of attributes: the attributes of a cross table, and the values that are included."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypedDict

import dash_mantine_components as dmc

from mapapp.answers.release import Release
from mapapp.question.fields import MAX_NAMES

MENUS: Final = ("by", "attributes")


class Group(TypedDict):
    """Entries of a menu under one heading."""

    group: str
    items: list[dict[str, str]]


Entries = list[dict[str, str]] | list[Group]


def attribute_menus(release: Release) -> dict[str, Entries]:
    """The entries of each menu of `MENUS`."""
    return {
        "by": [{"value": each.name, "label": each.title} for each in release.attributes],
        "attributes": [
            Group(
                group=each.title,
                items=[
                    {"value": f"{each.name}:{code}", "label": f"{each.title}: {label}"}
                    for code, label in zip(each.codes, each.labels, strict=True)
                ],
            )
            for each in release.attributes.further
        ],
    }


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
