"""Schemas of worker records: what they say, and one line for each mistake."""

from pathlib import Path

import pytest

from geodata.errors import SourceFileError
from geodata.workers.columns import Bands, Values, read_worker_columns
from geodata.workers.schema import WorkerSchema
from tests.geodata.worker_samples import SCHEMA, write_schema


def test_a_schema_names_columns_and_values(tmp_path: Path) -> None:
    columns = read_worker_columns(write_schema(tmp_path))
    assert columns.columns == ["w_block", "h_block", "years", "dollars", "naics", "sex"]
    assert columns.work_states == ("44",)
    coders = {coded.name: coded.coder for coded in columns.coded}
    assert list(coders) == ["age", "earnings", "sector", "sex"]
    assert coders["age"] == Bands((14.0, 30.0, 55.0, float("inf")))
    assert coders["sector"] == Values({"31": 0, "32": 0, "33": 0, "44": 1, "45": 1, "92": 2})


def test_bands_of_a_further_attribute_have_labels_made_of_their_ends(tmp_path: Path) -> None:
    text = (
        SCHEMA + "\n[attributes.tenure]\nbands = [{ below = 1 }, { from = 1, below = 5.5 }, { from = 5.5 }]\n"
    )
    tenure = read_worker_columns(write_schema(tmp_path, text)).schema.attributes[-1]
    assert tenure.title == "Tenure"
    assert tenure.labels == ("below 1", "1 to below 5.5", "5.5 or more")
    assert tenure.parents == ("industry", "earnings")


YEAR = "year = 2019"
AGE = "bands = [{ from = 14, below = 30 }, { from = 30, below = 55 }, { from = 55 }]"
SEX = '{ code = 1, label = "Male" }, { code = 2, label = "Female" }'


