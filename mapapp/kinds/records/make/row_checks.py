"""Checks of the rows of worker records: whether the three tables agree, and whether they are as the certificate says.

Rows come workplace by workplace (`rows_in_order`), and each check remembers only what it has found wrong so far.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
import pandas

from engine.placement.points import CellTriangles
from engine.records.placing import commute_bands
from engine.records.structure import Structure
from engine.streams import SecretKey
from geodata.store.store import Store
from mapapp.kinds.base.certificate import TEST_KEY_REASON, CertificateCheck
from mapapp.kinds.base.row_checks import SamePoints, compare_with_test_key
from mapapp.kinds.base.rows_in_order import frames_by_workplace
from mapapp.kinds.records.make.attributes import BAND, RecordAttributes
from mapapp.kinds.records.make.placement import RecordRows, job_rows, point_columns

# The three tables of worker records, read side by side: all rows of some workplaces at a time.


class WorkplaceRows(NamedTuple):
    """All rows of some workplaces: the same ones in each table."""

    records: pandas.DataFrame
    jobs: pandas.DataFrame
    points: pandas.DataFrame


def rows_by_workplace(store: Store) -> Iterator[WorkplaceRows]:
    """Yield the rows of all workplaces, some row groups' worth at a time.

    Raises
    ------
    NotInOrder
        A table is not in the order of workplaces.
    """
    for frames in frames_by_workplace(store, WorkplaceRows._fields):
        yield WorkplaceRows(*frames)


_JOB: Final = ("age", "earnings", "industry")


class RowCheck(Protocol):
    """A check that sees the rows of some workplaces after the other."""

    def add(self, rows: WorkplaceRows) -> None:
        """Look at the rows of some workplaces."""
        ...

    def result(self) -> CertificateCheck:
        """Say what was found."""
        ...


class SameWorkersCheck:
    """Row i of `records` and of `points` are the same worker, and rows are in the order that says nothing."""

    def __init__(self) -> None:
        self._same = self._in_order = True
        self._n_rows = 0

    def add(self, rows: WorkplaceRows) -> None:
        """As in `RowCheck`."""
        records, points = rows.records, rows.points
        self._n_rows += len(records)
        names = ["destination_index", "origin_index"]
        same = [np.array_equal(records[name], points[name]) for name in names]
        segment = RecordRows(columns=_columns(records)).segment
        self._same &= all(same) and np.array_equal(segment, points["segment"])
        self._in_order &= _is_sorted(records)

    def result(self) -> CertificateCheck:
        """As in `RowCheck`."""
        wrong = [
            *([] if self._same else ["rows differ from points"]),
            *([] if self._in_order else ["not in the usual order"]),
        ]
        return CertificateCheck(
            "records and points", not wrong, "; ".join(wrong) or f"{self._n_rows:,} workers"
        )


class JobsCheck:
    """`jobs` counts the records."""

    def __init__(self) -> None:
        self._same = True
        self._n_rows = 0

    def add(self, rows: WorkplaceRows) -> None:
        """As in `RowCheck`."""
        self._n_rows += len(rows.jobs)
        counted = pandas.DataFrame(job_rows(RecordRows(columns=_columns(rows.records))))
        self._same &= bool(counted.equals(rows.jobs[list(counted.columns)]))

    def result(self) -> CertificateCheck:
        """As in `RowCheck`."""
        return CertificateCheck(
            "jobs", self._same, f"{self._n_rows:,} rows" + ("" if self._same else " do not count the records")
        )


class ValuesCheck:
    """Every value is in its domain, workplaces are covered, and what is derived follows from its source."""

    def __init__(self, attributes: RecordAttributes) -> None:
        self._attributes = attributes
        self._covered = np.zeros(attributes.geography.tracts.n_tracts, dtype=np.bool_)
        self._covered[attributes.work_tract] = True
        self._wrong = dict[str, None]()

    def add(self, rows: WorkplaceRows) -> None:
        """As in `RowCheck`."""
        records, attributes = rows.records, self._attributes
        tract = attributes.geography.tract_of_block[records["destination_index"].to_numpy()]
        if not self._covered[tract].all():
            self._wrong["workplaces outside the states that are covered"] = None
        for attribute in attributes.attributes:
            if attribute.name in records and attribute.name not in (*_JOB, BAND):
                values = records[attribute.name].to_numpy()
                if values.size and (values.min() < 0 or values.max() >= len(attribute.codes)):
                    self._wrong[f"values of {attribute.name}"] = None
                    continue
                for name, groups in attribute.derives.items():
                    if (np.array(groups)[values] != records[name].to_numpy()).any():
                        self._wrong[f"{name} does not follow from {attribute.name}"] = None
        for name in attributes.missing:
            if (records[name] != 1).any():
                self._wrong[f"{name} is missing but varies"] = None

    def result(self) -> CertificateCheck:
        """As in `RowCheck`."""
        names = self._attributes.names
        detail = f"wrong: {', '.join(self._wrong)}" if self._wrong else f"{len(names)} attributes"
        return CertificateCheck("values of attributes", not self._wrong, detail)


class NeverCheck:
    """Count records with a combination that never occurs; none may have one."""

    def __init__(self, attributes: RecordAttributes) -> None:
        codes = {attribute.name: attribute.codes for attribute in attributes.attributes}
        self._never = [
            {name: _stored_values(codes.get(name, ()), name, listed) for name, listed in never.items()}
            for never in attributes.never
        ]
        self._n_forbidden = 0

    def add(self, rows: WorkplaceRows) -> None:
        """As in `RowCheck`."""
        forbidden = np.zeros(len(rows.records), dtype=np.bool_)
        for never in self._never:
            has_all = [np.isin(rows.records[name].to_numpy(), values) for name, values in never.items()]
            forbidden |= np.logical_and.reduce(has_all)
        self._n_forbidden += int(np.count_nonzero(forbidden))

    def result(self) -> CertificateCheck:
        """As in `RowCheck`."""
        detail = f"forbidden records: {self._n_forbidden:,}, by {len(self._never)} declared combinations"
        return CertificateCheck("combinations that never occur", not self._n_forbidden, detail)


def _stored_values(codes: Sequence[str], name: str, listed: Sequence[str]) -> list[int]:
    """What `records` has for these codes: of the job the codes themselves, of other attributes their positions."""
    return [int(code) if name in _JOB else codes.index(code) for code in listed]


class BandsCheck:
    """Distance bands are possible between the PUMAs if the structure sees to it; how many homes lie in theirs."""

    def __init__(self, structure: Structure, attributes: RecordAttributes) -> None:
        self._ground = attributes.ground
        self._n_rows = self._n_inside = 0
        self._ok = True
        self._possible = _possible_bands(structure, attributes)

    def add(self, rows: WorkplaceRows) -> None:
        """As in `RowCheck`."""
        work, home = (rows.records[name].to_numpy() for name in ("destination_index", "origin_index"))
        band = rows.records["distance_band"].to_numpy()
        self._n_rows += band.size
        self._n_inside += int(np.count_nonzero(commute_bands(self._ground, work, home) == band))
        self._ok &= self._possible is None or bool(self._possible(work, home, band).all())

    def result(self) -> CertificateCheck:
        """As in `RowCheck`."""
        if not self._ok:
            return CertificateCheck(
                "distance bands", False, "some are impossible between the PUMAs of work and home"
            )
        share = self._n_inside / max(self._n_rows, 1)
        return CertificateCheck(
            "distance bands", True, f"{share:.1%} of homes lie in the band that was drawn"
        )


class KeyCheck:
    """Recognize points that were drawn under the published test key."""

    def __init__(self, reasons: Sequence[str], cells: CellTriangles) -> None:
        self._stated = TEST_KEY_REASON in reasons
        self._cells = cells
        self._key = SecretKey.for_tests()
        self._same = SamePoints(cells)

    def add(self, rows: WorkplaceRows) -> None:
        """As in `RowCheck`."""
        drawn = point_columns(self._key, RecordRows(columns=_columns(rows.records)), self._cells)
        self._same.add(rows.points, drawn)

    def result(self) -> CertificateCheck:
        """As in `RowCheck`."""
        return compare_with_test_key(self._same.are_too_many, self._stated)


def _possible_bands(
    structure: Structure, attributes: RecordAttributes
) -> Callable[..., npt.NDArray[np.bool_]] | None:
    """Which bands are possible, for blocks of work and home and a band; None where the structure does not see to it."""
    rule = next(rule for rule in attributes.possible if rule.attribute == attributes.place(BAND))
    parents = dict(zip(structure.parents[rule.attribute], structure.buckets[rule.attribute], strict=True))
    if not all(parent in parents and parents[parent] is None for parent in rule.given):
        return None
    geography = attributes.geography
    puma = geography.tracts.puma[geography.tract_of_block]
    place = np.zeros(geography.tracts.puma_members[0].size - 1, dtype=np.int64)
    place[attributes.work_puma] = np.arange(attributes.work_puma.size)
    return lambda work, home, band: rule.table[place[puma[work]], puma[home], band]


def _is_sorted(rows: pandas.DataFrame) -> bool:
    """Whether each row is the same as the one before it, or larger in the first column in which they differ."""
    first = ["destination_index", "age", "earnings", "industry", "origin_index", "distance_band"]
    decided = np.zeros(max(len(rows) - 1, 0), dtype=np.bool_)
    for name in [*first, *(name for name in rows.columns if name not in first)]:
        values = rows[name].to_numpy()
        before, after = values[:-1], values[1:]
        if (~decided & (before > after)).any():
            return False
        decided |= before < after
    return True


def _columns(rows: pandas.DataFrame) -> dict[str, npt.NDArray[np.generic]]:
    return {str(name): rows[name].to_numpy() for name in rows}
