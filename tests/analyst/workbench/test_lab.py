"""The method lab: its page says what the engine computes, for everything its controls can ask."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import pytest

from engine.accountant.two_categories import ExampleMechanism, two_categories
from mapapp.analyst.workbench import lab
from mapapp.analyst.workbench import lab as lab_tables
from mapapp.analyst.workbench import lab as lab_words
from mapapp.analyst.workbench.lab import START
from tests.golden import golden


def texts(component: Any) -> list[str]:
    """Every text of a component tree, in order."""
    if isinstance(component, str | int | float):
        return [str(component)]
    if isinstance(component, list | tuple):
        return [text for part in component for text in texts(part)]
    return texts(getattr(component, "children", None) or [])


def parts(component: Any, kind: str) -> list[Any]:
    """Components of one kind, in order."""
    if isinstance(component, list | tuple):
        return [found for part in component for found in parts(part, kind)]
    inner = parts(getattr(component, "children", None) or [], kind) if hasattr(component, "children") else []
    return [component, *inner] if type(component).__name__ == kind else inner


def cells(table: Any) -> list[list[str]]:
    return [["".join(texts(cell)) for cell in parts(row, "Td")] for row in parts(table, "Tr")[1:]]


@pytest.mark.parametrize(
    ("preset", "table"),
    [
        ("slides", "p10_plugin_transition"),
        ("meant", "p10_dirichlet_multinomial_transition"),
        ("noise", "p10_laplace_transition_eps2"),
    ],
)
def test_the_first_table_shows_the_golden_numbers(preset: str, table: str) -> None:
    figures = golden("pdp")[table]
    shown = cells(parts(lab.answer(START | lab.PRESETS[preset][1]), "Table")[0])
    assert shown == [[lab_tables.digits(value) for value in row] for row in figures]


def test_it_starts_with_the_slides_and_every_preset_answers() -> None:
    page = " ".join(texts(lab.page()))
    for number in ("5.493061", "0.000623", "0.647228", "243", "2.397895", "0.1035", "0.01074"):
        assert number in page
    for _, change in lab.PRESETS.values():
        assert set(change) <= set(lab.CONTROLS)
        assert lab.answer(START | change)
    safe = lab.answer(START | lab.PRESETS["safe"][1])
    assert "✗" not in " ".join(texts(parts(safe, "Table")))


@pytest.mark.parametrize(("mechanism", "reading"), list(product(lab_words.MECHANISMS, lab_words.READINGS)))
def test_every_corner_of_the_sliders_has_an_answer(mechanism: str, reading: str) -> None:
    for n, m, alpha, epsilon in product((1, 6), (1, 6), (0.05, 3), (0.1, 6)):
        given = {
            "mechanism": mechanism,
            "reading": reading,
            "n": n,
            "m": m,
            "alpha": alpha,
            "epsilon": epsilon,
        }
        tables = parts(lab.answer(given), "Table")
        transition, ratios, failures = (cells(table) for table in tables)
        columns = lab.example_arguments(given)["m"] + 1
        assert (len(transition), len(ratios), len(failures)) == (n + 1, n, n + 1)
        assert {len(row) for row in transition} == {columns}
        assert "nan" not in " ".join(texts(tables))


@pytest.mark.parametrize("epsilon", [0.5, 2.0, 4.6])
@pytest.mark.parametrize(("n", "m"), [(1, 1), (5, 5), (6, 2), (2, 6)])
def test_the_weights_said_to_be_enough_are_just_enough(n: int, m: int, epsilon: float) -> None:
    enough: dict[ExampleMechanism, float] = {
        "plug-in": 1 / math.expm1(epsilon / m),
        "dirichlet-multinomial": m / math.expm1(epsilon),
    }
    for mechanism, alpha in enough.items():
        for factor, fails in ((1 + 1e-9, False), (1 - 1e-3, True)):
            found = two_categories(mechanism, "definition", n=n, m=m, alpha=alpha * factor, epsilon=epsilon)
            assert found.failing.any() == fails


def test_noise_as_printed_has_as_many_as_there_are() -> None:
    assert lab.example_arguments({"mechanism": "laplace", "reading": "printed", "n": 3, "m": 5})["m"] == 3
    assert lab.example_arguments({"mechanism": "laplace", "reading": "definition", "n": 3, "m": 5})["m"] == 5
