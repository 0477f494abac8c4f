"""Exports a published table: to a folder of CSV files, or to one workbook."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final, Literal, get_args

from geodata.progress import Progress, silent
from mapapp.base.errors import UsageError
from mapapp.base.whole_files import new_place
from mapapp.kinds.tables.files.csv import codebook_csv, printed_csv, table_csv
from mapapp.kinds.tables.files.provenance import TableProvenance
from mapapp.kinds.tables.files.xlsx import table_xlsx
from mapapp.kinds.tables.read.published import PublishedTable
from mapapp.kinds.tables.read.words import limits, promise_sentence
from mapapp.show.exports.answers import readme, sidecar
from mapapp.show.exports.layer import safe_name
from mapapp.show.exports.release_export import Exported

TableForm = Literal["csv", "xlsx"]
TABLE_FORMS: Final[tuple[TableForm, ...]] = get_args(TableForm)


def export_table(table: Path, form: str, target: Path, *, report: Progress = silent) -> Exported:
    """Write a table with suppressed cells in another format, completely or not at all.

    The same table gives the same bytes.

    Parameters
    ----------
    table : Path
        Directory of the table.
    form : {"csv", "xlsx"}
    target : Path
        A new folder; for xlsx also a new file.
    report : callable
        Called with (stage, done, total).

    Raises
    ------
    UsageError
        If tables have no such format.
    StoreError
        If the input is not a table, or the target exists.
    """
    if form not in TABLE_FORMS:
        raise UsageError(
            f"--to {form}: a table with suppressed cells is written as {' or '.join(TABLE_FORMS)}"
        )
    as_file = form == "xlsx" and target.suffix.lower() == ".xlsx"
    with new_place(target, folder=not as_file) as place:
        published = PublishedTable.open(table, report=report)
        if as_file:
            place.write_bytes(table_xlsx(published))
        else:
            for name, content in _files(published, form).items():
                (place / name).write_bytes(content)
        files = {file.name: file.stat().st_size for file in ([place] if as_file else sorted(place.iterdir()))}
    return Exported(path=target, files=files, notes=())


def _files(published: PublishedTable, form: str) -> Mapping[str, bytes]:
    provenance = TableProvenance.of(published)
    notes = [promise_sentence(published.promise), *limits(published)]
    files = {
        "README.txt": readme(provenance, notes).encode(),
        "provenance.json": sidecar(provenance, notes).encode(),
    }
    if form == "xlsx":
        return files | {f"{safe_name(published.title)}.xlsx": table_xlsx(published)}
    for table in published.tables:
        name = f"{table.position + 1}-{safe_name(table.title, 'table')}"
        files[f"{name}.csv"] = table_csv(published, table.position)
        files[f"{name}-as-printed.csv"] = printed_csv(published, table.position)
    return files | {"codebook.csv": codebook_csv(published)}
