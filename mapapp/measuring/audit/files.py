"""An audit as files that only their owner may read: CSV tables, and a picture."""

from __future__ import annotations

from pathlib import Path

from mapapp.measuring.audit.records_result import RECORDS_LIMITS, RecordsAudit
from mapapp.measuring.audit.result import LIMITS, Audit
from mapapp.measuring.validity_report import write_figure, write_tables
from mapapp.measuring.validity_result import CONFIDENTIAL

__all__ = ["write_csv", "write_picture"]


def write_csv(found: Audit | RecordsAudit, path: Path) -> None:
    """Write every table as a CSV file into a new directory, with the sentences and the limits in a note.

    Raises
    ------
    StoreError
        There is something at `path` already.
    """
    note = "\n".join([CONFIDENTIAL, "", *found.sentences, "", _limits(found)])
    write_tables(found.tables, note, path)


def write_picture(found: Audit | RecordsAudit, path: Path) -> None:
    """Draw what attackers learn into a PNG or SVG file.

    Raises
    ------
    StoreError
        There is something at `path` already.
    """
    note = f"Confidential, not for publication. {_limits(found)}"
    if isinstance(found, RecordsAudit):
        from mapapp.drawing.paper.records_audit_picture import records_audit_picture

        names = [records["name"] for records in found.facts["records"]]
        write_figure(
            records_audit_picture(found.tables, names, titles=found.facts["titles"], note=note), path
        )
        return
    from mapapp.drawing.paper.audit_picture import audit_picture

    names = [release["name"] for release in found.facts["releases"]]
    write_figure(audit_picture(found.tables, names, note=note), path)


def _limits(found: Audit | RecordsAudit) -> str:
    return RECORDS_LIMITS if isinstance(found, RecordsAudit) else LIMITS
