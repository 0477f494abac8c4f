"""Support points without what a draw does not read: the draw and the certificate are the same."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

from engine.parameters import PrivacyParameters, SynthesisParameters
from engine.streams import PublicSeed, SecretKey
from geodata.store.store import open_store
from mapapp.kinds.release.make.batch import PreparedBatch, draw_batch, open_source, prepare_batch
from mapapp.kinds.release.make.promise import certify_batch
from mapapp.kinds.release.make.support import build_support


def test_the_exponential_mechanism_draws_and_certifies_the_same_without_weights(demo_dataset: Path) -> None:
    privacy = PrivacyParameters(epsilon="6.5", delta="1e-6")
    parameters = SynthesisParameters(mechanism="exponential", clean=True, far_state_miles=300.0)
    seed = PublicSeed.for_tests()
    source = open_source(open_store(demo_dataset, "dataset"), seed, privacy, parameters)
    counts = source.counts(0)
    found = []
    for weighted in (True, False):
        support = build_support(
            seed,
            source.geography.tracts,
            counts.destination_tract,
            source.prior,
            privacy,
            parameters,
            weighted=weighted,
        )
        certified = certify_batch(counts, support, privacy, parameters)
        prepared = PreparedBatch(support=support, certified=certified)
        drawn = draw_batch(SecretKey.for_tests(), source, 0, prepared)
        found.append((support, certified, drawn))
    (support, certified, drawn), (bare, again, redrawn) = found
    assert np.unique(support.table.base_weight).size > 10
    assert set(bare.table.base_weight.tolist()) == set(bare.table.retention.tolist()) == {1}
    assert bare.share.tobytes() == support.share.tobytes()
    assert certified.rows == again.rows
    assert certified.lone_workers.stay.tolist() == again.lone_workers.stay.tolist()
    for field in fields(drawn):
        assert np.array_equal(getattr(drawn, field.name), getattr(redrawn, field.name))


def test_a_source_makes_weights_only_for_mechanisms_that_read_them(demo_dataset: Path) -> None:
    store, seed = open_store(demo_dataset, "dataset"), PublicSeed.for_tests()
    privacy = PrivacyParameters(epsilon="6.5", delta="1e-6")
    for mechanism, has_weights in (("exponential", False), ("dirichlet-multinomial", True)):
        parameters = SynthesisParameters.from_dict({"mechanism": mechanism})
        source = open_source(store, seed, privacy, parameters)
        table = source.support(source.counts(0).destination_tract).table
        assert (np.unique(table.base_weight).size > 1) == has_weights


@pytest.mark.parametrize(
    "chosen",
    [
        {"mechanism": "exponential", "clean": True, "far_state_miles": 300.0},
        {"mechanism": "exponential", "clean": True, "prior": "flows"},
        {"mechanism": "exponential", "clean": False},
        {"mechanism": "dirichlet-multinomial", "prior": "flows"},
        {"mechanism": "dirichlet-multinomial", "editing": "none"},
    ],
)
def test_what_is_kept_of_support_points_until_they_are_drawn_is_all_that_a_draw_reads(
    demo_dataset: Path, chosen: dict[str, object]
) -> None:
    privacy = PrivacyParameters(epsilon="6.5", delta="1e-6")
    parameters = SynthesisParameters.from_dict(chosen)
    source = open_source(open_store(demo_dataset, "dataset"), PublicSeed.for_tests(), privacy, parameters)
    whole = prepare_batch(source, 0)
    weighted = parameters.mechanism != "exponential"
    ones = np.ones(whole.support.share.size, dtype=np.int64)
    kept = whole.support.as_drawn(weighted=weighted, placed=parameters.clean, ones=ones)
    assert kept.coarsening.support_population.size == 0
    assert (kept.coarsening.support_distance_mi.size > 0) == parameters.clean
    assert (kept.share.size > 0) == (parameters.clean or whole.support.n_eliminated > 0)
    if not weighted:
        assert np.shares_memory(kept.table.base_weight, ones)
    prepared = PreparedBatch(support=kept, certified=whole.certified, counts=whole.counts)
    wanted, found = (draw_batch(SecretKey.for_tests(), source, 0, batch) for batch in (whole, prepared))
    for field in fields(wanted):
        assert np.array_equal(getattr(wanted, field.name), getattr(found, field.name))
