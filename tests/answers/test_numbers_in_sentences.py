"""Each number in the sentences of each analysis and side, counted again from the rows of `jobs` and `blocks`.

On the three largest counties of the demo and of Rhode Island: its counties, and those of other states where residents
work. The sentences are those with expected errors: they round, but by no more than their ±.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest

from commutemap import Filters, Release, Result, open_release
from engine.parameters import PrivacyParameters, SynthesisParameters
from geodata.geography.distance import bearing_deg, distance_mi
from geodata.importing.importing import import_dataset, write_dataset
from geodata.sources.recognize import sources_in
from geodata.text import list_names
from mapapp.answers.analyses.entries import entry_of
from mapapp.answers.analyses.entry import text_of
from mapapp.answers.findings.findings import findings
from mapapp.kinds.release.make.run import run_synthesis
from mapapp.show.reports.numbers import key_numbers
from tests.sharing import made_once

DATA = Path(__file__).parents[3] / "shared" / "data"
YOUNG: Final = Filters(age=(1,))
SIDES: Final = ("work", "home")
OTHER: Final = {"work": "home", "home": "work"}
BANDS: Final[dict[str, tuple[str, str, str]]] = {
    "age": ("are 29 or younger", "are 30 to 54", "are 55 or older"),
    "earnings": (
        "earn $1,250 a month or less",
        "earn $1,251 to $3,333 a month",
        "earn more than $3,333 a month",
    ),
    "industry": (
        "work in goods-producing industries",
        "work in trade, transportation, or utilities",
        "work in all other services",
    ),
}
EIGHTHS: Final = ("north", "northeast", "east", "southeast", "south", "southwest", "west", "northwest")
_NOT_COUNTED: Final = re.compile(r"\(29 or younger\)|50 miles or more|\b[A-Z]?\d{5}\b")
_NUMBER: Final = re.compile(r"(±)?(\d[\d,]*(?:\.\d+)?)(%?)")


@pytest.fixture(scope="session")
def rhode_island_release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A release of the real files of Rhode Island under the test key."""

    def make(folder: Path) -> None:
        imported = import_dataset(sources_in(DATA)[0], commitment_key="ab" * 32)
        write_dataset(folder / "x.dataset", imported)
        privacy = PrivacyParameters(epsilon="4.6", delta="1e-6", min_retention="0.025")
        run_synthesis(
            folder / "x.dataset", folder / "x.release", privacy, SynthesisParameters(), test_key=True
        )

    return made_once(tmp_path_factory, "rhode_island_release", make) / "x.release"


_REAL = (
    pytest.mark.real,
    pytest.mark.skipif(not (DATA / "lodes").is_dir(), reason="no real Census files in ../shared/data"),
)


@dataclass(frozen=True)
class Case:
    """A release, its jobs as one row a worker, and the counties to ask about."""

    release: Release
    workers: Any
    counties: Sequence[str]

    def at(self, end: str, county: str) -> Any:
        """Which workers have their `end` in a county."""
        return (self.workers[f"{end}_county_id"] == county).to_numpy()


@pytest.fixture(scope="module", params=["demo_release", pytest.param("rhode_island_release", marks=_REAL)])
def case(request: pytest.FixtureRequest) -> Case:
    release = open_release(request.getfixturevalue(request.param))
    workers = workers_of(release)
    return Case(release, workers, workers["work_county_id"].value_counts().index[:3].tolist())


