"""Mechanism, unit and radii, chosen from public data by drawing simulated homes."""

import json
import math
import shutil
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pandas
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.arrays import FloatArray
from engine.errors import ParameterError
from engine.parameters import Mechanism, PrivacyParameters, SynthesisParameters, Unit
from engine.streams import PublicSeed
from engine.support.tracts import OriginTracts
from engine.validity.grid import CELL_RANGE
from geodata.store.schema import PUBLIC_TABLES
from geodata.store.store import Store, open_store, write_store
from mapapp.answers.release_claims import ParameterClaims
from mapapp.kinds.base.option import replace_values
from mapapp.kinds.release.choose import design_by_reader_errors
from mapapp.kinds.release.choose.design_by_reader_errors import (
    COMPARED_MECHANISMS,
    design_by_drawing,
    expected_misplaced,
)
from mapapp.kinds.release.choose.expected_exposure import expected_exposure
from mapapp.kinds.release.choose.expected_validity import grid_around, ranges_around
from mapapp.kinds.release.choose.misplacement import (
    Misplaced,
    Misplacement,
    misplaced_share,
    row_errors,
    standard_error,
)
from mapapp.kinds.release.choose.parallel_measuring import MeasuredAhead
from mapapp.kinds.release.choose.public_part import PublicPart, PublicPriors, read_public_part, read_towns
from mapapp.kinds.release.choose.setting_choice import Choice, check_design, choose_setting, design_lines
from mapapp.kinds.release.make.batch import open_source, prepare_batch
from mapapp.kinds.release.make.lone_worker import lone_worker_facts
from mapapp.kinds.release.make.options import ReleaseOptions
from mapapp.kinds.release.make.settings import designed_choice, preset_of, preset_setting
from tests.commands.running import refused, run_here
from tests.kinds.test_design import with_other_homes

BASE = SynthesisParameters(mechanism="exponential")
AUTO = ("--preset", "onthemap-v3", "--mechanism", "auto", "--design", "auto", "--epsilon", "6.5")


@pytest.fixture(scope="module")
def dataset(demo_dataset: Path) -> Store:
    return open_store(demo_dataset, "dataset")


@pytest.fixture(scope="module")
def public(dataset: Store) -> PublicPart:
    return read_public_part(dataset)


def test_a_unit_is_chosen_among_those_allowed(public: PublicPart) -> None:
    privacy, parameters, facts = design_by_drawing(public, "6.5", base=BASE, units=("block",))
    assert (str(privacy.epsilon), parameters.unit) == ("13/2", "block")
    assert parameters.mechanism == "exponential"
    assert facts["units"] == ["block"]
    assert parameters.tract_radius_mi is not None
    assert 0 < facts["expected_misplaced"] < 1
    worst = (facts["expected_misplaced_of_runner_up"] or 1.0) + facts["expected_standard_error"]
    assert facts["expected_misplaced"] <= worst


def test_among_equally_good_radii_those_with_the_fewest_points_are_chosen(
    public: PublicPart,
) -> None:
    _, chosen, facts = design_by_drawing(public, "6.5", base=BASE, units=("cell",))
    tract_mi, puma_mi = (
        float(part) for part in facts["least"].removesuffix(" mi").split("radii ")[1].split(" and ")
    )
    excess = facts["expected_misplaced"] - facts["expected_misplaced_least"]
    assert 0.0 <= excess <= facts["expected_standard_error"] + 1e-12
    assert chosen.coarsening_radii_mi <= (tract_mi, puma_mi)
    assert (excess == 0.0) == (chosen.coarsening_radii_mi == (tract_mi, puma_mi))