def test_combinations_that_never_occur_are_codes_of_attributes(tmp_path: Path) -> None:
    """Finds a number that is no code as text, and rules that a dataset's manifest would lose."""
    text = f'never = [{{ age = 1, sex = ["X", 2] }}, {{ sector = "92", industry = [1, 2] }}]\n{SCHEMA}'
    schema = read_worker_columns(write_schema(tmp_path, text)).schema
    assert schema.never == (
        {"age": ("1",), "sex": ("X", "2")},
        {"sector": ("92",), "industry": ("1", "2")},
    )
    assert WorkerSchema.from_facts(schema.as_facts()) == schema


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("[age]", "[ages]", "the unknown key 'ages'; allowed are year, job_type"),
        ('column = "w_block"', 'colum = "w_block"', "[workplace] has the unknown key 'colum'"),
        ('column = "h_block"', "", "[home] column is None"),
        ('column = "h_block"', 'column = "h"\nunit = "county"', "home.unit is 'county'; it must be"),
        ('states = ["RI"]', 'states = ["Rhode Island"]', "lists 'Rhode Island'; write a postal code"),
        ('states = ["RI"]', "states = []", "must be a list of states"),
        ("year = 2019", 'year = "2019"', "year is '2019'"),
        ('job_type = "JT00"', 'job_type = "all"', "job_type is 'all'"),
        ("year = 2019", "year = = 2019", "not TOML"),
        (AGE, "", "[age] must have either `values` or `bands`"),
        (AGE, AGE + '\nvalues = ["1"]', "[age] must have either `values` or `bands`"),
        (AGE, "bands = []", "bands must be a list with at least one entry"),
        (
            AGE,
            "bands = [{ below = 30 }, { from = 30 }]",
            "[age] has 2 values; it must have 3, in this order: 29",
        ),
        (AGE, AGE.replace("from = 30", "from = 29"), "bands 1 and 2 overlap: one ends below 30"),
        (AGE, AGE.replace("from = 30", "from = 31"), "bands 1 and 2 leave a gap: one ends below 30"),
        (AGE, AGE.replace("from = 30, ", ""), "[age] band 2: from is None; it must be a number"),
        (AGE, AGE.replace("below = 55", "below = 20"), "from 30 is not less than below 20"),
        (AGE, AGE.replace("from = 55", 'from = 55, label = "Old"'), "maps show the published ones"),
        (AGE, AGE.replace("from = 55", "start = 55"), "the unknown key 'start'; allowed are from, below"),
        (SEX, SEX.replace("code = 2", "code = 1"), "[attributes.sex] lists the code '1' twice"),
        (SEX, SEX.replace("Female", "Male"), "has the label 'Male' twice"),
        (SEX, SEX.replace("code = 2", "code = 2.5"), "value 2: its code is 2.5"),
        ('cells = ["44", "45"]', 'cells = ["44", "33"]', "lists the code '33' twice"),
        ('parents = ["sector", "age"]', 'parents = ["height"]', "the parent 'height', which does not exist"),
        ('parents = ["sector", "age"]', 'parents = ["sex"]', "circle: sex ← sex"),
        ('parents = ["sector", "age"]', 'parents = "age"', "parents must be a list"),
        ("{ industry = [1, 2, 3] }", "{ industry = [1, 2] }", "derives.industry lists 2 codes"),
        ("{ industry = [1, 2, 3] }", "{ industry = [1, 2, 7] }", "derives.industry lists 7"),
        ("{ industry = [1, 2, 3] }", "{ sex = [1, 2, 3] }", "only age, earnings, industry can be derived"),
        ("{ industry = [1, 2, 3] }", '{ industry = "1" }', "derives must be a table"),
        ("derives = { industry = [1, 2, 3] }", "", "[industry] is missing; name its column, or let"),
        (
            "[earnings]",
            '[industry]\ncolumn = "i"\nvalues = [1, 2, 3]\n[earnings]',
            "'sector' derives industry",
        ),
        ("[attributes.sex]", "[attributes.home_puma]", "every dataset has a column of this name"),
        ('column = "h_block"', 'column = "h"\nmissing = ""', "home.missing must be a list of texts"),
        ('column = "w_block"', 'column = "w"\nmissing = [""]', "[workplace] has the unknown key 'missing'"),
        ("[attributes.sex]", "[attributes.sex]\npublished = 0", "published is 0; it must be true or false"),
        ("[attributes.sex]", "[attributes.sex]\npublished = false", "is not published, so it has no parents"),
        (YEAR, f"never = 1\n{YEAR}", "never must be a list of combinations, such as never = [{ age"),
        (YEAR, f"never = [{{ age = 1.5, sex = 1 }}]\n{YEAR}", "never lists something that is no code"),
        (
            YEAR,
            f"never = [{{ age = 1 }}]\n{YEAR}",
            "never, combination 1: it names fewer than two attributes",
        ),
        (
            YEAR,
            f"never = [{{ age = 1, sex = 3 }}]\n{YEAR}",
            "combination 1: '3' is no code of sex; list codes",
        ),
        (YEAR, f"never = [{{ age = 4, sex = 1 }}]\n{YEAR}", "combination 1: '4' is no code of age"),
        (YEAR, f"never = [{{ age = [], sex = 1 }}]\n{YEAR}", "combination 1: 'nothing' is no code of age"),
        (
            YEAR,
            f"never = [{{ sx = 1, age = 1 }}]\n{YEAR}",
            "names 'sx', which does not exist; allowed are age",
        ),
    ],
)
def test_a_mistake_is_named_in_one_line(tmp_path: Path, old: str, new: str, words: str) -> None:
    assert old in SCHEMA
    path = write_schema(tmp_path, SCHEMA.replace(old, new))
    with pytest.raises(SourceFileError) as caught:
        read_worker_columns(path)
    message = str(caught.value)
    assert message.startswith(f"{path}: ")
    assert words in message
    assert "\n" not in message


def test_a_schema_that_is_not_there_or_not_text_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SourceFileError, match="cannot be read"):
        read_worker_columns(tmp_path / "none.toml")
    path = tmp_path / "bytes.toml"
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(SourceFileError, match="not UTF-8"):
        read_worker_columns(path)
