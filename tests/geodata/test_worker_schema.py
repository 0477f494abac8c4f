"""Attributes of workers: what a list of them may say, and how a manifest keeps it."""

from dataclasses import replace

import pytest

from geodata.demo.workers import SCHEMA
from geodata.errors import GeodataError, StoreError
from geodata.workers.schema import STANDARD_PARENTS, Attribute, WorkerSchema, usual_parents

SEX = Attribute(name="sex", title="Sex", codes=("1", "2"), labels=("Male", "Female"))
SECTOR = Attribute(
    name="sector",
    title="Sector",
    codes=("11", "22", "92"),
    labels=("Farms", "Utilities", "Government"),
    parents=("work_puma",),
    derives={"industry": (1, 2, 3)},
)


def test_attributes_come_back_from_the_facts_of_a_manifest() -> None:
    schema = WorkerSchema(attributes=(SEX, SECTOR))
    assert WorkerSchema.from_facts(schema.as_facts()) == schema
    assert schema.domains == {"sex": 2, "sector": 3}
    assert WorkerSchema.from_facts({}) == WorkerSchema()


def test_what_is_derived_depends_on_its_source_alone() -> None:
    structure = WorkerSchema(attributes=(SEX, SECTOR)).structure()
    assert structure["industry"] == ("sector",)
    assert structure["sector"] == ("work_puma",)
    assert structure["sex"] == ("industry", "earnings")
    assert WorkerSchema().structure() == STANDARD_PARENTS


def test_an_attribute_without_parents_has_those_of_what_it_derives() -> None:
    assert usual_parents(["industry"]) == ("work_puma", "home_puma")
    assert usual_parents([]) == ("industry", "earnings")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"name": "Sex"}, "lower-case"),
        ({"name": "home_puma"}, "every dataset has a column of this name"),
        ({"codes": ("1",), "labels": ("Male",)}, "has 1 values; list 2 to"),
        ({"codes": ("1", "1")}, "the code '1' twice"),
        ({"labels": ("Male", "Male")}, "the label 'Male' twice"),
        ({"labels": ("Male", " ")}, "visible text"),
        ({"labels": ("Male",)}, "2 codes and 1 labels"),
        ({"parents": ("age", "age")}, "the parent 'age' twice"),
        ({"derives": {"industry": (1,)}}, "has 2 values, but derives.industry lists 1"),
        ({"derives": {"industry": (1, 4)}}, "derives.industry lists 4"),
        ({"derives": {"sex": (1, 2)}}, "only age, earnings, industry can be derived"),
    ],
)
def test_an_impossible_attribute_is_refused_in_one_line(change: dict[str, object], words: str) -> None:
    with pytest.raises(GeodataError, match=words) as caught:
        replace(SEX, **change)  # type: ignore[arg-type]  # the change is wrong on purpose
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("attributes", "words"),
    [
        ((SEX, SEX), "'sex' occurs twice"),
        ((replace(SEX, parents=("height",)),), "'height', which does not exist"),
        ((SECTOR, replace(SECTOR, name="branch")), "two attributes derive 'industry'"),
        ((replace(SEX, parents=("sex",)),), "circle: sex ← sex"),
        ((SEX, replace(SECTOR, parents=("sex",))), "circle"),
        ((replace(SECTOR, parents=("earnings",)),), "circle"),
    ],
)
def test_attributes_that_do_not_fit_together_are_refused(
    attributes: tuple[Attribute, ...], words: str
) -> None:
    with pytest.raises(GeodataError, match=words) as caught:
        WorkerSchema(attributes=attributes)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("listed", [[{}], [{"name": "sex"}], [SEX.as_fact() | {"values": [1]}]])
def test_a_manifest_with_impossible_attributes_is_refused(listed: list[object]) -> None:
    with pytest.raises(StoreError, match="worker_attributes"):
        WorkerSchema.from_facts({"worker_attributes": listed})


def test_the_demo_derives_the_industry_groups_from_twenty_sectors() -> None:
    sectors = SCHEMA.derived_from["industry"]
    assert sectors.size == 20
    assert set(sectors.derives["industry"]) == {1, 2, 3}
