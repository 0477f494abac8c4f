"""Worker records as CSV and Parquet, with a codebook."""

from __future__ import annotations

from pathlib import Path

import pandas
import pyarrow
import pytest

from geodata.store.store import open_store
from mapapp.base.errors import UsageError
from mapapp.show.exports.release_export import Form, export_release
from mapapp.show.exports.spreadsheet import harmless, harmless_texts
from tests.releases import write_release


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_records_are_written_row_by_row_with_a_codebook(
    demo_records: Path, tmp_path: Path, form: Form
) -> None:
    done = export_release(demo_records, form, tmp_path / "out")
    again = export_release(demo_records, form, tmp_path / "again")
    assert done.files == again.files
    assert (tmp_path / "out" / f"records.{form}").read_bytes() == (
        tmp_path / "again" / f"records.{form}"
    ).read_bytes()
    file = tmp_path / "out" / f"records.{form}"
    found = pandas.read_csv(file, dtype=str) if form == "csv" else pandas.read_parquet(file)
    store = open_store(demo_records, "records")
    records, blocks = store.table("records"), store.table("blocks", ["block_id"])["block_id"]
    assert found["work_block"].tolist() == blocks.iloc[records["destination_index"]].tolist()
    for name in ("age", "sex", "education", "distance_band"):
        assert found[name].astype(int).tolist() == records[name].tolist()
    book = pandas.read_csv(tmp_path / "out" / "codebook.csv", dtype=str).fillna("")
    meaning = book.set_index(["column", "code"])["meaning"]
    assert meaning["sex", "1"] == "Female"
    assert meaning["education", ""] == "Education"
    assert set(book["column"]) == set(found.columns)
    assert "No row is a person" in (tmp_path / "out" / "README.txt").read_text()


def test_arrays_of_texts_are_made_harmless_like_single_ones() -> None:
    texts = ["=1+1", "+1", "-1", "@sum", "\tx", "\rx", "\nx", "", "'=", "440010301001000", "a=b", "−1"]
    assert harmless_texts(pyarrow.array(texts)).to_pylist() == [harmless(text) for text in texts]


def test_a_release_has_no_records_to_write(tmp_path: Path) -> None:
    release = write_release(tmp_path / "small.release", n_pairs=100)
    with pytest.raises(UsageError, match="--to parquet is for worker records"):
        export_release(release, "parquet", tmp_path / "out")
    assert not (tmp_path / "out").exists()
