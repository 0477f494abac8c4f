"""Expected errors under mechanisms that redraw workers: against exact laws, and on whole releases."""

from __future__ import annotations

import shutil
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest

from engine.mechanisms.cleaning import CLEANED_RANGES_MI as ENGINE_RANGES_MI
from engine.parameters import PrivacyParameters, SynthesisParameters
from geodata.store.store import Store, open_store
from mapapp.answers.errors import expected_error
from mapapp.answers.errors.certificate_terms import CLEANED_RANGES_MI
from mapapp.answers.errors.drawn_counts import Cleaning, NoisyTables, cleaning_of
from mapapp.answers.errors.expected_error import CountError, ExpectedErrors
from mapapp.answers.errors.exponential_mechanism import expected_losses
from mapapp.answers.errors.exponential_noise import ReleasedRows
from mapapp.answers.errors.home_values import HomeCells, HomeValues, values_of_areas
from mapapp.answers.errors.point_sums import PLAIN, PreparedTables, points_of_counts, points_of_sums
from mapapp.answers.errors.real_counts import (
    APART,
    ASTRAY,
    NEIGHBORS,
    TOWARD,
    UNLIKE,
    NoisyCounts,
    add_up,
    errors_of,
)
from mapapp.answers.errors.redrawn_workers import FULLNESS
from mapapp.answers.errors.support_prior import TractPrior
from mapapp.kinds.release.make.run import run_synthesis
from tests.answers.errors.one_count import error_of_count
from tests.answers.errors.test_expected_error import COLUMNS, NO_FLOWS, line_of_tracts
from tests.oracles.exponential import Table, law, tables

UNITS = 1 << 20
K = 4


def certificate_of(mechanism: str, accounting: dict[str, Any], epsilon: str = "1", **synthesis: Any) -> Any:
    """As much of a certificate as is read: every tract a support point, a uniform prior."""
    parameters = SynthesisParameters(
        mechanism=mechanism,  # type: ignore[arg-type]  # a name from the test's own list
        prior="uniform",
        editing="none",
        tract_radius_mi=12_500.0,
        puma_radius_mi=12_500.0,
        **synthesis,
    )
    return {
        "parameters": {"privacy": {"epsilon": epsilon}, "synthesis": parameters.to_dict()},
        "construction": {},
        "accounting": accounting,
    }


def rows_of(released: list[Table]) -> ReleasedRows:
    """Released tables, each of a block of its own."""
    found = [
        (block, point, count)
        for block, table in enumerate(released)
        for point, count in enumerate(table)
        if count
    ]
    block, point, count = np.array(found, dtype=np.int64).T
    return ReleasedRows(block, np.zeros_like(block), point, count)


def stated(certificate: Any, released: list[Table], inside: set[int]) -> CountError:
    """Error of the count of workers in some points, from the released tables of a tract."""
    k = len(released[0])
    errors = ExpectedErrors(certificate, line_of_tracts(k), NO_FLOWS, lambda tract: rows_of(released))
    n, times = np.unique([sum(table) for table in released], return_counts=True)
    workplaces = pandas.DataFrame({"tract_index": 0, "n_workers": n, "n_synthesizers": times})
    home = np.array([float(point in inside) for point in range(k)])
    count = sum(sum(table[point] for point in inside) for table in released)
    return error_of_count(errors, home, workplaces, {0: count})


def exponential_certificate(inverse_theta: int) -> Any:
    rows = [{"n_support": K, "inverse_theta": " ".join([str(inverse_theta * UNITS)] * 21)}]
    return certificate_of("exponential", {"rows": rows})


@pytest.mark.parametrize("inverse_theta", [5, 30])
@pytest.mark.parametrize("inside", [{0}, {0, 1}])
def test_averaged_over_all_releases_no_less_is_stated_than_occurs(
    inverse_theta: int, inside: set[int]
) -> None:
    """Every table of three workers over four points, and every release of it, by the exact law."""
    certificate = exponential_certificate(inverse_theta)
    squares = {m: stated(certificate, [m], inside).error ** 2 for m in tables(3, K)}
    for real in tables(3, K):
        chances = law(real, Fraction(1, inverse_theta))
        actual = sum(float(p) * sum(m[i] - real[i] for i in inside) ** 2 for m, p in chances.items())
        said = sum(float(p) * squares[m] for m, p in chances.items())
        assert said > 0.95 * actual


