"""The lone worker's risk in certificates: made, made again, and said in words."""

from __future__ import annotations

from copy import deepcopy
from fractions import Fraction
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest

from engine.accountant.lone_worker import stay_apart
from engine.mechanisms.thetas import THETA_BITS, inverse_theta
from engine.parameters import Mechanism, PrivacyParameters, SynthesisParameters, Unit
from engine.streams import PublicSeed
from geodata.store.store import Store, open_store
from mapapp.answers.promise.lone_worker import lone_worker_sentence, odds_sentence, stay_text, true_tract_text
from mapapp.answers.release_claims import ReleaseCertificate
from mapapp.kinds.release.certificate import recheck
from mapapp.kinds.release.certificate.recheck import HomesOfKey
from mapapp.kinds.release.make.batch import open_source, prepare_batch
from mapapp.kinds.release.make.lone_worker import lone_worker_facts


@pytest.fixture(scope="module")
def dataset(demo_dataset: Path) -> Store:
    return open_store(demo_dataset, "dataset")


def facts_of(
    dataset: Store,
    mechanism: Mechanism,
    unit: Unit = "cell",
    epsilon: str = "6.5",
    radii_mi: tuple[float, float] = (6.23, 21.54),
) -> dict[str, Any]:
    privacy = PrivacyParameters(epsilon=epsilon, delta="1e-6", min_retention="0.1", accountant="sound")
    parameters = SynthesisParameters(
        mechanism=mechanism, unit=unit, tract_radius_mi=radii_mi[0], puma_radius_mi=radii_mi[1]
    )
    source = open_source(dataset, PublicSeed.for_tests(), privacy, parameters)
    parts = [
        prepare_batch(source, batch).certified.lone_workers for batch in range(source.workplaces.n_batches)
    ]
    return lone_worker_facts(parts, parameters)


def test_the_exponential_mechanism_is_randomized_response_for_a_lone_worker(dataset: Store) -> None:
    facts = facts_of(dataset, "exponential")
    stay = facts["stay"]
    assert 0 < stay["least"] <= stay["typical"] <= stay["greatest"] < 1
    epsilon = Fraction("6.5")
    chances = {stay_apart(inverse_theta(epsilon, k, 1) / (1 << THETA_BITS), k, 1) for k in range(2, 400)}
    assert any(stay["least"] == pytest.approx(chance, rel=1e-5) for chance in chances)
    assert (facts["is_bound"], facts["case"]) == (False, "lone workers")


def test_more_is_promised_at_smaller_epsilon(dataset: Store) -> None:
    stays = [facts_of(dataset, "exponential", epsilon=epsilon)["stay"] for epsilon in ("2", "4", "6.5")]
    typical = [stay["typical"] for stay in stays]
    assert typical == sorted(typical)


def test_every_mechanism_says_what_a_lone_worker_risks(dataset: Store) -> None:
    for mechanism in get_args(Mechanism):
        facts = facts_of(dataset, mechanism)
        stay, tract = facts["stay"], facts["true_tract"]
        assert 0 < tract["least"] <= tract["typical"] <= tract["greatest"] < 1, mechanism
        assert tract["typical"] < stay["typical"], mechanism
        assert 0 < stay["least"] <= stay["typical"] <= stay["greatest"] < 1, mechanism


def test_finer_radii_show_the_true_tract_more_often_and_keep_the_true_point_less_often(
    dataset: Store,
) -> None:
    coarse, fine = (facts_of(dataset, "exponential", radii_mi=radii) for radii in ((2.0, 10.0), (12.0, 20.0)))
    assert fine["stay"]["typical"] < coarse["stay"]["typical"]
    assert fine["true_tract"]["typical"] > coarse["true_tract"]["typical"]


@pytest.mark.parametrize("unit", ["block", "tract"])
def test_larger_units_give_an_example(unit: Unit, dataset: Store) -> None:
    facts = facts_of(dataset, "exponential", unit)
    assert facts["case"] == "apart"
    assert facts["workers"] == dataset.manifest["n_jobs"]
    assert "As an example" in str(lone_worker_sentence(facts))


def test_a_certificate_is_checked_with_and_without_it(demo_release: Path) -> None:
    """Earlier certificates lack the field; another chance than the one that follows is found."""
    release = open_store(demo_release, "release")
    certificate = release.document("certificate.json")
    assert certificate["lone_worker"]["stay"]["typical"] > 0
    earlier = {name: value for name, value in certificate.items() if name != "lone_worker"}
    earlier["schema_version"] = 2
    changed = deepcopy(certificate)
    changed["lone_worker"]["stay"]["typical"] /= 2
    without_tract, other_tract = deepcopy(certificate), deepcopy(certificate)
    del without_tract["lone_worker"]["true_tract"]
    deleted = deepcopy(without_tract)
    without_tract["schema_version"] = 2
    other_tract["lone_worker"]["true_tract"]["greatest"] *= 1.01
    source = recheck._source(release, msgspec.convert(certificate, ReleaseCertificate))
    homes = HomesOfKey(source.geography, source.parameters)
    each = (certificate, earlier, without_tract, changed, other_tract, deleted)
    checks = [
        recheck._check_again(source, msgspec.convert(one, ReleaseCertificate), one, homes) for one in each
    ]
    assert [check.ok for check in checks] == [True, True, True, False, False, False]
    assert all("lone_worker" in check.detail for check in checks[3:])


def test_words_for_lone_workers() -> None:
    stay = {"least": 0.7, "typical": 0.753, "greatest": 0.8}
    facts = {"workers": 12, "stay": stay, "is_bound": False, "case": "lone workers"}
    assert stay_text(facts) == "75 % (from 70 % to 80 %)"
    assert "a chance of 75 % (from 70 % to 80 %)" in str(lone_worker_sentence(facts))
    assert stay_text(facts | {"stay": dict.fromkeys(stay, 1.0)}) == "100 %"
    assert "true home tract" not in str(lone_worker_sentence(facts))
    stated = facts | {"true_tract": {"least": 0.3, "typical": 0.413, "greatest": 0.6}}
    assert true_tract_text(stated) == "41 % (from 30 % to 60 %)"
    assert str(lone_worker_sentence(stated)).endswith(
        "in the true home tract with a chance of 41 % (from 30 % to 60 %)."
    )
    for unreadable in (None, {}, {"stay": None}, {"stay": {"least": "0.7"}}, "text"):
        assert stay_text(unreadable) is None
        assert true_tract_text(unreadable) is None
        assert lone_worker_sentence(unreadable) is None


def test_epsilon_in_odds() -> None:
    assert odds_sentence(6.5, delta_is_zero=True) == (
        "Whatever is released, it is at most 670 times as likely with one home of a worker as with another."
    )
    assert odds_sentence(1.0, delta_is_zero=False).startswith(
        "Outside that probability, whatever is released"
    )
