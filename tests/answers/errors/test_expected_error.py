"""The expected error of a count: against drawing, against the pipeline's own prior, and on a whole release."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pandas
import pytest

from engine.parameters import SynthesisParameters
from engine.streams import PublicSeed
from geodata.store.store import Store, open_store
from mapapp.answers.errors.certificate_terms import SupportTerms, check_terms
from mapapp.answers.errors.dirichlet_multinomial import EVERYWHERE, HOMES
from mapapp.answers.errors.expected_error import CountError, ExpectedErrors
from mapapp.answers.errors.home_values import values_of_areas
from mapapp.answers.errors.support_prior import SupportPriors
from mapapp.answers.release_claims import ParameterClaims
from mapapp.kinds.base.geography import read_geography, read_workplaces
from mapapp.kinds.release.certificate.exponential import read_privacy
from mapapp.kinds.release.make.prior import public_prior
from mapapp.kinds.release.make.support import build_support
from tests.answers.errors.one_count import error_of_count

COLUMNS = [
    "lon_deg",
    "lat_deg",
    "puma_index",
    "superpuma_index",
    "population",
    "state_id",
    "elsewhere",
]
UNITS, WHOLE = 1 << 20, 1 << 32


def certificate_of(alpha: dict[int, float], retention: float, **synthesis: Any) -> dict[str, Any]:
    """As much of a certificate as is read: least weights by n, one retention, a uniform prior."""
    kept = f"1:{int(retention * WHOLE)}"
    rows = [
        {"published_count": n, "worst_min_prior_weight_units": round(weight * UNITS), "prior_weights": kept}
        for n, weight in alpha.items()
    ]
    parameters = SynthesisParameters(
        prior="uniform", strength=0.0, retention_scale=0.0, editing="none", **synthesis
    )
    return {
        "parameters": {
            "privacy": {"min_retention": str(Fraction(retention).limit_denominator(1000))},
            "synthesis": parameters.to_dict(),
        },
        "construction": {},
        "accounting": {"rows": rows, "weight_units_per_worker": UNITS, "retention_units": WHOLE},
    }


def line_of_tracts(n_tracts: int) -> pandas.DataFrame:
    """Tracts a mile apart, each of a hundred people, two a PUMA and four a SuperPUMA."""
    place = np.arange(n_tracts)
    return pandas.DataFrame(
        {
            "lon_deg": -71.0 + place * 0.0192,
            "lat_deg": 41.0,
            "puma_index": place // 2,
            "superpuma_index": place // 4,
            "population": 100,
        }
    )


NO_FLOWS = pandas.DataFrame({"destination_tract_index": [], "origin_tract_index": [], "weight": []})


@pytest.mark.parametrize("retention", [1.0, 0.1])
@pytest.mark.parametrize("inside", [range(1), range(4), range(5, 15), range(20)])
def test_the_error_is_that_of_many_draws(retention: float, inside: range) -> None:
    """Fixed tables, pruned and drawn 4,000 times: what is stated is no less than the root mean squared error.

    Nor is it half as much again: pooling synthesizers overstates p (1 - p). Tracts are points of their own, so nothing
    is due to placing. The stated error is that of the count that was read, so it is averaged as squares.
    """
    rng = np.random.default_rng(4)
    k, sizes, n_draws = 20, np.repeat([1, 2, 5, 30], [60, 30, 10, 3]), 4_000
    alpha = {1: 0.05, 2: 0.1, 5: 0.2, 30: 0.4}
    likely = rng.dirichlet(np.full(k, 0.5))
    home = np.zeros(k)
    home[list(inside)] = 1.0
    counts, real = np.zeros(n_draws), 0
    for n in sizes:
        table = rng.multinomial(n, likely)
        kept = (rng.random((n_draws, k)) < retention) | (table > 0)
        weights = rng.gamma(table + alpha[int(n)], size=(n_draws, k)) * kept
        drawn = rng.multinomial(n, weights / weights.sum(axis=1, keepdims=True))
        counts += drawn @ home
        real += int(table @ home)
    wide = {"tract_radius_mi": 12_500.0, "puma_radius_mi": 12_500.0}
    errors = ExpectedErrors(certificate_of(alpha, retention, **wide), line_of_tracts(k), NO_FLOWS)
    n, times = np.unique(sizes, return_counts=True)
    workplaces = pandas.DataFrame({"tract_index": 0, "n_workers": n, "n_synthesizers": times})
    stated = [error_of_count(errors, home, workplaces, {0: int(count)}) for count in counts[:200]]
    assert all(found.placement == 0 for found in stated)
    actual = np.sqrt(np.mean((counts - real) ** 2))
    root = np.sqrt(np.mean([found.error**2 for found in stated]))
    if len(inside) == k:
        assert actual == 0
        assert root < 1.0  # of 270 workers; p takes half a worker elsewhere
        return
    assert actual < root < 1.5 * actual
    covered = np.mean(
        [abs(count - real) <= 2 * found.error for count, found in zip(counts, stated, strict=False)]
    )
    assert covered > 0.8


def test_homes_that_are_not_spread_as_people_are_within_points_are_covered() -> None:
    """Four tracts far away are one point: 400 workers, of whom real homes put more or fewer in a tract than people do.

    Real shares have the relative error that is stated, and neighbors work in the same places. No noise is drawn.
    """
    rng = np.random.default_rng(11)
    n_draws, n_workers, share = 4_000, 400, 0.25
    off = share * (1.0 + HOMES * (1.0 - share) * rng.standard_normal(n_draws))
    of_pairs = rng.binomial(n_workers // 2, np.clip(off, 0.0, 1.0))
    real = np.where(rng.random(n_draws) < 0.7, 2 * of_pairs, rng.binomial(n_workers, np.clip(off, 0.0, 1.0)))
    drawn = rng.binomial(n_workers, share, n_draws)
    radii = {"tract_radius_mi": 0.5, "puma_radius_mi": 1.5}
    errors = ExpectedErrors(certificate_of({1: 1e-6}, 1.0, **radii), line_of_tracts(8), NO_FLOWS)
    workplaces = pandas.DataFrame({"tract_index": 0, "n_workers": 1, "n_synthesizers": [n_workers * 4]})
    home = np.zeros(8)
    home[5] = 1.0
    stated = np.mean(
        [error_of_count(errors, home, workplaces, {0: int(count)}).error ** 2 for count in drawn[:300]]
    )
    assert 1.0 < np.sqrt(stated / np.mean((drawn - real) ** 2)) < 1.3
    whole = np.zeros(8)
    whole[4:] = 1.0
    assert error_of_count(errors, whole, workplaces, {0: n_workers}).placement == 0.0


def test_homes_of_many_workplaces_differ_less_than_those_of_a_few() -> None:
    """Within points, real homes differ from people alike among a town's workplaces, and by less everywhere."""
    tracts = line_of_tracts(400)
    certificate = certificate_of({1: 1e-6}, 1.0, tract_radius_mi=0.5, puma_radius_mi=0.6)
    errors = ExpectedErrors(certificate, tracts, NO_FLOWS)
    home = np.zeros(400)
    home[1] = 1.0
    relative = []
    for n_works in (1, 8, 200):
        works = range(100, 100 + n_works)
        workplaces = pandas.DataFrame({"tract_index": works, "n_workers": 1, "n_synthesizers": 4_000})
        found = error_of_count(errors, home, workplaces, dict.fromkeys(works, 100))
        relative.append(found.placement / (100 * n_works))
    assert relative[0] == pytest.approx(HOMES * 0.75)
    assert relative[1] == pytest.approx(HOMES * 0.75)
    assert relative[2] == pytest.approx(HOMES * 0.75 * math.sqrt(EVERYWHERE + (1 - EVERYWHERE) * 8 / 200))