def test_the_standard_error_is_that_of_towns_deviations() -> None:
    """Against a plain computation; a part that all towns share has no error, and a single town has none either."""
    weight = np.array([0.5, 0.25, 0.25])
    one, other = np.array([0.10, 0.04, 0.02]), np.array([0.09, 0.03, 0.03])
    first, second = (Misplaced(float(part.sum()), part, weight, 1, 0.0) for part in (one, other))
    mean = float((one - other).sum())
    squares = [(a - b - mean * w) ** 2 for a, b, w in zip(one, other, weight, strict=True)]
    assert standard_error(first, second) == pytest.approx(math.sqrt(3 / 2 * sum(squares)))
    even = Misplaced(first.share + 0.1, one + 0.1 * weight, weight, 1, 0.0)
    assert standard_error(even, first) == pytest.approx(0.0, abs=1e-15)
    assert (
        standard_error(*(Misplaced(share, np.array([share]), np.ones(1), 1, 0.0) for share in (0.1, 0.2)))
        == 0.0
    )


def test_what_towns_add_sums_to_the_objective(public: PublicPart) -> None:
    privacy = PrivacyParameters(epsilon="6.5", delta="1e-6", accountant="sound")
    found = Misplacement(public, BASE).count_misplaced(privacy, BASE)
    assert found.of_town.sum() == pytest.approx(found.share)
    assert found.weight.sum() == pytest.approx(1.0)
    assert found.of_town.size > 1


def test_less_is_misplaced_at_a_larger_epsilon(public: PublicPart) -> None:
    at = {e: design_by_drawing(public, e, base=BASE, units=("cell",))[2] for e in ("2", "8")}
    assert at["8"]["expected_misplaced"] < at["2"]["expected_misplaced"]


def test_the_unit_grows_as_epsilon_falls(public: PublicPart) -> None:
    chosen = {e: design_by_drawing(public, e, base=BASE, units=("cell", "tract"))[1].unit for e in ("1", "9")}
    assert chosen == {"1": "tract", "9": "cell"}


def test_misplaced_workers_are_half_the_absolute_differences() -> None:
    """Against a plain count, with one worker of four in another place."""
    real, drawn = (
        np.bincount(np.array([0, 0, 1, 1]) * 3 + place, minlength=6)
        for place in (np.array([2, 2, 0, 1]), np.array([2, 0, 1, 0]))
    )
    assert misplaced_share(np.abs(real - drawn), 4) == pytest.approx(1 / 4)


@given(st.integers(0, 10_000), st.integers(1, 6), st.integers(1, 5))
def test_errors_of_entries_with_workers_are_those_of_whole_tables(
    seed: int, n_workers: int, n_places: int
) -> None:
    """Against tables with every entry."""
    rng = np.random.default_rng(seed)
    row = rng.integers(0, 4, n_workers)
    real, drawn = (row * n_places + rng.integers(0, n_places, n_workers) for _ in range(2))
    n_rows = int(row.max()) + 1
    tables = (np.bincount(entry, minlength=n_rows * n_places) for entry in (real, drawn))
    difference = np.abs(np.subtract(*tables)).reshape(n_rows, n_places)
    assert row_errors(real, drawn, n_places).tolist() == difference.sum(axis=1).tolist()


def test_ranges_are_those_of_the_grid(public: PublicPart) -> None:
    tracts = public.geography.tracts
    # A second tract at the same place is at distance 0.
    lon, lat = tracts.lon_deg.copy(), tracts.lat_deg.copy()
    lon[1], lat[1] = lon[0], lat[0]
    tracts = replace_places(tracts, lon, lat)
    destination = np.arange(0, tracts.n_tracts, 3)
    found = ranges_around(tracts, destination)
    assert found.tolist() == CELL_RANGE[grid_around(tracts, destination)[1]].tolist()
    assert found[0, 1] == 0
    assert len(set(found.ravel().tolist())) > 3


def replace_places(tracts: OriginTracts, lon: FloatArray, lat: FloatArray) -> OriginTracts:
    """The same tracts at other places."""
    return OriginTracts(
        lon_deg=lon,
        lat_deg=lat,
        puma=tracts.puma,
        superpuma=tracts.superpuma,
        population=tracts.population,
    )


def test_the_choice_is_the_same_with_several_threads(public: PublicPart) -> None:
    base = replace(BASE, clean=True)
    asked: dict[str, Any] = {"base": base, "units": ("cell", "tract")}
    alone = design_by_drawing(public, "4", **asked)
    assert design_by_drawing(public, "4", **asked, threads=3) == alone