def workers_of(release: Release) -> Any:
    """One row a worker, with the columns of both blocks, and how far and in which eighth the other end is."""
    jobs, blocks = release.store.table("jobs"), release.store.table("blocks")
    rows = jobs.loc[jobs.index.repeat(jobs["count"]), ["age", "earnings", "industry"]].reset_index(drop=True)
    ends = {"work": "destination_index", "home": "origin_index"}
    block = {end: np.repeat(jobs[name].to_numpy(), jobs["count"]) for end, name in ends.items()}
    names = ["state_id", "county_id", "elsewhere", "layer_ctycsub", "layer_stplc"]
    for end, at in block.items():
        for name in names:
            rows[f"{end}_{name}"] = blocks[name].to_numpy()[at]
    point = {
        end: [blocks[name].to_numpy()[at] for name in ("lon_deg", "lat_deg")] for end, at in block.items()
    }
    same = block["work"] == block["home"]
    rows["miles"] = np.where(same, 0.0, distance_mi(*point["work"], *point["home"]))
    for end, other in OTHER.items():
        eighth = np.round(bearing_deg(*point[end], *point[other]) / 45)
        rows[f"eighth_{end}"] = np.where(same | np.isnan(eighth), -1, np.nan_to_num(eighth) % 8)
    return rows


def says(sentence: str, *numbers: float) -> None:
    """A sentence has these numbers and no others: counts and miles as int or float, shares as `Share`."""
    text = _NOT_COUNTED.sub("", sentence)
    for phrases in BANDS.values():
        for phrase in phrases:
            text = text.replace(phrase, "")
    found = list(_NUMBER.finditer(text))
    said = [each for each in found if not each[1]]
    assert len(said) == len(numbers), (sentence, numbers)
    for each, true in zip(said, numbers, strict=True):
        value = float(each[2].replace(",", ""))
        before = text[: each.start()].lower()
        assert bool(each[3]) == isinstance(true, Share), (sentence, numbers)
        if before.endswith("less than ") and each[3]:
            assert true < value, (sentence, numbers)
        elif before.endswith("more than ") and each[3]:
            assert true > value, (sentence, numbers)
        elif each[3]:
            assert abs(value - true) <= 0.5 + 1e-9, (sentence, numbers)
        else:
            off = next(
                (float(one[2].replace(",", "")) for one in found if one[1] and one.start() > each.start()), 0
            )
            is_exact = "." not in each[2] and not before.endswith("about ")
            shown = 0.5 * 10.0 ** -len(each[2].partition(".")[2])
            assert abs(value - true) <= (0 if is_exact else max(1.5 * off, shown)), (sentence, numbers)


class Share(float):
    """A share in percent."""


def share(part: Any, whole: Any) -> Share:
    return Share(100 * float(np.sum(part)) / max(float(np.sum(whole)), 1.0))


def ranked_in(sentence: str) -> dict[str, str]:
    """Names in a list, each with the number in parentheses that follows it."""
    found = re.findall(
        r"(?:^|, and |, | and )((?:[^,()]|, [A-Z]{2}\b)+?) \((?:about |less than )?([\d,]+%?)\)", sentence
    )
    return dict(found)


def check_ranking(sentence: str, true: Mapping[str, int], whole: int) -> None:
    """Each name in a list has its share of all workers, and no other is larger than the first by more than chance."""
    named = ranked_in(sentence)
    assert len(named) >= 2, sentence
    for name, said in named.items():
        counts = [n for full, n in true.items() if is_called(full, name)]
        assert any(
            abs(int(said.removesuffix("%")) - 100 * n / whole) <= 0.5 + 1e-9 or n < whole / 100
            for n in counts
        ), (
            sentence,
            name,
            counts,
        )


def named_units(answer: Result, rows: Any, column: str) -> dict[str, int]:
    """Workers of each unit, counted here, by the name that the answer has for it."""
    units = answer.tables()["units"]
    names = dict(zip(units["unit_id"], units["name"], strict=True))
    return {names[unit]: n for unit, n in rows[column].value_counts().items() if unit in names}


def covered_of(case: Case) -> str:
    """Where all the counted people work, in the words of a sentence."""
    states = case.release.store.table("states").set_index("state_id")["name"]
    return (
        f"in {list_names([str(states[state]) for state in sorted(case.workers['work_state_id'].unique())])}"
    )


def ask(case: Case, analysis: str, *args: Any, **kwargs: Any) -> tuple[Any, tuple[str, ...]]:
    answer = getattr(case.release, analysis)(*args, errors=True, **kwargs)
    return answer, findings(answer)


