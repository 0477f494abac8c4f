"""Published tables: what is read from a store, the reason of every star, and the sentences about them."""

from fractions import Fraction
from pathlib import Path

import pandas
import pytest

from geodata.errors import StoreError
from geodata.store.manifest import read_manifest
from mapapp.kinds.tables.read import words
from mapapp.kinds.tables.read.published import Cell, PublishedTable, add_reasons


@pytest.fixture(scope="module")
def published(demo_table: Path) -> PublishedTable:
    return PublishedTable.open(demo_table)


def test_a_table_and_its_flows_are_read_as_published(published: PublishedTable) -> None:
    counts, flows = published.tables

    assert published.version == published.digest[:12]
    assert (counts.row_layer, counts.columns, counts.is_flows) == ("county", ("industry", "earnings"), False)
    assert (flows.home_layer, flows.columns, flows.is_flows) == ("ctycsub", (), True)
    assert len(counts.column_labels) == 9
    assert counts.rows
    assert set(counts.rows) == set(flows.rows)
    assert published.promise.epsilon == Fraction(1, 2)


def test_every_star_has_one_reason_and_no_printed_count_has_any(published: PublishedTable) -> None:
    for table in published.tables:
        starred = table.cells["value"] < 0
        assert starred.any()
        assert (table.cells.loc[~starred, "reason"] == "").all()
        assert table.cells.loc[starred, "reason"].isin(["too-small", "not-shown-safe"]).all()
        never = table.cells["low"] > table.cells["high"]
        assert (table.cells.loc[starred & never, "reason"] == "too-small").all()


def test_cells_after_a_breach_are_suppressed_because_the_table_stopped() -> None:
    cells = pandas.DataFrame(
        {
            "people": [50, 0, 90, 40, 60],
            "value": [9, 0, 40, -1, -1],
            "state": ["released", "released", "released", "suppressed", "suppressed"],
            "low": [1, 1, 5, 3, 9],
            "high": [20, 0, 30, 2, 20],
        }
    )

    stopped = add_reasons(cells, stops=True)
    whole = add_reasons(cells, stops=False)

    assert stopped["reason"].tolist() == ["", "", "", "stopped", "stopped"]
    assert whole["reason"].tolist() == ["", "", "", "too-small", "not-shown-safe"]


def test_a_star_is_explained_from_public_numbers_alone(published: PublishedTable) -> None:
    small = Cell(people=3, value=-1, low=2, high=1, rate=0.3, state="suppressed", reason="too-small")
    likely = Cell(people=40, value=-1, low=6, high=18, rate=0.3, state="suppressed", reason="not-shown-safe")

    assert words.cell_lines(small, published.promise)[0].startswith(
        "Too small to be safe whatever its value: with 3 workers, no count"
    )
    assert "Counts between 6 and 18 would have been safe." in words.cell_lines(likely, published.promise)
    assert "before its count was looked at" in words.cell_lines(likely, published.promise)[0]


def test_a_printed_count_has_its_share_and_the_interval_in_which_it_was_publishable(
    published: PublishedTable,
) -> None:
    cell = Cell(people=800, value=240, low=120, high=360, rate=0.25, state="released", reason="")

    assert words.cell_lines(cell, published.promise) == [
        "240 of 800 workers: 30%. The prior says 25%.",
        "The count was publishable if between 120 and 360.",
    ]


def test_the_promise_is_one_sentence_with_an_example(published: PublishedTable) -> None:
    text = words.promise_sentence(published.promise)

    assert "probability of at least 99%" in text
    assert "by more than 50% of what the prior says" in text
    assert "A chance of 20%, for example, stays between 10% and 30%." in text


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (0, "0%"),
        (1, "100%"),
        (0.3, "30%"),
        (0.123, "12.3%"),
        (0.0456, "4.6%"),
        (0.05, "5%"),
        (0.9999, "99.99%"),
        (2e-5, "0.002%"),
    ],
)
def test_a_share_is_never_rounded_to_nothing_or_to_everything(share: float, text: str) -> None:
    assert words.percent(share) == text


def test_what_is_counted_is_said_in_one_sentence(published: PublishedTable) -> None:
    counts, flows = published.tables

    assert words.counted_sentence(counts) == (
        "Workers who live in the unit where they work, for each county, by industry and earnings."
    )
    assert words.counted_sentence(flows) == "Workers by the unit where they live, for each county of work."


def test_a_release_is_refused_where_a_table_is_needed(demo_release: Path) -> None:
    with pytest.raises(StoreError, match="table"):
        PublishedTable.open(demo_release)


def test_only_the_cells_of_a_table_are_prepared(published: PublishedTable, demo_table: Path) -> None:
    assert read_manifest(demo_table)["kind"] == "table"
    assert published.areas.outlines.of_layer("ctycsub")
