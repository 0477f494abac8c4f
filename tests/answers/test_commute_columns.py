"""Mapped columns against the database: every sum of any commutes is the same, whichever of the two adds it up."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from geodata.store.store import Store, open_store
from mapapp.answers.commutes import prepared
from mapapp.answers.commutes.attributes import Attributes
from mapapp.answers.commutes.flows import Flows
from mapapp.answers.commutes.pick import Blocks, Pick
from mapapp.question.fields import Side
from mapapp.question.filters import Filters
from tests.releases import write_release

EDGES = (1.0, 4.0, 10.0, 100.0)
PARTS_OF_MILES = (0.5, 4.0, 7.25)
BANDS = st.sets(st.integers(1, 3), max_size=2).map(lambda kept: tuple(sorted(kept)))


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return open_store(write_release(tmp_path_factory.mktemp("made") / "squareland"), "release")


@pytest.fixture(scope="module")
def both(store: Store, tmp_path_factory: pytest.TempPathFactory) -> tuple[Flows, Flows]:
    """The commutes of one release in mapped columns, and in the database alone."""
    copies = prepared.prepare(store, home=tmp_path_factory.mktemp("home"))
    assert copies.columns is not None
    return Flows(copies, store, Attributes()), Flows(replace(copies, columns=None), store, Attributes())


@st.composite
def blocks(draw: Any, n_blocks: int) -> Blocks | None:
    """Any blocks: none, a few, a range, most of them, or no restriction."""
    kind = draw(st.sampled_from(("anywhere", "some", "range", "others")))
    if kind == "anywhere":
        return None
    some = np.array(sorted(draw(st.sets(st.integers(0, n_blocks - 1), max_size=12))), dtype=np.int32)
    if kind == "some" or not some.size:
        return some
    return np.arange(some[0], some[-1] + 1, dtype=np.int32) if kind == "range" else _others(some, n_blocks)


def _others(some: Blocks, n_blocks: int) -> Blocks:
    return np.setdiff1d(np.arange(n_blocks, dtype=np.int32), some)


def in_order(columns: Iterable[Any], n_keys: int) -> list[np.ndarray[Any, Any]]:
    listed = [np.asarray(column) for column in columns]
    order = np.lexsort(listed[:n_keys][::-1])
    return [column[order] for column in listed]


def test_a_band_includes_its_lower_edge(both: tuple[Flows, Flows]) -> None:
    commutes = both[0]._mapped(Pick())
    assert commutes is not None
    farthest_mi = float(commutes.distance_mi.max())
    mapped, counted = (flows.of_pair(Pick(), (farthest_mi,))[1].tolist() for flows in both)
    assert mapped == counted
    assert mapped[1] > 0


@settings(max_examples=150, deadline=None)
@given(data=st.data(), end=st.sampled_from(("work", "home")), age=BANDS, industry=BANDS)
def test_columns_and_database_add_up_alike(
    both: tuple[Flows, Flows], store: Store, data: Any, end: Side, age: Any, industry: Any
) -> None:
    n_blocks = len(store.table("blocks", ["state_id"]))
    pick = Pick(
        work=data.draw(blocks(n_blocks)),
        home=data.draw(blocks(n_blocks)),
        filters=Filters(age=age, industry=industry),
    )
    inside = data.draw(blocks(n_blocks).filter(lambda found: found is not None))
    code = (np.arange(n_blocks) % 7).astype(np.int32)

    def asked(flows: Flows) -> dict[str, Any]:
        found: dict[str, Any] = {
            "segments": [flows.by_segment(pick)],
            "values": [flows.by_values(pick, ["industry", "age"])],
            "within": [flows.by_segment_within(pick, end, inside)],
            "blocks": flows.by_block(pick, end),
            "block and segment": in_order(flows.by_block_and_segment(pick, end), 2),
            "code and segment": flows.by_code_and_segment(pick, end, code, 8),
            "pairs": in_order(flows.by_pair(pick), 3),
            "of pair": flows.of_pair(pick, EDGES),
            "at ends": flows.by_segment_at_ends(pick.work, pick.filters),
            "of pair, by parts of miles": flows.of_pair(pick, PARTS_OF_MILES),
            "by parts of miles": flows.distances(pick, end, PARTS_OF_MILES, own_block=False),
            "distances": flows.distances(pick, end, EDGES, own_block=False),
            "with own block": flows.distances(pick, end, EDGES, own_block=True),
            "by workplace": in_order(flows.distances_by_workplace(pick, end, EDGES), 3),
            "median": [flows.median_mi(pick) or 0.0],
            "matrix": [np.concatenate(part) for part in zip(*flows.matrix(pick, code, code), strict=True)],
        }
        if found["segments"][0].any():
            work, sums = flows.distance_sums(pick, 5.5)
            found["sums"] = in_order([work, *sums], 1)
            found["quantiles"] = flows.quantiles_mi(pick, [0.1, 0.5, 1.0])
        return found

    mapped, counted = (asked(flows) for flows in both)
    assert mapped.keys() == counted.keys()
    for name, values in mapped.items():
        for mine, theirs in zip(values, counted[name], strict=True):
            np.testing.assert_allclose(
                np.asarray(mine, float), np.asarray(theirs, float), rtol=1e-12, err_msg=name
            )


def test_a_matrix_comes_in_parts_most_workers_first(
    both: tuple[Flows, Flows], store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mapapp.answers.commutes.flows._VECTOR_ROWS", 1)
    code = np.arange(len(store.table("blocks", ["state_id"])), dtype=np.int32)
    parts = list(both[0].matrix(Pick(), code, code))
    assert len(parts) > 1
    workers = np.concatenate([part[2] for part in parts])
    assert (np.diff(workers) <= 0).all()
    assert workers.sum() == both[1].by_segment(Pick()).sum()


def test_large_releases_are_left_to_the_database(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prepared, "MOST_MAPPED", store.manifest["files"]["jobs.parquet"]["rows"] - 1)
    copies = prepared.prepare(store, home=tmp_path)
    assert copies.columns is None
    assert not list(copies.folder.glob("*.arrow"))


def test_the_median_is_the_same_whether_workers_are_listed_one_by_one_or_counted(
    both: tuple[Flows, Flows], monkeypatch: pytest.MonkeyPatch
) -> None:
    listed = both[0].median_mi(Pick())
    monkeypatch.setattr("mapapp.answers.commutes.columns._FEW_IN_A_ROW", 0)
    assert both[0].median_mi(Pick()) == listed == both[1].median_mi(Pick())


def test_many_commutes_are_read_in_parts(both: tuple[Flows, Flows], monkeypatch: pytest.MonkeyPatch) -> None:
    n_blocks = both[0]._n_blocks
    picks = [Pick(work=np.arange(start, n_blocks, 3, dtype=np.int32)) for start in (0, 1)] + [Pick()]

    def asked() -> list[Any]:
        flows = both[0]
        flows._last = None
        flows._of_everywhere.clear()
        return [
            (
                flows.distances(pick, "work", EDGES, own_block=False).workers.tolist(),
                flows.median_mi(pick),
                flows.by_segment(pick).tolist(),
            )
            for pick in picks
        ]

    whole = asked()
    monkeypatch.setattr("mapapp.answers.commutes.columns._LEAST_RUN", 1)
    monkeypatch.setattr("mapapp.answers.commutes.columns._MOST_READ", 0)
    monkeypatch.setattr("mapapp.answers.commutes.rows.PART", 7)
    monkeypatch.setattr("mapapp.answers.commutes.columns.PART", 7)
    assert asked() == whole