@pytest.mark.parametrize("filters", [Filters(), YOUNG], ids=["all", "young"])
@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("place", range(3))
def test_answers_about_one_area(case: Case, place: int, side: Any, filters: Filters) -> None:
    county = case.counties[place]
    here = case.at(side, county) & ((case.workers["age"] == 1).to_numpy() | (not filters.age))
    mine, n, other = case.workers[here], int(here.sum()), OTHER[side]
    where = f"county:{county}"
    asked = {
        name: ask(case, name, where, filters=filters, side=side)
        for name in ("profile", "cross_table", "distance_direction")
    }
    asked["destinations"] = ask(case, "destinations", where, filters=filters, side=side, layer="ctycsub")
    for answer, sentences in asked.values():
        says(sentences[0], n)
        assert side == "work" or f"and work {covered_of(case)}" in sentences[0], sentences[0]
        assert side == "work" or answer.about.has_note("coverage")
    check_bands(asked["profile"][1], mine, filters)
    units = named_units(asked["destinations"][0], mine[~mine[f"{other}_elsewhere"]], f"{other}_layer_ctycsub")
    check_ranking(asked["destinations"][1][1], units, n)
    check_distances(asked["distance_direction"][1], mine, side)
    check_largest_group(asked["cross_table"], mine)


@pytest.mark.parametrize("filters", [Filters(), YOUNG], ids=["all", "young"])
@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("place", range(3))
def test_comparisons(case: Case, place: int, side: Any, filters: Filters) -> None:
    kept = (case.workers["age"] == 1).to_numpy() | (not filters.age)
    both = case.counties[place], case.counties[(place + 1) % 3]
    mine = case.workers[kept & (case.at(side, both[0]) | case.at(side, both[1]))]
    area = " +".join(f"county:{county}" for county in both)
    answer, (first, second) = ask(case, "comparison", area, filters, side=side, layer="county")
    says(first, len(mine))
    assert side == "work" or f"and work {covered_of(case)}" in first
    check_ranking(second, named_units(answer, mine, f"{side}_county_id"), len(mine))
    assert ("the most of them" in second) == bool(filters.age)


def matched(pattern: str, text: str) -> tuple[str, ...]:
    """Return the groups of a pattern that matches a whole text."""
    found = re.fullmatch(pattern, text)
    assert found, text
    return found.groups()


def check_largest_group(asked: tuple[Any, tuple[str, ...]], mine: Any) -> None:
    answer, sentences = asked
    group, said = matched(r"By .*, the largest group is (.*): (?:about )?(\d+)% of them\.", sentences[-1])
    codes = answer.cells.loc[answer.cells["label"] == group, ["first", "second"]].astype(int).to_numpy()[0]
    is_in = (mine[list(answer.by)].to_numpy() == codes).all(axis=1)
    assert abs(int(said) - share(is_in, np.ones(len(mine)))) <= 0.5 + 1e-9


def check_bands(sentences: Sequence[str], mine: Any, filters: Filters) -> None:
    """The largest band of each characteristic, and the largest group by all three."""
    shares, kept = [], np.ones(len(mine), dtype=bool)
    for name, phrases in BANDS.items():
        counts = [int((mine[name] == band).sum()) for band in (1, 2, 3)]
        if max(counts) < len(mine):
            at = next(at for at, phrase in enumerate(phrases) if phrase in sentences[1])
            shares.append(share(counts[at], len(mine)))
            assert counts[at] == max(counts), sentences[1]
        at = next(at for at, phrase in enumerate(phrases) if phrase in sentences[2])
        kept &= (mine[name] == at + 1).to_numpy()
    says(sentences[1], *shares)
    says(sentences[2], 9 if filters.age else 27, share(kept, np.ones(len(mine))))


def check_distances(sentences: Sequence[str], mine: Any, side: str) -> None:
    far = mine["miles"] >= 50
    expected = [float(np.median(mine["miles"]))]
    says(sentences[1], *expected, *([share(far, np.ones(len(mine)))] if far.any() else []))
    counts = mine[f"eighth_{side}"].value_counts()
    check_ranking(sentences[2], {name: int(counts.get(at, 0)) for at, name in enumerate(EIGHTHS)}, len(mine))


