"""Every value of a certificate of records, forged by itself: which forgeries `certify` cannot notice, and why."""

from __future__ import annotations

import functools
import json
import re
import shutil
from fractions import Fraction
from functools import cache
from pathlib import Path

import msgspec
import pandas
import pytest

from engine.placement.points import CellTriangles
from geodata.json_objects import JsonObject
from geodata.store.store import Store, open_store
from geodata.workers.schema import WorkerSchema
from mapapp.answers.promise.chance_words import chance_in_words
from mapapp.answers.publication import bind_publication
from mapapp.answers.records.claims import RecordsCertificate
from mapapp.kinds.base.block_cells import read_cells
from mapapp.kinds.base.rows_in_order import blocks_with_work
from mapapp.kinds.records.make import attributes as attributes_module
from mapapp.kinds.records.make.attributes import RecordAttributes
from mapapp.kinds.records.make.recheck import ClaimsCheck, check_records
from mapapp.kinds.records.make.row_checks import WorkplaceRows, rows_by_workplace
from tests.kinds.forgeries import forged, forgeries, general, leaves
from tests.releases import rewrite_document, rewrite_table

ON_TRUST = {
    r"expected_error/.*/(constant|per_worker|per_worker_squared)": "come from the private model",
    r"versions/\w+": "what computed the records",
    r"model/parents/\w+": "the order in which parents of a learned structure were found",
    r"seeds/kept": "a choice that neither epsilon nor the records depend on",
}
"""Values that can be changed by themselves without being noticed, by place, and why they are taken on trust."""


def is_noticed(store: Store, certificate: JsonObject) -> bool:
    """Whether the checks of a certificate's claims notice that it was changed."""
    parts, cells = rows_and_cells(store.path)
    try:
        stated = msgspec.convert(certificate, RecordsCertificate)
    except msgspec.ValidationError:
        return True
    claims = ClaimsCheck(store, stated, certificate, cells)
    for rows in parts:
        claims.add(rows)
    return not all(check.ok for check in claims.results())


@cache
def rows_and_cells(path: Path) -> tuple[list[WorkplaceRows], CellTriangles]:
    """What is not forged."""
    store = open_store(path, "records")
    used = blocks_with_work(store, "records")
    return list(rows_by_workplace(store)), read_cells(store, used)