@pytest.mark.parametrize("inverse_theta", [30])
def test_of_several_tables_no_less_is_stated_than_occurs(inverse_theta: int) -> None:
    """Three blocks of two workers: biases add up, chance does not."""
    certificate = exponential_certificate(inverse_theta)
    laws = [law(real, Fraction(1, inverse_theta)) for real in ((2, 0, 0, 0), (1, 1, 0, 0), (0, 1, 1, 0))]
    actual = said = 0.0
    squares: dict[tuple[Table, ...], float] = {}
    for released in product(tables(2, K), repeat=3):
        chance = float(np.prod([float(each[m]) for each, m in zip(laws, released, strict=True)]))
        count = sum(m[0] for m in released)
        actual += chance * (count - 3) ** 2
        key = tuple(sorted(released))
        if key not in squares:
            squares[key] = stated(certificate, list(released), {0}).error ** 2
        said += chance * squares[key]
    assert 1.0 < said / actual < 3.0


@pytest.mark.parametrize("inverse_theta", [5, 30])
def test_of_tables_of_different_sizes_no_less_is_stated_than_occurs(inverse_theta: int) -> None:
    """Blocks of one and of three workers, all in the count's area: classes that show nobody are not exact."""
    certificate = exponential_certificate(inverse_theta)
    reals = ((1, 0, 0, 0), (3, 0, 0, 0))
    laws = [law(real, Fraction(1, inverse_theta)) for real in reals]
    actual = said = 0.0
    for released in product(*(tables(sum(real), K) for real in reals)):
        chance = float(np.prod([float(each[m]) for each, m in zip(laws, released, strict=True)]))
        actual += chance * (sum(m[0] for m in released) - 4) ** 2
        said += chance * stated(certificate, list(released), {0}).error ** 2
    assert 1.0 < said / actual < 3.0


def test_classes_of_tables_share_what_they_show_of_losses() -> None:
    """Of two equal classes one shows nobody: by itself, it would seem to be exact."""
    tables_ = NoisyTables(
        workers=np.array([[10.0, 30.0], [0.0, 40.0], [40.0, 0.0]]),
        lost=np.array([[0.0, 0.0], [0.0, 0.0], [0.0, 2.0]]),
        lost_variance=np.zeros((3, 2)),
        freed=np.array([20.0, 20.0, 0.0]),
        gained=np.array([20.0, 20.0, 2.0]),
        gained_variance=np.zeros(3),
        even=np.full(2, 0.5),
        n_tables=np.ones(3),
        kept_at=np.ones((3, FULLNESS.size)),
    )
    np.testing.assert_allclose(tables_.kept, [0.5, 0.5, 1.0])
    kept, workers = tables_.kept[None], tables_.workers.sum(axis=1)[None]
    found = expected_losses(np.array([[2.5, 0.0, 7.0]]), np.ones((1, 3)), np.ones((1, 1)), kept, workers)
    # Half a worker more, of whom half are lost; points of the third class are read one by one.
    np.testing.assert_allclose(found, [[(2.5 + 0.25) / 2] * 2 + [7.0]])


def counts(**values: float) -> NoisyCounts:
    """One count with a variance of 4, half of whose workers are kept, and a prior that knows nothing."""
    by_class = {"read": 20.0, "gained": 2.0, "variance": 4.0, "part": 1.0, "independent": 1e9}
    by_class |= {"sampled": 0.0}
    rest = {"usual": 30.0, "common": 0.0, "placed": 0.0, "dealt": 0.0, "apart": 0.0, "cut": 0.0, "moved": 0.0}
    rest |= {"kept": 0.5, "within": 0.0}
    return NoisyCounts(
        **{name: np.array([[values.get(name, value)]]) for name, value in by_class.items()},
        **{name: np.array([values.get(name, value)]) for name, value in rest.items()},
    )


def test_without_a_prior_the_real_count_is_what_noise_leaves() -> None:
    bias, variance, placement = errors_of(add_up(counts()))
    assert bias[0] == pytest.approx(20 - (20 - 2) / 0.5)
    assert variance[0] == pytest.approx(4 / 0.5**2)
    assert placement[0] == 0


def test_a_prior_that_is_certain_but_for_its_common_factor_takes_the_place_of_the_count() -> None:
    """Of one count, the common factor is known as well as the count says, and no better than to a factor of two."""
    bias, variance, _ = errors_of(add_up(counts(kept=1e-9, independent=1e-9)))
    assert bias[0] == pytest.approx(20 - 30, abs=1e-3)
    assert variance[0] == pytest.approx(30**2, rel=1e-3)