def test_settings_measured_ahead_are_those_expected_next() -> None:
    asked: list[int] = []
    begun, goes_on = threading.Event(), threading.Event()

    def measure(setting: int) -> int:
        asked.append(setting)
        if setting == 1:
            assert begun.wait(60)
        if setting == 2:
            begun.set()
            assert goes_on.wait(60)  # if it ended sooner, its thread would be free for 3
        if setting == 3:
            raise ParameterError("3 cannot be measured")
        return 10 * setting

    ahead = MeasuredAhead(measure, 2)
    ahead.expect([1, 2, 3])
    assert ahead.result(1) == 10  # which waits until 2 has begun
    assert sorted(asked) == [1, 2]
    goes_on.set()
    assert ahead.result(2) == 20
    with pytest.raises(ParameterError, match="3 cannot"):
        ahead.result(3)
    ahead.close()
    assert sorted(asked) == [1, 2, 3]
    alone = MeasuredAhead(asked.append, 1)
    alone.expect([5, 6])
    alone.result(5)
    alone.close()
    assert asked[3:] == [5]


def test_without_a_unit_nothing_is_chosen(public: PublicPart) -> None:
    with pytest.raises(ParameterError, match="no unit"):
        design_by_drawing(public, "6.5", base=BASE, units=())


def test_other_homes_choose_no_other_mechanism(dataset: Store, public: PublicPart, tmp_path: Path) -> None:
    """Mechanism, unit, radii, cleaning and every stated number depend on public tables and options alone."""
    other = read_public_part(with_other_homes(dataset, tmp_path / "other.dataset"))
    base = replace(BASE, clean=True, far_state_miles=300.0)
    asked: dict[str, Any] = {"base": base, "units": ("cell", "tract"), "mechanisms": COMPARED_MECHANISMS}
    assert design_by_drawing(other, "4", **asked) == design_by_drawing(public, "4", **asked)


def test_the_runner_up_of_several_mechanisms_is_another_one_at_its_own_radii(public: PublicPart) -> None:
    """The stated number is what a release with that mechanism would be expected to misplace."""
    mechanisms: tuple[Mechanism, ...] = ("exponential", "dirichlet-multinomial")
    privacy, chosen, facts = design_by_drawing(
        public, "6.5", base=BASE, units=("cell",), mechanisms=mechanisms
    )
    assert chosen.mechanism == "exponential"
    assert facts["mechanisms"] == list(mechanisms)
    name, radii = str(facts["runner_up"]).split(", radii ")
    assert name == "dirichlet-multinomial"
    tract_mi, puma_mi = (float(part) for part in radii.removesuffix(" mi").split(" and "))
    second = SynthesisParameters(
        strength=0.0, retention_scale=0.0, tract_radius_mi=tract_mi, puma_radius_mi=puma_mi
    )
    assert expected_misplaced(public, privacy, second) == pytest.approx(
        facts["expected_misplaced_of_runner_up"], rel=1e-3
    )
    assert facts["expected_misplaced"] < (facts["expected_misplaced_of_runner_up"] or 0.0)


def test_cleaning_and_far_states_are_part_of_what_is_expected(public: PublicPart) -> None:
    privacy = design_by_drawing(public, "4", base=BASE, units=("cell",))[0]
    settings = (BASE, replace(BASE, clean=True), replace(BASE, far_state_miles=1.0))
    assert len({expected_misplaced(public, privacy, setting) for setting in settings}) == 3


def test_a_town_is_where_most_people_of_a_tract_live(dataset: Store, public: PublicPart) -> None:
    """Against a plain count by pandas."""
    blocks = dataset.table("blocks")
    people = blocks.groupby(["tract_index", "layer_ctycsub"])["population"].sum().reset_index()
    most = people.loc[people.groupby("tract_index")["population"].idxmax()].set_index("tract_index")
    wanted = most["layer_ctycsub"].reindex(range(len(public.towns.of_tract)), fill_value="")
    assert public.towns.kinds[0] == "County subdivision"
    has_town = (wanted != "").to_numpy()
    pairs = pandas.DataFrame({"wanted": wanted[has_town], "found": public.towns.of_tract[has_town]})
    assert len(pairs.drop_duplicates()) == pairs["wanted"].nunique() == pairs["found"].nunique() > 1