@pytest.fixture
def remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables, and what follows from them alone, are read and computed once: they are not what is forged."""
    tables: dict[tuple[Path, str, str], pandas.DataFrame] = {}
    attributes: dict[tuple[Path, str, str], RecordAttributes] = {}
    read, over = Store.table, attributes_module.attributes_over

    def table(store: Store, name: str, columns: list[str] | None = None) -> pandas.DataFrame:
        key = (store.path, name, str(columns))
        if key not in tables:
            tables[key] = read(store, name, columns)
        return tables[key]

    def attributes_over(store: Store, schema: WorkerSchema, *, missing: list[str]) -> RecordAttributes:
        key = (store.path, repr(schema), str(missing))
        if key not in attributes:
            attributes[key] = over(store, schema, missing=missing)
        return attributes[key]

    monkeypatch.setattr(Store, "table", table)
    monkeypatch.setattr("mapapp.kinds.records.make.remade_certificate.attributes_over", attributes_over)


OF_KIND = {
    "seedless": r"(?!model|parts|publication|split)",
    "seeded": r"seeds|promise|parts|split|records/",
    "learned": r"model|parts|unit|whole",
}
"""Where the certificates of each kind are forged; the publication is compared before the claims, in other tests."""


@pytest.mark.usefixtures("remembered")
@pytest.mark.parametrize("kind", ["seedless", "seeded", "learned"])
def test_every_forged_value_is_noticed_or_listed(kind: str, request: pytest.FixtureRequest) -> None:
    store = open_store(request.getfixturevalue(f"{kind}_records"), "records")
    document = store.document("certificate.json")
    assert not is_noticed(store, document)
    places = {general(place): (place, value) for place, value in reversed(list(leaves(document)))}
    missed = set()
    for number, (name, (place, value)) in enumerate(places.items()):
        if re.match(OF_KIND[kind], name):
            others = forgeries(value)
            if not is_noticed(store, forged(document, place, others[number % len(others)])):
                missed.add(name)
    assert {name for name in missed if not any(re.fullmatch(known, name) for known in ON_TRUST)} == set()


@pytest.mark.usefixtures("remembered")
def test_what_follows_from_a_learned_structure_cannot_be_forged(learned_records: Path) -> None:
    store = open_store(learned_records, "records")
    document = store.document("certificate.json")
    learned = document["model"]["learned"]
    for name, other in (
        ("n_entropies", learned["n_entropies"] - 1),
        ("noise_bits", learned["noise_bits"] / 2),
        ("entropy_epsilon", "1"),
        ("fewest_records", learned["fewest_records"] + 10),
        ("fewest_records", 1),
        ("fewest_records", True),
    ):
        assert is_noticed(store, forged(document, ("model", "learned", name), other)), name
    work = document["model"]["parents"]["distance_band"][1:]
    assert is_noticed(store, forged(document, ("model", "parents", "distance_band"), work)), (
        "required parents"
    )
    every = document["resampling_order"][:6]
    assert is_noticed(store, forged(document, ("model", "parents", "work_tract"), every)), "a table too large"


def test_kept_attributes_are_the_word_of_the_analyst(seeded_records: Path) -> None:
    """Epsilon does not depend on them, and nothing marks what was kept: so another prefix is as good a claim."""
    store = open_store(seeded_records, "records")
    document = store.document("certificate.json")
    assert not is_noticed(store, forged(document, ("seeds", "kept"), ["work_puma"]))
    assert is_noticed(store, forged(document, ("seeds", "kept"), ["home_puma"]))


def test_the_earlier_wording_of_delta_is_accepted_and_no_other(seeded_records: Path) -> None:
    """Certificates once printed a delta of one in a million as 1e-06; their publications are as good as before."""
    store = open_store(seeded_records, "records")
    document = store.document("certificate.json")
    place, said = ("promise", "in_words"), document["promise"]["in_words"]
    new = re.search("with a probability of at most one in [0-9a-z ,]+", said)
    assert new is not None, said
    delta = float(Fraction(document["promise"]["add_remove"]["delta"]["exact"]))
    earlier = said.replace(new.group(), f"with a probability of {delta:.3g}")
    assert not is_noticed(store, forged(document, place, earlier))
    for other in (said.replace(new.group(), f"with a probability of {delta / 10:.3g}"), earlier + " "):
        assert is_noticed(store, forged(document, place, other))


@pytest.mark.parametrize(
    ("chance", "text"),
    [
        ("1/1000000", "one in a million"),
        ("1/2000000", "one in 2 million"),
        ("1/1500000", "one in 1.5 million"),
        ("1/1234567", "one in 1.23 million"),
        ("1/1000000000", "one in a billion"),
        ("1/999999", "one in 999,000"),
        ("1/3", "one in 3"),
        ("3/10", "one in 3"),
        ("2/3", "66.7%"),
    ],
)
def test_a_probability_in_words_is_never_less_than_it_is(chance: str, text: str) -> None:
    assert chance_in_words(Fraction(chance)) == text


@pytest.mark.parametrize(
    ("table", "free"),
    [
        ("jobs", set()),
        ("points", {"home_lon_deg", "home_lat_deg", "work_lon_deg", "work_lat_deg"}),
        (
            "records",
            {"distance_band", "sex", "race", "ethnicity", "education", "naics_sector", "firm_size"},
        ),
    ],
)
def test_one_forged_value_of_a_row_is_noticed_unless_any_value_could_have_been_drawn(
    table: str, free: set[str], seedless_records: Path, tmp_path: Path
) -> None:
    """Places within a block, and attributes that no other table counts, are drawn: another value is as good."""
    accepted = set()
    for column in open_store(seedless_records, "records").columns(table):
        copied = Path(shutil.copytree(seedless_records, tmp_path / column))
        rewrite_table(copied, table, functools.partial(_with_another_value, column=column))
        document = json.loads((copied / "certificate.json").read_text())
        files = json.loads((copied / "manifest.json").read_text())["files"]
        rewrite_document(
            copied,
            "certificate.json",
            bind_publication(document, document["publication"]["facts"], files),
        )
        if all(check.ok for check in check_records(copied)):
            accepted.add(column)
        shutil.rmtree(copied)
    assert accepted <= free


def _with_another_value(rows: pandas.DataFrame, column: str) -> pandas.DataFrame:
    values = rows[column].copy()
    middle = len(values) // 2
    if values.dtype.kind == "f":
        values.iloc[middle] += 1e-5
    else:
        values.iloc[middle] += 1 if values.iloc[middle] < values.max() else -1
    return rows.assign(**{column: values})