def test_sums_of_homes_within_points_are_as_uncertain_as_counts() -> None:
    errors = ExpectedErrors(
        certificate_of({1: 1e-6}, 1.0, tract_radius_mi=0.5, puma_radius_mi=1.5), line_of_tracts(8), NO_FLOWS
    )
    workplaces = pandas.DataFrame({"tract_index": 0, "n_workers": 1, "n_synthesizers": [1_600]})
    home, total = np.zeros((1, 8)), np.zeros((1, 8))
    home[0, [5, 6]] = 1.0
    total[0, 0] = 200.0  # half of the point, which is one of four that are equally likely
    one = error_of_count(errors, home[0], workplaces, {0: 200})
    tract, n, times = (workplaces[name].to_numpy() for name in ("tract_index", "n_workers", "n_synthesizers"))
    (as_sum,) = errors.of_sums(values_of_areas(home), total, total, tract, n, times)
    assert one.placement == pytest.approx(HOMES * 200 * 0.5)
    assert as_sum == pytest.approx(one.error, rel=0.05)


def the_prior(store: Store, **synthesis: Any) -> tuple[Any, Any, SupportPriors]:
    """Support points of all workplace tracts as the pipeline makes them, and as the errors take them.

    Both under the release's certificate with some parameters changed.
    """
    certificate = store.document("certificate.json")
    certificate["parameters"]["synthesis"] |= synthesis
    parameters = SynthesisParameters.from_dict(certificate["parameters"]["synthesis"])
    geography = read_geography(store)
    workplaces = read_workplaces(store, geography)
    support = build_support(
        PublicSeed(certificate["construction"]["editing_seed"]),
        geography.tracts,
        workplaces.tract,
        public_prior(geography, workplaces, parameters),
        read_privacy(msgspec.convert(certificate["parameters"], ParameterClaims)),
        parameters,
    )
    priors = SupportPriors(SupportTerms.of(certificate), store.table("tracts", COLUMNS), store.table("prior"))
    return workplaces, support, priors


