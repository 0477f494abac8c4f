"""Audits of settings one after another: attackers run on one draw of each, against the real workers."""

from __future__ import annotations

from collections.abc import Mapping

from mapapp.base.progress import Report, part_of
from mapapp.workbench.audit_results import AuditedSettings
from mapapp.workbench.measured_setting import Extent
from mapapp.workbench.session import Session
from mapapp.workbench.setting import Setting

__all__ = ["run_audits"]


def run_audits(
    session: Session, settings: Mapping[str, Setting], extent: Extent, report: Report
) -> AuditedSettings:
    """Audit settings; what was audited before is taken from memory.

    Parameters
    ----------
    session : Session
    settings : mapping of str to Setting
        By the names that the tables give them.
    extent : {"sample", "whole"}
    report : callable
        Progress; an exception from it cancels.

    Raises
    ------
    EngineError
        A setting cannot be certified.
    """
    audits = []
    for done, (name, setting) in enumerate(settings.items()):
        within = part_of(report, done, len(settings))
        within(f"auditing {name}", 0, 1)
        audits.append(session.audit(name, setting, extent, within))
    return AuditedSettings(extent=session.extent(extent), settings=settings, audits=tuple(audits))