def test_homes_in_a_point_that_is_cut_leave_a_count_uncertain_by_a_worker() -> None:
    exact = counts(gained=0.0, kept=1.0, variance=0.0)
    assert errors_of(add_up(exact))[1][0] == pytest.approx(0.0, abs=1e-6)
    cut = exact._replace(cut=np.array([3.0]), placed=np.array([0.2]))
    assert errors_of(add_up(cut))[1][0] == pytest.approx(1.0)


def test_a_part_of_a_unit_may_have_other_homes_than_the_rest_alike_in_all_tracts() -> None:
    """So its error grows with the sum over tracts, and not with the root of it."""
    certain = counts(kept=1.0, variance=0.0, gained=0.0)
    apart = certain._replace(apart=np.array([12.0]))
    plain = errors_of(9 * add_up(certain))[1][0]
    assert errors_of(9 * add_up(apart))[1][0] - plain == pytest.approx((APART * 9 * 12) ** 2)


def test_homes_within_points_are_astray_in_a_tract_and_hardly_in_all_tracts_alike() -> None:
    """Finds an error of all workplaces that is the sum of those of their tracts, though people live where they live."""
    moved = counts()._replace(moved=np.array([10.0]))
    assert errors_of(add_up(moved))[2][0] == pytest.approx(10 * np.hypot(TOWARD, ASTRAY))
    many = errors_of(100 * add_up(moved))[2][0]
    assert many == pytest.approx(np.hypot(TOWARD * 1000, ASTRAY * 10 * (NEIGHBORS * 100) ** 0.5))
    assert many < 100 * errors_of(add_up(moved))[2][0] / 2


def test_homes_astray_in_one_place_do_not_make_up_for_those_in_another() -> None:
    """Finds a ± near 0 for the mean commute of residents, whom the gravity model moves both nearer and farther away."""
    near, far = (counts()._replace(moved=np.array([moved])) for moved in (10.0, -10.0))
    both = errors_of(50 * add_up(near) + 50 * add_up(far))[2][0]
    assert both == pytest.approx(ASTRAY * 10 * (NEIGHBORS * 100) ** 0.5)
    one_each = errors_of(add_up(near) + add_up(far))[2][0]
    assert one_each == pytest.approx(ASTRAY * 20), "two tracts are no neighbors of eight"


def test_counts_that_only_one_class_of_tables_shows_are_as_uncertain_as_classes_may_differ() -> None:
    """Half of the workers are in tables that keep all, the others in tables that keep nobody."""
    half = counts()._replace(
        read=np.array([[10.0, 3.0]]),
        gained=np.array([[0.0, 3.0]]),
        variance=np.array([[0.0, 2.0]]),
        kept=np.array([1.0, 0.0]),
        part=np.array([[0.5, 0.5]]),
        common=np.array([1e9]),
        independent=np.array([[0.0, 0.0]]),
        sampled=np.array([[0.0, 0.0]]),
    )
    bias, variance, _ = errors_of(add_up(half))
    assert bias[0] == pytest.approx(13 - 20, rel=1e-3)  # the second half has as many as the first
    assert variance[0] == pytest.approx((UNLIKE * 10) ** 2, rel=1e-3)


def differing_classes(variance: float) -> NoisyCounts:
    """Two classes of equally many workers: one is read without error, and the other differs from it by half."""
    return counts()._replace(
        read=np.array([[10.0, 7.5]]),
        gained=np.array([[0.0, 0.0]]),
        variance=np.array([[1e-6, variance]]),
        kept=np.array([1.0, 0.5]),
        part=np.array([[0.5, 0.5]]),
        common=np.array([1e9]),
        independent=np.array([[0.0, 0.0]]),
        sampled=np.array([[0.0, 0.0]]),
    )


def test_counts_of_classes_that_noise_leaves_nearly_alone_add_up_to_the_real_count() -> None:
    """The second class has 7.5 / 0.5 = 15, whatever the first class has."""
    bias, variance, _ = errors_of(add_up(differing_classes(1e-4)))
    assert bias[0] == pytest.approx(17.5 - 25.0, rel=1e-2)
    assert variance[0] < 0.1


def test_counts_of_classes_with_much_noise_are_as_uncertain_as_classes_may_differ() -> None:
    bias, variance, _ = errors_of(add_up(differing_classes(1e6)))
    assert bias[0] == pytest.approx(17.5 - 20.0, rel=1e-2)
    assert variance[0] == pytest.approx((UNLIKE * 10) ** 2, rel=1e-2)


