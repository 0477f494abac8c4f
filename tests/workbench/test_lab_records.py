"""The page on worker records: its exact numbers are those of the written-out mechanism, and of docs/records.md."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from fractions import Fraction
from itertools import combinations

import pytest

from engine.records.theorem_one import theorem_1
from mapapp.workbench import lab_records, lab_records_tables
from mapapp.workbench.lab_records_callbacks import records_of
from mapapp.workbench.lab_records_example import (
    ATTRIBUTES,
    MOST,
    OUTPUTS,
    RecordsExample,
    compare,
    log,
    noise_fraction,
)
from tests.oracles import plausible as twin
from tests.workbench.test_lab import cells, parts, texts


def example_and_values(preset: str) -> tuple[RecordsExample, dict[str, float | str]]:
    values, records = lab_records.start(preset)
    return lab_records.example_of(values, records), values


def random_example(choose: random.Random) -> RecordsExample:
    n = choose.randint(4, 9)
    k = choose.randint(2, n)
    return RecordsExample(
        others=tuple(choose.choice(OUTPUTS[:6]) for _ in range(n)),
        worker=choose.choice(OUTPUTS),
        kept=choose.choice([(0,), (1,), (2,), (3,), (0, 1, 2, 3)]),
        k=k,
        t=choose.randint(1, k - 1),
        similarity=choose.choice([Fraction(3, 2), Fraction(2), Fraction(4)]),
        noise=choose.choice([Fraction(1, 2), Fraction(2, 7)]),
        forced_fail=choose.choice([Fraction(0), Fraction(1, 20)]),
    )


@pytest.mark.parametrize(
    ("preset", "delta", "holds"),
    [("hidden", 4.0e-6, True), ("seen", 0.0937, False), ("forced", 3.8e-6, True)],
)
def test_the_presets_are_the_example_of_the_documentation(preset: str, delta: float, holds: bool) -> None:
    example, values = example_and_values(preset)
    compared = compare(example, failures_seen=values["failures"] == "seen")
    assert float(compared.delta) == pytest.approx(delta, rel=5e-3)
    assert compared.holds == holds
    stated = log(compared.stated_growth), float(compared.stated_delta)
    assert stated == pytest.approx((3.0986, 4.54e-5), rel=1e-3)
    assert stated == pytest.approx(theorem_1(6, 1, -log(example.noise), 2), rel=1e-12)


def test_the_laws_are_the_twin_s_and_the_theorem_holds_for_published_records() -> None:
    choose = random.Random(11)
    for _ in range(12):
        example = random_example(choose)
        compared = compare(example, failures_seen=False)
        kernel = [[example.chance(seed, candidate) for candidate in OUTPUTS] for seed in OUTPUTS]
        assert all(sum(row) == 1 for row in kernel)
        rule = twin.Rule(example.k, example.similarity, example.noise, example.forced_fail)
        for records, law in ((example.others, compared.without), (example.larger, compared.with_worker)):
            rows = [OUTPUTS.index(record) for record in records]
            assert twin.merged(twin.law(kernel, rows, rule), len(OUTPUTS)) == law
        assert compared.holds


def test_the_exact_numbers_are_the_worst_over_all_sets_of_outputs() -> None:
    example, _ = example_and_values("seen")
    compared = compare(example, failures_seen=True)
    places = [at for at, pair in enumerate(zip(*compared.seen, strict=True)) if any(pair)]
    needed = compared.growth_needed
    assert needed is not None

    def worst(growth: Fraction) -> Fraction:
        return max(
            sum((larger[at] - growth * smaller[at] for at in chosen), Fraction(0))
            for smaller, larger in (compared.seen, compared.seen[::-1])
            for size in range(len(places) + 1)
            for chosen in combinations(places, size)
        )

    assert worst(compared.stated_growth) == compared.delta
    assert worst(needed) == compared.stated_delta


def test_no_epsilon_is_enough_where_only_the_worker_can_make_an_output_and_delta_is_less() -> None:
    example, _ = example_and_values("hidden")
    compared = compare(example, failures_seen=False)
    assert compared.growth_needed is not None
    only_the_worker = compared.with_worker[OUTPUTS.index(example.worker)]
    assert replace(compared, stated_delta=only_the_worker).growth_needed is not None
    assert replace(compared, stated_delta=only_the_worker * Fraction(99, 100)).growth_needed is None


def test_similarity_matters_only_if_the_number_of_kept_attributes_is_random() -> None:
    def released(preset: str, similarity: float) -> list[Fraction]:
        values, records = lab_records.start(preset)
        example = lab_records.example_of({**values, "similarity": similarity}, records)
        return example.law(example.larger)

    assert released("mixed", 1) == released("mixed", 2) == released("mixed", 4)
    assert released("random", 1) != released("random", 4)


def test_the_partitions_hold_every_possible_seed_once() -> None:
    example, _ = example_and_values("random")
    for candidate in OUTPUTS:
        groups = example.groups(candidate)
        members = [row for group in groups for row in group.members]
        assert sorted(members) == list(range(MOST + 1))
        for group in groups:
            assert group.index is not None
            for p in group.chances:
                assert twin.index_of(p, example.similarity) == group.index


@pytest.mark.parametrize("preset", lab_records.PRESETS)
def test_the_page_shows_every_probability_as_a_fraction(preset: str) -> None:
    example, values = example_and_values(preset)
    compared = compare(example, failures_seen=values["failures"] == "seen")
    _, records = lab_records.start(preset)
    shown = lab_records.answer(values, records)
    _, laws = (cells(table) for table in parts(shown, "Table"))
    possible = [pair for pair in zip(compared.without, compared.with_worker, strict=True) if any(pair)]
    assert len(laws) == len(possible)
    for row, pair in zip(laws, possible, strict=True):
        assert all(cell.startswith(str(p)) for cell, p in zip(row, pair, strict=False))
    said = " ".join(texts(shown))
    assert ("The statement is false" in said) == (not compared.holds)
    assert ("not seen" in said) == (values["failures"] == "hidden")


def test_the_false_statement_says_by_how_much_and_what_mends_it() -> None:
    values, records = lab_records.start("seen")
    said = " ".join(texts(lab_records.answer(values, records)))
    assert "2,064 times the stated one" in said
    assert "raise the forced failure" in said


def test_values_outside_their_bounds_are_brought_inside() -> None:
    values, records = lab_records.start("mixed")
    used = lab_records.shown_values({**values, "n": 4, "k": 9, "t": 8})
    assert (used["n"], used["k"], used["t"]) == (4, 4, 3)
    wild = lab_records.example_of(
        {**values, "n": 10**9, "rate": 1e9, "forced": 5}, [(9, -1, 7), *records[1:]]
    )
    assert (len(wild.others), wild.others[0], wild.forced_fail) == (MOST, (1, 0, 2), Fraction(1, 5))
    assert wild.noise == noise_fraction(3)
    assert records_of(["1"] * 3000) == [(1, 1, 1)] * (MOST + 1)


def test_the_page_names_the_chances_of_the_model() -> None:
    assert lab_records_tables.model_said().startswith(
        "Public model (chance in parentheses): the workplace is Center (3/4) or Harbor (1/4); a worker of Center lives "
        "near (1/2) or far (1/2) and has earnings low (1/4), middle (1/4), or high (1/2); "
    )


def test_the_fraction_of_the_noise_is_close() -> None:
    for step in range(1, 31):
        assert -log(noise_fraction(step / 10)) == pytest.approx(step / 10, abs=3e-3)
    assert noise_fraction(2) == Fraction(18, 133)
    assert math.isclose(log(Fraction(1, 7)), -math.log(7))


def test_the_editor_has_a_field_for_each_value_and_hides_unused_rows() -> None:
    _, records = lab_records.start("mixed")
    fields = [cell.children for cell in parts(lab_records_tables.editor(records, 4), "Td")]
    assert records_of([field.value for field in fields]) == list(records)
    assert len(fields) == (MOST + 1) * len(ATTRIBUTES)
    styles = lab_records_tables.row_styles(MOST + 1, 4)
    assert [bool(style) for style in styles] == [False] * 4 + [True] * 5 + [False]
