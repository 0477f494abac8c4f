"""What releases of the same place promise to a person who is in all of them, on the page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mapapp.answers.promise.joint_promise import JointPromise, joint_promise, joint_sentences
from mapapp.answers.release import Release
from mapapp.explore.pages import certificate, method
from tests.commands.test_certify import forge
from tests.releases import write_release


def _release(
    folder: Path, slug: str, *, seed: int, states: list[str] | None = None, **promise: Any
) -> Release:
    path = write_release(folder / slug, n_pairs=20, seed=seed)
    forge(path, lambda stated: stated.update(promise))
    manifest = json.loads((path / "manifest.json").read_text())
    manifest |= {"title": slug.title(), "destination_states": states or ["10"]}
    (path / "manifest.json").write_text(json.dumps(manifest))
    return Release.open(path, slug)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Release]:
    folder = tmp_path_factory.mktemp("years")
    return {
        release.slug: release
        for release in (
            _release(folder, "first", seed=1),
            _release(folder, "second", seed=2, epsilon_final={"value": 1.5, "exact": "3/2"}),
            _release(folder, "elsewhere", seed=3, states=["11"]),
            _release(folder, "tried", seed=4, status="not for release"),
            _release(folder, "bare", seed=5, epsilon_final=None, delta=None),
        )
    }


def _text(page: Any) -> str:
    return json.dumps(page, default=lambda part: part.to_plotly_json(), ensure_ascii=False)


def _of(served: dict[str, Release], shown: str, *others: str) -> JointPromise | None:
    return joint_promise(served[shown], [served[name] for name in (shown, *others)])


def test_the_promises_of_one_place_add_up(served: dict[str, Release]) -> None:
    joint = _of(served, "first", "second", "elsewhere", "tried", "bare")
    assert joint is not None
    assert joint.names == ("First, 2019", "Second, 2019")
    assert joint.epsilon == pytest.approx(10.48)
    assert joint.delta == pytest.approx(2e-6)
    assert joint.text == "ε = 10.5 · δ = 2 × 10⁻⁶"
    assert joint.unpromised == ("Tried, 2019", "Bare, 2019")


@pytest.mark.parametrize("others", [(), ("first",), ("elsewhere",), ("tried", "bare")])
def test_without_a_second_promise_about_the_place_nothing_is_said(
    served: dict[str, Release], others: tuple[str, ...]
) -> None:
    assert _of(served, "first", *others) is None
    release = served["first"]
    beside = [served[name] for name in others]
    for page in (method.page, certificate.card):
        assert _text(page(release, [release, *beside])) == _text(page(release))


def test_a_release_that_does_not_name_its_states_may_be_of_the_place(
    served: dict[str, Release], tmp_path: Path
) -> None:
    path = write_release(tmp_path / "silent", n_pairs=20, seed=6)
    manifest = json.loads((path / "manifest.json").read_text())
    del manifest["destination_states"]
    (path / "manifest.json").write_text(json.dumps(manifest))
    joint = joint_promise(served["elsewhere"], [served["elsewhere"], Release.open(path, "silent")])
    assert joint is not None
    assert len(joint.names) == 2


def test_the_page_says_it_in_plain_sentences(served: dict[str, Release]) -> None:
    joint = _of(served, "second", "first", "tried")
    assert joint is not None
    sentences = joint_sentences(joint)
    assert sentences[0].startswith(
        "2 releases of this place are shown here: Second, 2019 and First, 2019. The same person"
    )
    assert "all of them, their promises add up to ε = 10.5 and δ = 2 × 10⁻⁶." in sentences[1]
    assert sentences[2] == (
        "Tried, 2019 is not for release and cannot be added, because nothing is promised there."
    )
    beside = [served[name] for name in ("second", "first", "tried")]
    page = _text(method.page(served["second"], beside))
    for sentence in sentences:
        assert sentence in page
    card = _text(certificate.card(served["second"], beside))
    assert "For a person in both releases of this place" in card
    assert joint.text in card
