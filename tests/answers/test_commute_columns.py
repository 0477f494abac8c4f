"""Every sum of any commutes against a plain pandas twin, and that it is the same however the columns are read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from geodata.store.schema import N_SEGMENTS
from geodata.store.store import Store, open_store
from mapapp.answers.commutes.attributes import Attributes
from mapapp.answers.commutes.flows import Flows
from mapapp.answers.commutes.pick import ENDS, Blocks, Pick
from mapapp.answers.commutes.prepared import DIRECTIONS, prepare
from mapapp.question.fields import Side
from mapapp.question.filters import CHARACTERISTICS, Filters
from tests.oracles.analyses import workers_of
from tests.releases import write_release

EDGES = (1.0, 4.0, 10.0, 100.0)
PARTS_OF_MILES = (0.5, 4.0, 7.25)
BANDS = st.sets(st.integers(1, 3), max_size=2).map(lambda kept: tuple(sorted(kept)))


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return open_store(write_release(tmp_path_factory.mktemp("made") / "squareland"), "release")


@pytest.fixture(scope="module")
def flows(store: Store, tmp_path_factory: pytest.TempPathFactory) -> Flows:
    return Flows(prepare(store, home=tmp_path_factory.mktemp("home")), store, Attributes())


@pytest.fixture(scope="module")
def workers(store: Store) -> Any:
    """One row a worker, with positions in place of bands and directions."""
    rows = workers_of(store)
    for name in CHARACTERISTICS:
        rows[name] -= 1
    rows["segment"] = rows["age"] * 9 + rows["earnings"] * 3 + rows["industry"]
    for end in ("work", "home"):
        rows[f"octant_{end}"] = rows[f"direction_{end}"].map(DIRECTIONS.index)
    return rows


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


def counted(rows: Any, names: Sequence[str], shape: Sequence[int]) -> npt.NDArray[np.int64]:
    """Rows by the values of some columns."""
    found = np.zeros(shape, dtype=np.int64)
    np.add.at(found, tuple(rows[name].to_numpy() for name in names), 1)
    return found


def spread(columns: Iterable[Any], shape: Sequence[int]) -> npt.NDArray[np.int64]:
    """Numbers of workers, the last of the columns, by the values of the others, which occur once each."""
    *keys, n = (np.asarray(column) for column in columns)
    assert len(np.unique(np.stack(keys), axis=1).T) == n.size
    found = np.zeros(shape, dtype=np.int64)
    found[tuple(keys)] = n
    return found


def banded(rows: Any, edges: Sequence[float], own_block: bool = False) -> Any:
    """The rows with their distance band."""
    band = np.searchsorted(edges, rows["distance_mi"], side="right")
    return rows.assign(band=np.where(rows["distance_mi"] == 0, 0, band + 1) if own_block else band)


@pytest.fixture(scope="module")
def n_blocks(store: Store) -> int:
    return len(store.table("blocks", ["state_id"]))


def test_a_band_includes_its_lower_edge(flows: Flows, workers: Any) -> None:
    farthest_mi = float(workers["distance_mi"].max())
    at = int((workers["distance_mi"] == farthest_mi).sum())
    assert flows.of_pair(Pick(), (farthest_mi,))[1].tolist() == [len(workers) - at, at]


@settings(max_examples=150, deadline=None)
@given(data=st.data(), end=st.sampled_from(ENDS), age=BANDS, industry=BANDS)
def test_every_sum_is_that_of_the_twin(
    flows: Flows, workers: Any, n_blocks: int, data: Any, end: Side, age: Any, industry: Any
) -> None:
    work, home = data.draw(blocks(n_blocks)), data.draw(blocks(n_blocks))
    pick = Pick(work=work, home=home, filters=Filters(age=age, industry=industry))
    inside = data.draw(blocks(n_blocks).filter(lambda found: found is not None))
    code = (np.arange(n_blocks) % 7).astype(np.int32)
    of_all = workers[workers["segment"].isin(pick.filters.segments)]
    rows = _within(_within(of_all, "work", work), "home", home)
    rows = rows.assign(
        inside=rows[f"{end}_block"].isin(inside).astype(int),
        code=code[rows[f"{end}_block"]],
        work_code=code[rows["work_block"]],
        home_code=code[rows["home_block"]],
    )
    pairs = (n_blocks, N_SEGMENTS, n_blocks)

    def check(found: Any, names: Sequence[str], *shape: int, rows: Any = rows) -> None:
        np.testing.assert_array_equal(found, counted(rows, names, shape))

    check(flows.by_segment(pick), ["segment"], N_SEGMENTS)
    check(flows.by_values(pick, ["industry", "age"]), ["industry", "age"], 3, 3)
    check(flows.by_segment_within(pick, end, inside), ["inside", "segment"], 2, N_SEGMENTS)
    check(spread(flows.by_block(pick, end), (n_blocks,)), [f"{end}_block"], n_blocks)
    by_both = spread(flows.by_block_and_segment(pick, end), (n_blocks, N_SEGMENTS))
    check(by_both, [f"{end}_block", "segment"], n_blocks, N_SEGMENTS)
    check(flows.by_code_and_segment(pick, end, code, 8), ["code", "segment"], 8, N_SEGMENTS)
    check(spread(flows.by_pair(pick), pairs), ["work_block", "segment", "home_block"], *pairs)
    at_ends = (_within(of_all, "work", work), _within(of_all, "home", work))
    for found, there in zip(
        flows.by_segment_at_ends(work, pick.filters),
        (*at_ends, _within(at_ends[0], "home", work)),
        strict=True,
    ):
        check(found, ["segment"], N_SEGMENTS, rows=there)
    median_mi = pytest.approx(rows["distance_mi"].median(), rel=1e-12) if len(rows) else None
    assert flows.median_mi(pick) == median_mi
    for edges in (EDGES, PARTS_OF_MILES):
        segments, bands, middle_mi = flows.of_pair(pick, edges)
        check(segments, ["segment"], N_SEGMENTS)
        check(bands, ["band"], len(edges) + 1, rows=banded(rows, edges))
        assert middle_mi == median_mi
    near = rows["distance_mi"][rows["distance_mi"] < 100]
    for edges, own_block in ((PARTS_OF_MILES, False), (EDGES, False), (EDGES, True)):
        distances = flows.distances(pick, end, edges, own_block=own_block)
        n_bands = len(edges) + 1 + own_block
        check(distances.workers, ["band", f"octant_{end}"], n_bands, 9, rows=banded(rows, edges, own_block))
        assert distances.n_near == len(near)
        assert distances.near_mi == pytest.approx(near.sum(), rel=1e-12)
    shape = n_blocks, len(EDGES) + 1, 9
    by_workplace = spread(flows.distances_by_workplace(pick, end, EDGES), shape)
    check(by_workplace, ["work_block", "band", f"octant_{end}"], *shape, rows=banded(rows, EDGES))
    matrix = [np.concatenate(part) for part in zip(*flows.matrix(pick, code, code), strict=True)]
    assert not matrix or (np.diff(matrix[2]) <= 0).all()
    check(spread(matrix, (7, 7)) if matrix else 0, ["home_code", "work_code"], 7, 7)
    if len(rows):
        check_sums(flows, pick, rows)


def check_sums(flows: Flows, pick: Pick, rows: Any) -> None:
    """Compare sums of miles, and quantiles."""
    block, sums = flows.distance_sums(pick, 5.5)
    miles = rows["distance_mi"]
    near = miles.where(miles < 100, 0.0)
    each = pandas.DataFrame(
        {"n": 1, "below": miles < 5.5, "near": miles < 100, "mi": near, "squares": near**2}
    )
    wanted = each.groupby(rows["work_block"]).sum()
    np.testing.assert_allclose(np.stack(sums).T[np.argsort(block)], wanted.to_numpy(), rtol=1e-12)
    assert np.sort(block).tolist() == wanted.index.tolist()
    ordered = np.sort(np.floor(miles * 100) / 100)
    shares = np.array([0.1, 0.5, 1.0])
    places = np.maximum(np.ceil(shares * len(ordered)).astype(int) - 1, 0)
    assert flows.quantiles_mi(pick, shares.tolist()) == ordered[places].tolist()


def _within(rows: Any, end: Side, some: Blocks | None) -> Any:
    return rows if some is None else rows[rows[f"{end}_block"].isin(some)]


@pytest.mark.parametrize("area", ["everything", "home", "some"])
def test_rows_are_in_order(flows: Flows, workers: Any, n_blocks: int, area: str) -> None:
    some = np.arange(0, n_blocks, 3, dtype=np.int32)
    pick = {
        "everything": Pick(),
        "home": Pick(home=some),
        "some": Pick(work=some, filters=Filters(age=(2,))),
    }[area]
    names = ["work_block", "home_block", *CHARACTERISTICS]
    rows = _within(_within(workers, "work", pick.work), "home", pick.home)
    rows = rows[rows["age"] == 1] if pick.filters.age else rows
    jobs = rows[[*names, "segment"]].drop_duplicates()  # as `_jobs` writes them: a row for each
    wanted = jobs[names].sort_values(names).to_numpy()
    for first, n in ((0, 50), (37, 20), (len(wanted) - 5, 50)):
        work, home, values = flows.rows(pick, first=first, n=n)
        np.testing.assert_array_equal(np.column_stack([work, home, values]), wanted[first : first + n])


def test_a_matrix_comes_in_parts_most_workers_first(
    flows: Flows, n_blocks: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mapapp.answers.commutes.flows._PART_ROWS", 49)
    code = np.arange(n_blocks, dtype=np.int32)
    parts = list(flows.matrix(Pick(), code, code))
    assert len(parts) > 1
    workers = np.concatenate([part[2] for part in parts])
    assert (np.diff(workers) <= 0).all()
    assert workers.sum() == flows.by_segment(Pick()).sum()


def test_the_median_is_the_same_whether_workers_are_listed_one_by_one_or_counted(
    flows: Flows, monkeypatch: pytest.MonkeyPatch
) -> None:
    listed = flows.median_mi(Pick())
    monkeypatch.setattr("mapapp.answers.commutes.columns._FEW_IN_A_ROW", 0)
    assert flows.median_mi(Pick()) == listed


def test_many_commutes_are_read_in_parts(
    flows: Flows, n_blocks: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    picks = [Pick(work=np.arange(start, n_blocks, 3, dtype=np.int32)) for start in (0, 1)] + [Pick()]

    def asked() -> list[Any]:
        flows._last = None
        flows._of_everywhere.clear()
        return [
            (
                flows.distances(pick, "work", EDGES, own_block=False).workers.tolist(),
                flows.median_mi(pick),
                flows.by_segment(pick).tolist(),
                [each.tolist() for each in flows.distances_by_workplace(pick, "home", EDGES)],
                [each.tolist() for each in flows.distance_sums(pick, 5.5)[1]],
            )
            for pick in picks
        ]

    whole = asked()
    monkeypatch.setattr("mapapp.answers.commutes.columns._LEAST_RUN", 1)
    monkeypatch.setattr("mapapp.answers.commutes.columns._MOST_READ", 5)
    monkeypatch.setattr("mapapp.answers.commutes.rows.PART", 7)
    monkeypatch.setattr("mapapp.answers.commutes.columns.PART", 7)
    assert asked() == whole