def test_cleaned_counts_do_not_add_up_to_the_real_count_by_the_law_of_the_noise() -> None:
    bias, variance, _ = errors_of(add_up(differing_classes(1e-4)), is_plain=False)
    # The prior's model of the classes decides, as uncertain as they may differ.
    assert variance[0] == pytest.approx((UNLIKE * 10) ** 2, rel=0.3)
    assert abs(bias[0]) > 0


def test_cleaning_takes_noise_out_of_far_ranges_and_adds_to_near_ones() -> None:
    """Half of 100 workers were freed; two near points show 90 of them, two of eight far ones 10."""
    tables_ = NoisyTables(
        workers=np.array([[45.0, 45.0, 5.0, 5.0] + [0.0] * 6]),
        lost=np.zeros((1, 10)),
        lost_variance=np.zeros((1, 10)),
        freed=np.array([50.0]),
        gained=np.array([50.0]),
        gained_variance=np.array([50.0]),
        even=np.full(10, 0.1),
        n_tables=np.ones(1),
        kept_at=np.ones((1, FULLNESS.size)),
    )
    away, share = np.array([2.0, 2.0] + [50.0] * 8), np.full(10, 0.1)
    found = cleaning_of(tables_, away, share, by_point=False)
    # Near: 45 of 90 kept + 10 noise, so 35 were added. Far: 5 of 10 kept + 40 noise, so empty points lost 35.
    np.testing.assert_allclose(found.change, [35 / 2] * 2 + [0.0] * 2 + [-35 / 6] * 6)
    assert found.noise == pytest.approx(
        0.5
    )  # 40 of noise and 40 of the 50 who stayed are expected in far points
    # Read in proportion, both ways are the same.
    np.testing.assert_allclose(cleaning_of(tables_, away, share, by_point=True).change, found.change)
    parts = found.parts_of(np.array([[20.0, 30.0]]), np.array([[10.0, 40.0]]), (50.0, 50.0))
    np.testing.assert_allclose(parts, [[0.3, 0.7]])
    assert CLEANED_RANGES_MI == ENGINE_RANGES_MI


def test_cleaning_that_reads_large_tables_by_points_gives_ranges_what_their_points_lost() -> None:
    """Every occupied point lost 2 workers, wherever it is, and these were spread over all ten."""
    workers = np.array([[60.0, 30.0, 5.0, 5.0] + [0.0] * 6])
    tables_ = NoisyTables(
        workers=workers,
        lost=np.where(workers > 0, 2.0, 0.0),
        lost_variance=np.zeros((1, 10)),
        freed=np.array([8.0]),
        gained=np.array([8.0]),
        gained_variance=np.array([8.0]),
        even=np.full(10, 0.1),
        n_tables=np.ones(1),
        kept_at=np.ones((1, FULLNESS.size)),
    )
    away, share = np.array([2.0, 2.0] + [50.0] * 8), np.full(10, 0.1)
    found = cleaning_of(tables_, away, share, by_point=True)
    # Near: 4 lost, 1.6 gained, so cleaning added 2.4, in proportion to 60 and 30. Far: empty points lost as many.
    np.testing.assert_allclose(found.change, [1.6, 0.8, 0.0, 0.0] + [-0.4] * 6)


def flows_of(store: Store) -> pandas.DataFrame:
    """Workers by workplace block, segment, workplace tract and home tract."""
    tract = store.table("blocks", ["tract_index"])["tract_index"].to_numpy()
    jobs = store.table("jobs")
    return pandas.DataFrame(
        {
            "block": jobs["destination_index"].to_numpy(np.int64),
            "segment": (jobs["age"] * 9 + jobs["earnings"] * 3 + jobs["industry"] - 13).to_numpy(np.int64),
            "work": tract[jobs["destination_index"]],
            "home": tract[jobs["origin_index"]],
            "workers": jobs["count"].to_numpy(np.int64),
        }
    )