def test_without_layers_pumas_are_the_towns(dataset: Store, tmp_path: Path) -> None:
    path = tmp_path / "plain.dataset"
    blocks = dataset.table("blocks")
    with write_store(path, "dataset") as writer:
        for name in ("jobs", *(table.name for table in PUBLIC_TABLES if table.name != "blocks")):
            writer.copy_table(dataset, name)
        writer.table("blocks", blocks[[name for name in blocks.columns if not name.startswith("layer_")]])
    towns = read_towns(open_store(path, "dataset"))
    assert towns.kinds == ("PUMA",)
    assert len(np.unique(towns.of_tract)) == dataset.table("tracts")["puma_id"].nunique()


def test_the_recommended_preset_is_made_and_its_choice_repeated(demo_dataset: Path, tmp_path: Path) -> None:
    dataset, release = tmp_path / "d.dataset", tmp_path / "r.release"
    shutil.copytree(demo_dataset, dataset)
    command = ["synthesize", dataset, release, "--preset", "recommended", "--test-key", "--quiet"]
    assert run_here(*command).code == 0
    certificate: dict[str, Any] = json.loads((release / "certificate.json").read_text())
    assert certificate["epsilon_final"]["value"] == 6.5
    assert certificate["delta"]["value"] == 0
    assert [line.split()[0] for line in design_lines(certificate)] == ["design", "exposure"]
    assert certificate["construction"]["design"]["most_exposed"] == 0.5
    assert certificate["construction"]["preset"] == "recommended"
    checked = run_here("certify", release)
    assert checked.code == 0
    assert "the same setting is chosen again" in checked.out


@pytest.mark.parametrize(
    ("options", "mechanism"),
    [
        (("--preset", "recommended", "--mechanism", "auto", "--most-exposed", "none"), "exponential"),
        ((*AUTO[:-1], "1", "--unit", "auto", "--delta", "0"), "exponential"),
    ],
)
def test_a_chosen_mechanism_is_released_and_its_choice_repeated(
    demo_dataset: Path, tmp_path: Path, options: tuple[str, ...], mechanism: str
) -> None:
    dataset, release = tmp_path / "d.dataset", tmp_path / "r.release"
    shutil.copytree(demo_dataset, dataset)
    made = run_here("synthesize", dataset, release, *options, "--test-key", "--quiet")
    assert made.code == 0, made.err
    certificate: dict[str, Any] = json.loads((release / "certificate.json").read_text())
    facts, synthesis = certificate["construction"]["design"], certificate["parameters"]["synthesis"]
    assert synthesis["mechanism"] == mechanism
    assert f"  design           {mechanism}, radii " in made.out
    assert "  runner-up        " in made.out
    assert ("dirichlet-multinomial" in facts["mechanisms"]) == ("delta" in facts)
    assert synthesis.get("clean", False) == facts["clean"]
    checked = run_here("certify", release)
    assert checked.code == 0, checked.out
    assert "the same setting is chosen again" in checked.out


@pytest.mark.parametrize(
    ("share", "said"),
    [(0.19, "19.0% misplaced"), (0.178, "17.8% misplaced, which is no clear difference")],
)
def test_a_runner_up_that_looks_better_is_explained(share: float, said: str) -> None:
    facts = {
        "settings_tried": 9,
        "expected_misplaced": 0.18,
        "expected_misplaced_of_runner_up": share,
        "runner_up": "unit cell, radii 30 and 40 mi",
    }
    synthesis = {"unit": "cell", "tract_radius_mi": 20, "puma_radius_mi": 25, "prior": "gravity"}
    certificate = {
        "construction": {"design": facts},
        "parameters": {"synthesis": synthesis, "privacy": {}},
    }
    assert design_lines(certificate)[1] == f"  runner-up        unit cell, radii 30 and 40 mi: {said}"


