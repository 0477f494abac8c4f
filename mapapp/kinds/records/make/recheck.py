"""Checking worker records from themselves alone: files, rows, and the certificate written again.

Attributes, structure, and promise are functions of public tables and of stated choices, so they are made again and
compared. Taken on trust remain what only the workers could tell: how many candidates passed, the errors to expect,
which structure was learned and from about how many records, that the draws were made as described, and that their key
was secret (the published test key is recognized). Also the analyst's word: the choices themselves, labels and parents
of further attributes, versions of software, and which publications were known.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path

import msgspec
import numpy as np

from engine.placement.points import CellTriangles
from geodata.json_objects import JsonMapping
from geodata.store.schema import RECORDS
from geodata.store.store import Store, open_store
from mapapp.answers.claims import refusal
from mapapp.answers.publication import CERTIFICATE
from mapapp.answers.records.claims import RecordsCertificate
from mapapp.kinds.base.block_cells import read_cells
from mapapp.kinds.base.certificate import UNREADABLE, CertificateCheck
from mapapp.kinds.base.overlapping_publications import check_beside
from mapapp.kinds.base.publication_check import (
    check_facts,
    check_files,
    check_geography,
    check_publication,
    check_schema,
    check_sizes,
)
from mapapp.kinds.base.row_checks import PlacesCheck, PointsCheck
from mapapp.kinds.base.rows_in_order import NotInOrder, blocks_to_compare, blocks_with_work
from mapapp.kinds.records.make.remade_certificate import (
    STANDARD,
    check_again,
    check_counts,
    check_errors,
    check_trusted,
    stated_attributes,
    stated_plan,
    stated_structure,
)
from mapapp.kinds.records.make.row_checks import (
    BandsCheck,
    JobsCheck,
    KeyCheck,
    NeverCheck,
    RowCheck,
    SameWorkersCheck,
    ValuesCheck,
    WorkplaceRows,
    rows_by_workplace,
)

__all__ = ["ClaimsCheck", "check_records"]


def check_records(path: Path) -> list[CertificateCheck]:
    """Check worker records from themselves alone.

    Returns
    -------
    list of CertificateCheck
        Every claim, whether it holds, and the numbers.

    Raises
    ------
    StoreError
        They are no records, their files are not those of the manifest, or the certificate cannot be read.
    """
    store = open_store(path, "records")
    certificate = store.document(CERTIFICATE)
    try:
        stated = msgspec.convert(certificate, RecordsCertificate)
    except msgspec.ValidationError as error:
        return [check_files(store), CertificateCheck("schema", False, refusal(error))]
    checks = [_check_columns(store, stated), check_sizes(store)]
    if not all(check.ok for check in checks):
        return checks
    used = blocks_with_work(store, "records")
    checks += [*check_publication(store, stated.publication), check_facts(store, np.flatnonzero(used))]
    checks += check_geography(store)
    tables: list[RowCheck] = [PointsCheck(), SameWorkersCheck(), PlacesCheck(store)]
    cells = read_cells(store, blocks_to_compare(used), threads=os.cpu_count() or 1)
    claims = ClaimsCheck(store, stated, certificate, cells)
    try:
        for rows in rows_by_workplace(store):
            for check in tables:
                check.add(rows)
            claims.add(rows)
    except NotInOrder as error:
        return [*checks, CertificateCheck("records and points", False, f"{error}: not in the usual order")]
    return [*checks, *(check.result() for check in tables), *claims.results()]


class ClaimsCheck:
    """Checks of what the certificate says; one that cannot be interpreted fails as a whole.

    Parameters
    ----------
    store : Store
    stated : RecordsCertificate
    document : mapping
        The same as it is written.
    cells : CellTriangles
        Of all workplaces.
    """

    def __init__(
        self, store: Store, stated: RecordsCertificate, document: JsonMapping, cells: CellTriangles
    ) -> None:
        self._store = store
        self._cells = cells
        self._n_rows = 0
        self._stated = stated
        self._document = document
        self._schema = check_schema(stated, document)
        self._rows: list[RowCheck] = []
        self._error: Exception | None = None
        if self._schema[0].ok:
            self._try(self._begin)

    def add(self, rows: WorkplaceRows) -> None:
        """Look at the rows of some workplaces."""
        self._n_rows += len(rows.records)
        for check in self._rows:
            self._try(partial(check.add, rows))

    def results(self) -> list[CertificateCheck]:
        """All checks, after all rows."""
        checks = [*self._schema]
        if self._schema[0].ok and self._error is None:
            self._try(lambda: checks.extend(self._made_again()))
        if self._error is not None:
            wrong = f"cannot be interpreted ({type(self._error).__name__})"
            return [CertificateCheck("certificate", False, wrong)]
        return checks

    def _try(self, act: Callable[[], object]) -> None:
        if self._error is None:
            try:
                act()
            except UNREADABLE as error:
                self._error = error

    def _begin(self) -> None:
        self._attributes = stated_attributes(self._store, self._stated)
        self._plan = stated_plan(self._attributes, self._stated)
        self._structure = stated_structure(self._plan, self._stated.model)
        self._rows = [
            JobsCheck(),
            ValuesCheck(self._attributes),
            *([NeverCheck(self._attributes)] if self._attributes.never else []),
            BandsCheck(self._structure, self._attributes),
            KeyCheck(self._stated.status_reasons, self._cells),
        ]

    def _made_again(self) -> list[CertificateCheck]:
        stated, plan, structure = self._stated, self._plan, self._structure
        *of_rows, of_key = (check.result() for check in self._rows)
        return [
            *of_rows,
            check_counts(stated, plan, self._n_rows),
            check_errors(stated, plan, structure),
            check_trusted(stated, plan, structure),
            check_again(self._store, stated, self._document, plan, structure),
            check_beside(stated.beside, stated.beside_in_words, "records"),
            of_key,
        ]


def _check_columns(store: Store, stated: RecordsCertificate) -> CertificateCheck:
    """Files and columns as usual; of `records`, the further columns are the certificate's attributes."""
    check = check_files(store)
    further = {attribute.name for attribute in stated.attributes} - set(STANDARD)
    strange = sorted((set(store.columns("records")) - set(RECORDS.columns)) ^ further)
    if strange:
        return CertificateCheck("files and columns", False, f"unexpected or missing: {', '.join(strange)}")
    return check
