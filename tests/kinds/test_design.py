"""The designed setting: chosen from public data alone, the same each time, and better than the default."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import chi2

from engine.errors import CertificateError, ParameterError
from engine.parameters import PrivacyParameters, SynthesisParameters
from engine.streams import PublicSeed
from geodata.store.schema import PUBLIC_TABLES
from geodata.store.store import Store, open_store, write_store
from mapapp.kinds.base.geography import read_geography, read_workplaces
from mapapp.kinds.base.inputs import WorkplaceCounts, read_inputs
from mapapp.kinds.release.choose.design_by_validity import WHOLE_EARTH_MI, design_parameters
from mapapp.kinds.release.choose.expected_validity import Expected, HomeTracts, expected_validity, grid_around
from mapapp.kinds.release.choose.public_part import (
    PublicPart,
    public_distribution,
    read_public_part,
    simulated_homes,
)
from mapapp.kinds.release.make.prior import public_prior

EPSILON, DELTA = "8.98", "1e-6"


@pytest.fixture(scope="module")
def dataset(demo_dataset: Path) -> Store:
    return open_store(demo_dataset, "dataset")


@pytest.fixture(scope="module")
def public(dataset: Store) -> PublicPart:
    return read_public_part(dataset)


def with_real_homes(dataset: Store, privacy: PrivacyParameters, parameters: SynthesisParameters) -> Expected:
    geography = read_geography(dataset)
    workplaces = read_workplaces(dataset, geography, n_batches=1)
    assert workplaces.n_batches == 1
    inputs = read_inputs(dataset, geography, workplaces, 0)
    homes = HomeTracts(
        cell=grid_around(geography.tracts, inputs.destination_tract)[1],
        origin_tract=geography.tract_of_block[inputs.worker_origin].astype(np.int64),
    )
    prior = public_prior(geography, workplaces, parameters)
    counts = WorkplaceCounts.of(inputs)
    seed = PublicSeed.for_tests()
    return expected_validity(seed, geography.tracts, prior, counts, homes, privacy, parameters)


def with_other_homes(dataset: Store, path: Path) -> Store:
    """The same workplaces; everybody of a workplace and segment lives in one block."""
    jobs = dataset.table("jobs")
    keys = ["destination_index", "age", "earnings", "industry"]
    moved = jobs.groupby(keys, as_index=False)[["count"]].sum()
    blocks = dataset.table("blocks", ["tract_index"])
    moved["origin_index"] = (np.arange(len(moved)) * 7 % len(blocks)).astype(np.int32)
    with write_store(path, "dataset") as writer:
        for table in PUBLIC_TABLES:
            writer.copy_table(dataset, table.name)
        writer.table("jobs", moved[list(jobs.columns)])
    return open_store(path, "dataset")


def test_other_homes_make_no_other_choice(dataset: Store, public: PublicPart, tmp_path: Path) -> None:
    other = with_other_homes(dataset, tmp_path / "other.dataset")
    assert len(other.table("jobs")) != len(dataset.table("jobs"))
    assert design_parameters(read_public_part(other), EPSILON, DELTA) == design_parameters(
        public, EPSILON, DELTA
    )


def test_the_column_of_homes_is_not_read(dataset: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []
    for way in ("table", "batches", "slice"):
        whole = getattr(Store, way)

        def watched(self: Store, name: str, *others: Any, whole: Any = whole, **named: Any) -> Any:
            if name == "jobs":
                asked.append((*others, *named.values())[-1])
            return whole(self, name, *others, **named)

        monkeypatch.setattr(Store, way, watched)
    read_public_part(dataset)
    assert asked
    assert all("origin_index" not in columns for columns in asked)


def test_workers_are_counted_by_workplace_and_segment(dataset: Store, public: PublicPart) -> None:
    geography = read_geography(dataset)
    inputs = read_inputs(dataset, geography, read_workplaces(dataset, geography, n_batches=1), 0)
    for name in ("destination_tract", "destination", "tract", "count"):
        np.testing.assert_array_equal(getattr(public.sample, name), getattr(inputs, name))


def test_the_choice_beats_the_default_on_real_homes(dataset: Store, public: PublicPart) -> None:
    privacy, parameters, facts = design_parameters(public, EPSILON, DELTA)
    asked = PrivacyParameters(epsilon=EPSILON, delta=DELTA, min_retention="0.025", accountant="sound")
    assert (privacy.epsilon, privacy.delta, privacy.accountant) == (asked.epsilon, asked.delta, "sound")
    chosen = with_real_homes(dataset, privacy, parameters)
    default = with_real_homes(dataset, asked, SynthesisParameters(prior="flows"))
    assert chosen.kl_small < default.kl_small
    assert chosen.kl_all < default.kl_all
    assert facts["settings_tried"] > 20


def test_what_is_not_searched_stays(public: PublicPart) -> None:
    base = SynthesisParameters(placement="representative", editing="none", q50_mi=5.0)
    _, parameters, _ = design_parameters(public, "6", DELTA, base=base, priors=["uniform"])
    assert (parameters.placement, parameters.editing, parameters.q50_mi) == ("representative", "none", 5.0)
    assert parameters.prior == "uniform"


def test_without_a_prior_or_a_promise_nothing_is_chosen(public: PublicPart) -> None:
    with pytest.raises(ParameterError, match="epsilon is 0"):
        design_parameters(public, 0, DELTA)
    with pytest.raises(ParameterError, match="priors are"):
        design_parameters(public, EPSILON, DELTA, priors=[])
    with pytest.raises(CertificateError, match="no setting holds at epsilon_final 1e-13"):
        design_parameters(public, "1e-13", DELTA)


def test_simulated_homes_follow_the_public_distribution(public: PublicPart) -> None:
    """Chi-square over the tracts of all workplaces; fixed seed, one false alarm in a million."""
    decay = public_prior(public.geography, public.workplaces, SynthesisParameters()).decay
    assert decay is not None
    distribution = public_distribution(public, decay)
    assert distribution.sum(axis=1) == pytest.approx(1.0)
    sample = public.sample
    homes = simulated_homes(public, decay, np.inf).origin_tract
    expected = np.bincount(sample.tract, sample.count, distribution.shape[0]) @ distribution
    found = np.bincount(homes, minlength=expected.size)
    enough = expected >= 10
    assert ((found - expected)[enough] ** 2 / expected[enough]).sum() < chi2.ppf(1 - 1e-6, enough.sum())
    crowded = simulated_homes(public, decay, 1.0).origin_tract
    assert distinct_pairs(sample, crowded) < 0.6 * distinct_pairs(sample, homes)


def distinct_pairs(sample: WorkplaceCounts, homes: Any) -> int:
    destination = np.repeat(sample.destination, sample.count)
    return int(np.unique(np.stack([destination, homes]), axis=1).shape[1])


def test_no_protection_and_no_coarsening_lose_nothing(dataset: Store) -> None:
    privacy = PrivacyParameters(epsilon=60, delta=DELTA, accountant="sound")
    parameters = SynthesisParameters(
        prior="uniform", strength=0.0, tract_radius_mi=WHOLE_EARTH_MI, puma_radius_mi=WHOLE_EARTH_MI
    )
    found = with_real_homes(dataset, privacy, parameters)
    n_tracts = read_geography(dataset).tracts.n_tracts
    assert found.n_support == n_tracts
    # A weight is at least 2^-20, one for each tract.
    assert 0 <= found.kl.max() < 2 * n_tracts * 2.0**-20
    assert found.n_workers.sum() == dataset.table("jobs")["count"].sum()


def test_dropped_workers_are_not_measured(dataset: Store) -> None:
    privacy = PrivacyParameters(epsilon=EPSILON, delta=DELTA)
    with pytest.raises(ParameterError, match="drop"):
        with_real_homes(dataset, privacy, SynthesisParameters(editing="drop", replication=True))