def test_a_chosen_dirichlet_multinomial_is_chosen_again_with_its_delta(
    dataset: Store, public: PublicPart
) -> None:
    """The certificate does not state what other mechanisms would have used, but the facts of the choice do."""
    asked = PrivacyParameters(epsilon="6.5", delta="1e-4", accountant="sound")
    base, choice = replace(BASE, clean=True), Choice(mechanisms=("dirichlet-multinomial",))
    privacy, parameters, facts = choose_setting(public, asked, base, choice)
    assert (parameters.mechanism, parameters.clean, parameters.strength) == (
        "dirichlet-multinomial",
        False,
        0.0,
    )
    certificate: dict[str, Any] = {
        "construction": {"design": dict(facts)},
        "parameters": {
            "privacy": privacy.stated(parameters.mechanism),
            "synthesis": parameters.to_dict(),
        },
    }
    assert is_repeated(dataset, certificate)
    certificate["construction"]["design"]["delta"] = "1/1000000"
    assert not is_repeated(dataset, certificate)


def test_a_choice_that_compared_mechanisms_that_left_must_be_about_the_best_of_the_others(
    dataset: Store, public: PublicPart
) -> None:
    """Version 0.1 compared four mechanisms with `--mechanism auto`."""
    asked = PrivacyParameters(epsilon="6.5", delta="1e-6", accountant="sound")
    base, choice = replace(BASE, clean=True), Choice(mechanisms=COMPARED_MECHANISMS)
    privacy, parameters, found = choose_setting(public, asked, base, choice)
    facts: dict[str, Any] = {**found}

    def is_good(parameters: SynthesisParameters, **changes: object) -> bool:
        compared = [*COMPARED_MECHANISMS, "keep-or-redraw", "geometric"]
        certificate: dict[str, Any] = {
            "construction": {
                "design": {**facts, "mechanisms": compared, "runner_up": "geometric", **changes}
            },
            "parameters": {
                "privacy": privacy.stated(parameters.mechanism),
                "synthesis": parameters.to_dict(),
            },
        }
        return is_repeated(dataset, certificate)

    assert is_good(parameters)
    assert not is_good(parameters, expected_misplaced=0.9 * facts["expected_misplaced"])
    worse = replace(parameters, tract_radius_mi=1.0, puma_radius_mi=2.0)
    assert not is_good(worse)
    share = expected_misplaced(public, privacy, worse)
    assert share > facts["expected_misplaced"]
    assert not is_good(worse, expected_misplaced=share)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--preset", "onthemap-v3", "--mechanism", "auto"), "--mechanism auto without --design auto"),
        ((*AUTO, "--strength", "1"), "--strength 1.0 with --mechanism auto"),
        ((*AUTO, "--min-retention", "0.1"), "--min-retention 0.1 with --mechanism auto"),
        ((*AUTO, "--accountant", "sound"), "--accountant sound with --mechanism auto"),
        ((*AUTO, "--unit", "block"), "--unit block with --mechanism auto"),
        ((*AUTO, "--editing", "drop"), "--editing drop with --mechanism auto"),
        ((*AUTO, "--replication"), "--replication with --mechanism auto"),
        ((*AUTO, "--tract-radius", "9", "--puma-radius", "9"), "--design auto chooses --tract-radius itself"),
        ((*AUTO[:-1], "26"), "epsilon is 26"),
        ((*AUTO, "--delta", "2"), "delta is 2"),
        ((*AUTO, "--delta", "x"), "delta is 'x'"),
    ],
)
def test_options_that_contradict_a_choice_of_mechanisms_are_refused(
    demo_dataset: Path, tmp_path: Path, options: tuple[str, ...], said: str
) -> None:
    assert said in refused("synthesize", demo_dataset, tmp_path / "r.release", *options)


