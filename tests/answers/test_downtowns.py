"""The core of a place: the same tracts as a plain search finds, under one name wherever it is typed."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mapapp.answers.areas.sentence_names import SentenceNames
from mapapp.answers.asking import questions_of
from mapapp.answers.downtowns import LEAST_DENSITY, MOST_TRACTS, core_place, densest_cluster, downtown_named
from mapapp.answers.release import Release
from mapapp.explore.pages import area_controls
from mapapp.question.area_text import MAX_UNITS, Corridor, Units, parse_area
from mapapp.question.question import Question, Questions
from mapapp.question.sentence.asked import ask_in_words
from tests.releases import write_release


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Release:
    return Release.open(write_release(tmp_path_factory.mktemp("made") / "squareland"), "squareland")


def plain_cluster(jobs: list[int], square_mi: list[float], pairs: set[tuple[int, int]]) -> list[int]:
    """The rule of `mapapp.answers.downtowns` in words: begin with the densest; the densest neighbor joins."""
    density = [n / area for n, area in zip(jobs, square_mi, strict=True)]
    if not density or max(density) == 0:
        return []
    cluster = [density.index(max(density))]
    for _ in range(MOST_TRACTS - 1):
        best = None
        for tract in range(len(jobs)):
            touches = any((tract, one) in pairs or (one, tract) in pairs for one in cluster)
            if tract not in cluster and touches and (best is None or density[tract] > density[best]):
                best = tract
        together = sum(jobs[one] for one in cluster) / sum(square_mi[one] for one in cluster)
        if best is None or density[best] < LEAST_DENSITY * together:
            break
        cluster.append(best)
    return cluster


@given(st.data())
def test_the_cluster_is_that_of_the_plain_rule(data: st.DataObject) -> None:
    n = data.draw(st.integers(0, 9))
    jobs = data.draw(st.lists(st.integers(0, 500), min_size=n, max_size=n))
    square_mi = [float(area) for area in data.draw(st.lists(st.integers(1, 5), min_size=n, max_size=n))]
    every = [(one, other) for one in range(n) for other in range(one)]
    pairs = data.draw(st.sets(st.sampled_from(every))) if every else set()
    neighbors = [
        [other for other in range(n) if (one, other) in pairs or (other, one) in pairs] for one in range(n)
    ]
    found = densest_cluster(np.array(jobs, dtype=np.int64), np.array(square_mi), neighbors)
    assert found == plain_cluster(jobs, square_mi, pairs)


def test_a_downtown_has_one_meaning_in_search_sentences_commands_and_python(release: Release) -> None:
    core = downtown_named(release, "downtown Old Harbour")
    assert core is not None
    assert core.name == "Downtown Old Harbour"
    (step,) = parse_area(core.step)
    assert isinstance(step.part, Units)
    assert len(step.part.units) == core.n_tracts > 1
    assert f"the {core.n_tracts} neighboring tracts with the most jobs per square mile" in core.words
    counted = release.profile("Downtown Old Harbour")
    assert counted.workers.value == release.profile([str(unit) for unit in step.part.units]).workers.value
    (question,) = questions_of(release, Questions(question=Question(), areas=("downtown Old Harbour",)))
    assert question.areas == (core.step,)
    names = SentenceNames(release.areas, core=lambda area, word: core_place(release, area, word))
    asked = ask_in_words("who works in downtown Old Harbour", names)
    assert asked.question.areas == (core.step,)
    assert f"{core.words}." in asked.notes
    assert area_controls.core_option(core)["items"] == [{"value": core.step, "label": core.words}]
    assert area_controls.step_name(release, core.step)[0] == "Downtown Old Harbour"


def test_tracts_of_a_downtown_are_in_its_place_and_densest_first(release: Release) -> None:
    core = downtown_named(release, "Downtown Old Harbour")
    assert core is not None
    part = parse_area(core.step)[0].part
    assert isinstance(part, Units)
    here = release.comparison("stplc:4459", layer="tract").units.set_index("unit_id")["workers"]
    assert set(part.unit_ids) <= set(here.index)
    assert part.unit_ids[0] == here.idxmax()  # all tracts of this country are about as large


@pytest.mark.parametrize("text", ["Old Harbour", "downtown", "downtown Nowhere", "stplc:4459", ""])
def test_other_names_are_no_downtown(release: Release, text: str) -> None:
    assert downtown_named(release, text) is None


def test_several_units_are_one_part_of_an_area(release: Release) -> None:
    text = "tract:10001000000,10001000001@Two"
    (step,) = parse_area(text)
    assert str(step) == f"+{text}"
    chosen, both = release.areas.select(text), release.areas.select("tract:10001000000 +tract:10001000001")
    assert chosen.name == "Two"
    assert chosen.blocks is not None
    assert both.blocks is not None
    assert list(chosen.blocks) == list(both.blocks)
    assert parse_area("tract:1,1")[0] == parse_area("tract:1")[0]
    near = parse_area("near:tract:10001000000,10001000001,1")[0].part
    assert isinstance(near, Corridor)
    assert release.areas.select(str(near)).n_blocks > chosen.n_blocks
    with pytest.raises(ValueError, match=f"at most {MAX_UNITS}"):
        parse_area("tract:" + ",".join(map(str, range(MAX_UNITS + 1))))