@pytest.mark.parametrize("filters", [Filters(), YOUNG], ids=["all", "young"])
@pytest.mark.parametrize("place", range(3))
def test_inflow_and_outflow(case: Case, place: int, filters: Filters) -> None:
    county = case.counties[place]
    kept = (case.workers["age"] == 1).to_numpy() | (not filters.age)
    works, lives = (case.at(end, county) & kept for end in SIDES)
    come, go, stay = (int(each.sum()) for each in (works & ~lives, lives & ~works, works & lives))
    _, (first, second, third) = ask(case, "inflow_outflow", f"county:{county}", filters)
    says(first, come)
    says(second, *[each for each in (go, stay) if each])
    assert f"elsewhere {covered_of(case)}" in second
    both = share(works & lives, lives)
    assert third.endswith("% of these residents stay.")
    if "cannot be told apart" in third or "Equally" in third:
        says(third, both)
    else:
        says(third, abs(come - go), both)
        assert ("More people come in than" in third) == (come > go)


def test_of_all_workplaces_nobody_is_said_to_go_out(case: Case) -> None:
    """The workplaces outside are not in the release: it cannot say how many leave, or what share stays."""
    states = sorted(case.workers["work_state_id"].unique())
    if len(states) != 1:
        pytest.skip("the release covers several states")
    area = f"state:{states[0]}"
    lives = (case.workers["home_state_id"] == states[0]).to_numpy()
    _, sentences = ask(case, "inflow_outflow", area)
    assert len(sentences) == 2
    says(sentences[0], int((~lives).sum()))
    says(sentences[1], int(lives.sum()))
    outside = (
        case.workers.loc[~lives & ~case.workers["home_elsewhere"], "home_county_id"].value_counts().index[0]
    )
    _, (first, *more) = ask(case, "paired", f"county:{outside}", area)
    both = (case.workers["home_county_id"] == outside).to_numpy()
    says(first, int(both.sum()))
    assert "100%" not in " ".join(more)
    says(more[0], share(both, np.ones(len(both))))
    assert f"of the people who work {covered_of(case)}" in more[0]


@pytest.mark.parametrize("filters", [Filters(), YOUNG], ids=["all", "young"])
@pytest.mark.parametrize("place", range(3))
def test_pairs(case: Case, place: int, filters: Filters) -> None:
    kept = (case.workers["age"] == 1).to_numpy() | (not filters.age)
    home, work = case.counties[place], case.counties[(place + 1) % 3]
    lives, works = case.at("home", home) & kept, case.at("work", work) & kept
    both, n = lives & works, int((lives & works).sum())
    answer, (first, *more) = ask(case, "paired", f"county:{home}", f"county:{work}", filters)
    says(first, *([n] if n else []))
    if n < 10:
        assert not more
        return
    says(more[0], share(both, lives), share(both, works))
    assert f"and work {covered_of(case)} and " in more[0]
    assert more[0].count("in these groups") == (2 if filters.age else 0)
    says(more[1], float(np.median(case.workers.loc[both, "miles"])))
    tile = next(number for number in entry_of(answer).numbers if number.name == "share_of_living")
    assert text_of(tile.tile, answer) == f"of the {lives.sum():,} who live there and work {covered_of(case)}"