@pytest.mark.parametrize(
    ("unit", "epsilon", "left_out"), [("cell", "14", False), ("block", "4", False), ("block", "9", True)]
)
def test_cleaning_is_left_out_where_it_would_misplace_more_workers(
    dataset: Store, public: PublicPart, unit: Unit, epsilon: str, left_out: bool
) -> None:
    """Radii are those chosen with cleaning, and the choice can be repeated from the release. By cell it stays."""
    privacy = PrivacyParameters(epsilon=epsilon, delta="1e-6", accountant="sound")
    base = replace(BASE, clean=True)
    _, cleaned, _ = choose_setting(public, privacy, base, Choice(units=(unit,)))
    privacy, parameters, facts = choose_setting(public, privacy, base, Choice(units=(unit,), cleaning=True))
    assert parameters == replace(cleaned, clean=not left_out)
    assert ("expected_misplaced_if_cleaned" in facts) == left_out
    certificate: dict[str, Any] = {
        "construction": {"design": dict(facts)},
        "parameters": {
            "privacy": privacy.stated(parameters.mechanism),
            "synthesis": parameters.to_dict(),
        },
    }
    assert is_repeated(dataset, certificate)
    said = [line for line in design_lines(certificate) if line.startswith("  cleaning")]
    assert bool(said) == left_out


@pytest.mark.parametrize(
    ("options", "open_"), [({}, True), ({"clean": True}, False), ({"clean": False}, False)]
)
def test_cleaning_that_is_asked_for_is_not_chosen(options: dict[str, Any], open_: bool) -> None:
    choice = designed_choice(replace_values(ReleaseOptions(), options))
    assert choice is not None
    assert choice.cleaning == open_


def every_exposure(public: PublicPart, privacy: PrivacyParameters, base: SynthesisParameters) -> list[float]:
    """Expected exposures at all radii that a search with a ceiling may choose."""
    prior = PublicPriors(public, base).of(base.prior)
    radii = [
        (tract_mi, puma_mi)
        for tract_mi in (4.0, 5.0, 6.0, 7.0, 8.0, 12.0, 16.0, 20.0, 25.0, 30.0, 40.0, 60.0)
        for puma_mi in (15.0, 25.0, 40.0, 60.0, 100.0, 12_500.0)
        if tract_mi <= puma_mi
    ]
    settings = [replace(base, tract_radius_mi=near, puma_radius_mi=far) for near, far in radii]
    return [expected_exposure(public, prior, privacy, setting) for setting in settings]


def test_a_ceiling_on_exposure_is_kept_and_what_is_stated_is_what_the_certificate_states(
    dataset: Store, public: PublicPart
) -> None:
    _, free, without = design_by_drawing(public, "6.5", base=BASE, units=("cell",))
    privacy, chosen, facts = design_by_drawing(public, "6.5", base=BASE, units=("cell",), most_exposed=0.7)
    source = open_source(dataset, PublicSeed.for_tests(), privacy, chosen)
    parts = [
        prepare_batch(source, batch).certified.lone_workers for batch in range(source.workplaces.n_batches)
    ]
    stated: Any = lone_worker_facts(parts, chosen)["true_tract"]
    assert facts["meets_most_exposed"]
    assert facts["expected_exposed"] == pytest.approx(stated["typical"], rel=1e-3)
    assert facts["expected_exposed"] <= 0.7
    assert chosen.coarsening_radii_mi < free.coarsening_radii_mi
    assert facts["expected_misplaced"] > without["expected_misplaced"]
    assert (without["most_exposed"], "expected_exposed" in without) == (None, False)


def test_where_nothing_meets_the_ceiling_the_least_exposed_setting_is_taken_and_said(
    dataset: Store, public: PublicPart
) -> None:
    privacy, chosen, facts = design_by_drawing(public, "6.5", base=BASE, units=("cell",), most_exposed=0.01)
    least = min(every_exposure(public, privacy, BASE))
    assert facts["expected_exposed"] == pytest.approx(least, rel=1e-3)
    assert (facts["meets_most_exposed"], facts["most_exposed"], facts["runner_up"]) == (False, 0.01, None)
    certificate = certificate_of(privacy, chosen, facts)
    assert "no setting keeps to 1.0%, so the least exposed one was taken" in design_lines(certificate)[1]
    assert is_repeated(dataset, certificate)
    certificate["construction"]["design"]["most_exposed"] = 0.7
    assert not is_repeated(dataset, certificate)