@pytest.mark.parametrize(
    "synthesis",
    [
        {"mechanism": "exponential", "clean": True},
        {"mechanism": "exponential", "unit": "tract"},
    ],
)
def test_errors_cover_the_flows_of_a_whole_release(
    synthesis: dict[str, Any], demo_dataset: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dataset, path = shutil.copytree(demo_dataset, tmp_path / "d.dataset"), tmp_path / "made.release"
    privacy = PrivacyParameters(epsilon="5", delta="1e-6", min_retention="1", accountant="sound")
    run_synthesis(dataset, path, privacy, SynthesisParameters(**synthesis), test_key=True)
    release = open_store(path, "release")
    drawn, real = flows_of(release), flows_of(open_store(demo_dataset, "dataset"))
    of_tract = {tract: drawn[drawn["work"] == tract] for tract in np.unique(drawn["work"]).tolist()}

    def released(tract: int) -> ReleasedRows:
        mine = of_tract[tract]
        return ReleasedRows(
            *(mine[name].to_numpy(np.int64) for name in ("block", "segment", "home", "workers"))
        )

    tracts = release.table("tracts", COLUMNS)
    errors = ExpectedErrors(release.document("certificate.json"), tracts, release.table("prior"), released)
    squares = []
    for tract in sorted(of_tract)[::3]:
        units = ["work"] if "unit" in synthesis else ["block", "segment"]
        cells = of_tract[tract].groupby(units)["workers"].sum()
        n, times = np.unique(cells, return_counts=True)
        read, true = (
            np.bincount(
                each.loc[each["work"] == tract, "home"],
                each.loc[each["work"] == tract, "workers"],
                len(tracts),
            )
            for each in (drawn, real)
        )
        table = np.zeros((len(tracts), len(tracts)))
        table[:, tract] = read
        found = errors.of_counts(
            np.eye(len(tracts)),
            table,
            np.full(n.size, tract),
            n,
            np.broadcast_to(times, (len(tracts), n.size)),
        )
        some = true > 0
        said = np.array([one.error for one in found])[some]
        squares.append(np.stack([said**2, (read - true)[some] ** 2]))
    said, actual = np.sqrt(np.concatenate(squares, axis=1).mean(axis=1))
    assert 0.85 < said / actual < 2.0

    every = np.array(sorted(of_tract))
    of_whole = drawn.groupby("work")["workers"].sum().to_numpy()
    size = of_whole if "unit" in synthesis else np.full(every.size, 4)
    counts = np.array(
        [
            drawn.loc[drawn["home"] == home]
            .groupby("work")["workers"]
            .sum()
            .reindex(range(len(tracts)), fill_value=0)
            for home in every[:3]
        ]
    )
    asked = np.eye(len(tracts))[every[:3]], counts, every, size, np.ones((3, every.size))
    together = errors.of_counts(*asked)
    monkeypatch.setattr(expected_error, "_TOGETHER", 1)
    for one, alone in zip(together, errors.of_counts(*asked), strict=True):
        assert alone.error > 0
        assert one.error == pytest.approx(alone.error, rel=1e-9)


def test_sums_over_points_of_a_count_are_those_of_values_that_are_shares() -> None:
    """Squares of shares are corrected in cut points alone; counts share home areas; the plain sums are the twin."""
    rng = np.random.default_rng(3)
    priors, made = zip(*(a_tract(rng, n_points, 3) for n_points in (9, 6)), strict=True)
    home = (np.arange(30) % 9 == np.arange(5)[:, None]).astype(float)
    home[2:4, ::3], home[4] = 0.25, 1.0
    of_row = np.array([4, 0, 3, 3, 1, 2])
    part = rng.random((2, 6, 3))
    values = values_of_areas(home, of_row).of(np.arange(2))
    found = points_of_counts(HomeCells(values, 5, priors), made, part, of_row)
    each = values_of_areas(home[of_row]).of(np.arange(2))
    plain = points_of_sums(HomeCells(each, 6, priors), made, part)
    np.testing.assert_allclose(found.by_class, plain.by_class, rtol=1e-9, atol=1e-12)
    for name, of_count, of_sum in zip(PLAIN, found.plain, plain.plain, strict=True):
        if name not in ("whole", "cut"):  # of one worker, and of points that are cut: in counts alone
            np.testing.assert_allclose(of_count, of_sum, rtol=1e-9, atol=1e-12, err_msg=name)
    assert found.plain[PLAIN.index("cut"), :, 0].max() == 0
    assert found.plain[PLAIN.index("cut"), :, 2:4].min() > 0


def test_sums_over_points_are_those_of_each_tract_written_out() -> None:
    """Tracts with other points and classes stand beside each other: each by itself, in plain sums over points."""
    rng = np.random.default_rng(5)
    tracts = [a_tract(rng, n_points, n_classes) for n_points, n_classes in ((9, 3), (6, 2))]
    priors, made = zip(*tracts, strict=True)
    mean = rng.normal(size=(2, 30))
    square = mean**2 + rng.random((2, 30))
    row, tract = (each.reshape(1, -1) for each in np.indices(mean.shape))
    values = HomeValues(row, tract, mean.reshape(1, -1), square.reshape(1, -1))
    part = rng.random((2, 1, 3))
    found = points_of_sums(HomeCells(values, 2, priors), made, part)
    for place, (prior, tables_) in enumerate(tracts):
        j, k = tables_.n_classes, prior.share.size
        of_point = prior.point == np.arange(k)[:, None]
        s, second = mean @ (of_point * prior.people).T, square @ (of_point * prior.people).T
        g = mean @ (of_point * prior.gravity).T
        workers, lost = tables_.columns[:, :j], tables_.columns[:, j : 2 * j]
        variance, even = tables_.columns[:, 2 * j + 3 : 3 * j + 3], tables_.columns[:, 3 * j + 3]
        middle = s @ even
        off = (s - middle[:, None]) ** 2
        for at, expected in enumerate((s @ workers, off @ variance, s @ lost)):
            np.testing.assert_allclose(found.by_class[at, place, :, :j], expected, rtol=1e-9, atol=1e-12)
            assert not found.by_class[at, place, :, j:].any()
        mine = workers @ part[place, 0, :j]
        off_square = ((mean[:, None] - s[..., None]) ** 2 + (square - mean**2)[:, None]) * of_point
        plain = {
            "mean": middle,
            "spread": s**2 @ even - middle**2,
            "whole": off @ prior.share,
            "usual": s @ prior.share,
            "usual_square": second @ prior.share,
            "within": (off_square @ prior.people**2) @ mine**2,
            "placed": (second - s**2) @ mine,
            "moved": (s - g) @ mine,
        }
        for name, expected in plain.items():
            of_tract = found.plain[PLAIN.index(name), place]
            np.testing.assert_allclose(of_tract, expected, rtol=1e-9, atol=1e-12, err_msg=name)


def test_the_tables_of_a_tract_take_no_memory_for_points_without_workers() -> None:
    """Finds columns kept whole: a state's flow matrix needs more of them than the cache holds."""
    n_points, n_classes = 1_000, 25
    share = np.full(n_points, 1 / n_points)
    workers = np.zeros((n_classes, n_points))
    workers[:, ::50] = np.arange(1, n_classes + 1)[:, None]
    nothing, each = np.zeros(n_classes), np.ones(n_classes)
    released = NoisyTables(
        workers, 0 * workers, 0 * workers, nothing, nothing, nothing, share, each, np.ones((n_classes, 1))
    )
    prior = TractPrior(
        point=np.arange(n_points, dtype=np.int32),
        people=share,
        gravity=share,
        share=share,
        retention=share,
        stays=share,
        pooled=0.0,
        away_mi=share,
    )
    prepared = PreparedTables.of(released, Cleaning.none(n_points), prior)
    np.testing.assert_array_equal(prepared.columns[:, :n_classes].T, workers)
    assert prepared.columns.shape == (n_points, 3 * n_classes + 9)
    assert prepared.nbytes < prepared.columns.nbytes / 5


def a_tract(rng: np.random.Generator, n_points: int, n_classes: int) -> tuple[TractPrior, PreparedTables]:
    """A workplace tract with 30 home tracts in some points, and tables with arbitrary numbers."""
    point = np.concatenate([np.arange(n_points), rng.integers(n_points, size=30 - n_points)])
    mass = rng.random((2, 30)) + 0.1
    people, gravity = (each / np.bincount(point, each)[point] for each in mass)
    share = rng.random(n_points) / n_points
    prior = TractPrior(
        point=point.astype(np.int32),
        people=people,
        gravity=gravity,
        share=share,
        retention=share,
        stays=np.ones(n_points),
        pooled=0.0,
        away_mi=share,
    )
    released = NoisyTables(
        workers=rng.integers(0, 9, (n_classes, n_points)).astype(float),
        lost=rng.normal(size=(n_classes, n_points)),
        lost_variance=rng.random((n_classes, n_points)),
        freed=rng.random(n_classes),
        gained=rng.random(n_classes),
        gained_variance=rng.random(n_classes),
        even=rng.random(n_points) / n_points,
        n_tables=np.ones(n_classes),
        kept_at=np.ones((n_classes, FULLNESS.size)),
    )
    return prior, PreparedTables.of(released, Cleaning(rng.normal(size=n_points), 0.5), prior)