@pytest.mark.parametrize("filters", [Filters(), YOUNG], ids=["all", "young"])
@pytest.mark.parametrize("place", range(3))
def test_jobs_per_resident(case: Case, place: int, filters: Filters) -> None:
    county = case.counties[place]
    kept = (case.workers["age"] == 1).to_numpy() | (not filters.age)
    works, lives = (case.at(end, county) & kept for end in SIDES)
    answer, (first, *more) = ask(case, "job_balance", f"county:{county}", filters, layer="ctycsub")
    says(first, int(works.sum()), int(lives.sum()), works.sum() / lives.sum())
    assert f"and work {covered_of(case)}" in first
    if not more:
        return
    n, *named = matched(
        r"Of the (\d+) .*, (.*) has the most jobs per resident worker \((.*)\), and (.*) the fewest \((.*)\)\.",
        more[0],
    )
    units = answer.units[answer.units["kind"] == "unit"]
    assert int(n) == min(units["jobs_per_resident_error"].notna().sum(), len(units))
    ids = dict(zip(units["name"], units["unit_id"], strict=True))
    for name, said in zip(named[::2], named[1::2], strict=True):
        found = [unit for full, unit in ids.items() if is_called(full, name)]
        jobs, residents = (
            [int((here & (case.workers[f"{end}_layer_ctycsub"] == unit)).sum()) for unit in found]
            for end, here in (("work", works), ("home", lives))
        )
        ratios = [j / r for j, r in zip(jobs, residents, strict=True) if r]
        assert any(abs(ratio - float(said)) <= 0.005 + 1e-9 for ratio in ratios), (more[0], ratios)


def test_jobs_per_resident_leave_out_the_residents_of_other_states(case: Case) -> None:
    states = sorted(case.workers["work_state_id"].unique())
    lives = case.workers["home_state_id"].isin(states) & ~case.workers["home_elsewhere"]
    _, (first, *_) = ask(case, "job_balance", "all")
    n = len(case.workers)
    says(first, n, int(lives.sum()), n / lives.sum())
    if not lives.all():
        assert first.startswith(f"There are exactly {n:,} jobs {covered_of(case)}, and ")


@pytest.mark.parametrize("layer", ["county", "ctycsub", "stplc"])
def test_flow_matrices(case: Case, layer: str) -> None:
    column, workers = {"county": "county_id"}.get(layer, f"layer_{layer}"), case.workers
    away, home, work = workers["home_elsewhere"], workers[f"home_{column}"], workers[f"work_{column}"]
    homes, works = (set(each.unique()) - {""} for each in (home[~away], work))
    states = set(workers.loc[away, "home_state_id"].unique())
    answer, (first, second, third) = ask(case, "flow_matrix", layer, layer)
    numbers = [len(workers), len(homes), len(states), len(works)]
    says(first, *[number for number in numbers if number])
    lacking = [bool((home[~away] == "").any()), bool((work == "").any())]
    assert first.count("or outside any") == sum(lacking), first
    same = ((home == work) & (home != "") & ~away).to_numpy()
    says(third, share(same, np.ones(len(same))))
    flows = Counter(zip(home[~away].tolist(), work[~away].tolist(), strict=True))
    names = {
        end: dict(zip(answer.cells[f"{end}_id"], answer.cells[f"{end}_name"], strict=True)) for end in SIDES
    }
    for text, said in ranked_in(second).items():
        one, other = text.split(" to ")
        counts = {
            (mine, theirs): n
            for (mine, theirs), n in flows.items()
            if is_called(names["home"].get(mine, ""), one) and is_called(names["work"].get(theirs, ""), other)
        }
        of = answer.cells.set_index(["home_id", "work_id"])["expected_error"].fillna(0)
        assert any(abs(int(said.replace(",", "")) - n) <= of[pair] for pair, n in counts.items()), (
            second,
            counts,
        )
    listed_places = {number.label: (number.value, number.unit) for number in key_numbers(answer)[1:3]}
    assert list(listed_places.values()) == [(len(homes) + len(states), "places"), (len(works), "places")]
    assert [number.unit for number in key_numbers(answer)] == ["workers", "places", "places", "pairs"]
    for name, n in (("homes", len(homes) + len(states)), ("works", len(works))):
        caption = str(text_of(entry_of(answer).tables[name].words, answer))
        assert caption.startswith(f"All {n:,} "), caption


def is_called(full: str, spoken: str) -> bool:
    """Whether a unit may be called so in a sentence: its name, or the beginning of its name."""
    return full.lower() == spoken.lower() or bool(re.match(re.escape(spoken) + r"\b", full, re.IGNORECASE))