def test_a_ceiling_that_all_settings_meet_changes_nothing(public: PublicPart) -> None:
    """At a small epsilon most lone workers move, and the radii are those chosen without a ceiling."""
    found = [
        design_by_drawing(public, "1", base=BASE, units=("cell",), most_exposed=most)[1]
        for most in (None, 0.9)
    ]
    assert found[0] == found[1]


def is_repeated(dataset: Store, certificate: dict[str, Any]) -> bool:
    """Whether the setting that a certificate states is chosen again."""
    parameters = msgspec.convert(certificate["parameters"], ParameterClaims)
    return check_design(dataset, parameters, certificate["construction"]["design"]).ok


def certificate_of(privacy: PrivacyParameters, parameters: SynthesisParameters, facts: Any) -> dict[str, Any]:
    return {
        "construction": {"design": dict(facts)},
        "parameters": {
            "privacy": privacy.stated(parameters.mechanism),
            "synthesis": parameters.to_dict(),
        },
    }


def test_a_choice_from_before_ceilings_is_repeated_without_one(dataset: Store, public: PublicPart) -> None:
    privacy, chosen, facts = design_by_drawing(public, "6.5", base=BASE, units=("cell",))
    certificate = certificate_of(privacy, chosen, facts)
    assert is_repeated(dataset, certificate)
    del certificate["construction"]["design"]["most_exposed"]
    assert is_repeated(dataset, certificate)


def test_a_ceiling_holds_for_the_dirichlet_multinomial_too(dataset: Store, public: PublicPart) -> None:
    privacy = PrivacyParameters(epsilon="6.5", delta="1e-6", accountant="sound")
    base = SynthesisParameters()
    found = {
        most: choose_setting(public, privacy, base, Choice(most_exposed=most)) for most in (None, 0.4, 0.01)
    }
    assert "expected_exposed" not in found[None][2]
    met: dict[str, Any] = dict(found[0.4][2])
    unmet: dict[str, Any] = dict(found[0.01][2])
    assert met["meets_most_exposed"]
    assert met["expected_exposed"] <= 0.4
    assert not unmet["meets_most_exposed"]
    assert unmet["expected_exposed"] <= met["expected_exposed"]
    for chosen in found.values():
        assert is_repeated(dataset, certificate_of(*chosen))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--most-exposed", "0"), "--most-exposed 0.0: it must be a chance above 0 and at most 1, or none"),
        (("--most-exposed", "1.5"), "--most-exposed 1.5: it must be"),
        (("--most-exposed", "nan"), "--most-exposed nan: it must be"),
        (("--most-exposed", "half"), "--most-exposed 'half': give a number, or none"),
        (("--most-exposed", "0.5", "--design", "none"), "--most-exposed 0.5 without --design auto"),
        (
            ("--most-exposed", "0.5", "--tract-radius", "9", "--puma-radius", "9"),
            "--most-exposed 0.5 without --design auto",
        ),
    ],
)
def test_a_ceiling_that_means_nothing_is_refused(
    demo_dataset: Path, tmp_path: Path, options: tuple[str, ...], said: str
) -> None:
    assert said in refused("synthesize", demo_dataset, tmp_path / "r.release", *options)


def test_the_preset_is_named_only_with_its_ceiling() -> None:
    """Choices of earlier versions, which had none, keep the name."""
    privacy, parameters = preset_setting("recommended", "gravity")
    chosen = replace(parameters, tract_radius_mi=8.0, puma_radius_mi=25.0)
    named = [preset_of(privacy, chosen, {"most_exposed": most}) for most in (0.5, 0.4, None)]
    assert named == ["recommended", None, None]
    assert preset_of(privacy, chosen, {"settings_tried": 9}) == "recommended"
    assert preset_of(privacy, chosen, None) is None


def test_a_search_goes_on_from_radii_between_those_that_are_tried() -> None:
    """Finds a search that stops with an error where the tracts' radius has pushed the PUMAs' off its list."""
    setting = design_by_reader_errors._Setting("exponential", "cell", 30.0, 30.0)
    line = design_by_reader_errors._puma_line(setting)
    below, above = design_by_reader_errors._directions(setting, line)
    assert below == []
    assert [each.puma_radius_mi for each in above] == [40.0, 60.0, 100.0, 12_500.0]