@pytest.mark.parametrize("synthesis", [{}, {"far_state_miles": 100.0}], ids=["apart", "pooled"])
def test_the_prior_matches_that_of_the_pipeline(demo_release: Path, synthesis: dict[str, Any]) -> None:
    """Points with prior mass are the same with the same share and retention; the others are taken by probability."""
    workplaces, support, priors = the_prior(open_store(demo_release, "release"), **synthesis)
    for row, tract in enumerate(workplaces.tract):
        mine = slice(*support.coarsening.support_ptr[row : row + 2])
        share, retention = support.share[mine], support.table.retention[mine] / WHOLE
        found = priors.of_tract(int(tract))
        # The pipeline's decay is interpolated far away.
        np.testing.assert_allclose(found.share[found.share > 0], share[share > 0], rtol=1e-3, atol=1e-9)
        np.testing.assert_allclose(found.retention[found.share > 0], retention[share > 0], rtol=1e-3)
        assert (found.pooled > 0) == bool(((found.stays < 1) & (found.share == 0)).any())


def test_errors_cover_the_flows_of_a_whole_release(demo_dataset: Path, demo_release: Path) -> None:
    """Every pair of tracts with a workplace: the same release in every run."""
    release = open_store(demo_release, "release")
    errors = ExpectedErrors(
        release.document("certificate.json"), release.table("tracts", COLUMNS), release.table("prior")
    )
    tract_of_block = release.table("blocks", ["tract_index"])["tract_index"].to_numpy()
    flows, workplaces = {}, None
    for who, store in (("drawn", release), ("real", open_store(demo_dataset, "dataset"))):
        jobs = store.table("jobs")
        work, home = (tract_of_block[jobs[f"{end}_index"]] for end in ("destination", "origin"))
        flows[who] = jobs.groupby([work, home])["count"].sum()
        of_synthesizer = jobs.groupby([work, "destination_index", "age", "earnings", "industry"])[
            "count"
        ].sum()
        table = (
            of_synthesizer.rename_axis(["tract_index", "block", "a", "e", "i"])
            .reset_index()
            .groupby(["tract_index", "count"])
            .size()
        )
        workplaces = table.reset_index(name="n_synthesizers").rename(columns={"count": "n_workers"})
    pairs = pandas.DataFrame(flows).fillna(0).astype(int)
    assert workplaces is not None
    n_tracts, rows = len(release.table("tracts", COLUMNS)), []
    for pair, row in pairs.iterrows():
        assert isinstance(pair, tuple)
        work, home = pair
        area = np.zeros(n_tracts)
        area[home] = 1.0
        mine = workplaces[workplaces["tract_index"] == work]
        found = error_of_count(errors, area, mine, {int(work): int(row["drawn"])})
        off = abs(row["drawn"] - row["real"])
        rows.append((found.error**2, off**2, off <= 2 * found.error))
    stated, actual, covered = np.array(rows, dtype=float).T
    assert 0.85 < np.sqrt(stated.mean() / actual.mean()) < 1.6
    assert covered.mean() > 0.9


def test_sums_over_workplaces_are_no_more_certain_than_their_parts() -> None:
    errors = ExpectedErrors(certificate_of({3: 0.1}, 0.5), line_of_tracts(12), NO_FLOWS)
    home = np.ones(12)
    home[6:] = 0.0
    workplaces = pandas.DataFrame({"tract_index": [1, 9], "n_workers": 3, "n_synthesizers": 20})
    both = error_of_count(errors, home, workplaces, {1: 50, 9: 10})
    parts = [
        error_of_count(errors, home, workplaces[workplaces["tract_index"] == t], {t: c})
        for t, c in ((1, 50), (9, 10))
    ]
    assert both.bias == pytest.approx(sum(part.bias for part in parts))
    assert both.sd == pytest.approx(math.hypot(*(part.sd for part in parts)))
    assert both.error <= sum(part.error for part in parts) + 1e-9


def test_the_squares_of_an_error_s_parts_add_up() -> None:
    assert CountError(bias=-1.0, sd=2.0, placement=2.0).error == pytest.approx(3.0)


def test_unknown_mechanisms_have_no_expected_error() -> None:
    certificate = certificate_of({1: 0.1}, 1.0)
    certificate["parameters"]["synthesis"] |= {"mechanism": "magic"}
    with pytest.raises(ValueError, match=r"Invalid enum value 'magic' - at `\$.+mechanism`"):
        check_terms(certificate)


def test_homes_in_a_pool_are_shared_out_as_they_are_drawn(demo_release: Path) -> None:
    """Both states outside the demo country are one point; its shares are the weights that workers are drawn by."""
    workplaces, support, priors = the_prior(open_store(demo_release, "release"), far_state_miles=100.0)
    split, apart = support.far_split, support.coarsening_of_homes
    states = np.flatnonzero(apart.tracts.far_group >= 0)
    assert states.size == 2
    n_found = 0
    for row, tract in enumerate(workplaces.tract):
        shares = priors.of_tract(int(tract)).people[states]
        only = split.only[split.support_ptr[row] : split.support_ptr[row + 1]]
        for pool in -1 - only[(-split.member_ptr.size < only) & (only < 0)]:  # unless editing took it
            weights = np.diff(
                split.cumulative[split.member_ptr[pool] : split.member_ptr[pool + 1]], prepend=0
            )
            np.testing.assert_allclose(shares, weights / weights.sum(), rtol=1e-3)
            n_found += 1
    assert n_found
