"""Audits of settings one after another: attackers run on one draw of each, against the real workers. Confidential."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from mapapp.base.progress import Report, part_of
from mapapp.measuring.audit.result import Audit
from mapapp.workbench.measured_setting import Extent
from mapapp.workbench.session import Session
from mapapp.workbench.setting import Setting

__all__ = ["THIS_SETTING", "AuditedSettings", "run_audits"]

THIS_SETTING: Final = "This setting"
"""Name of the setting of the controls, beside those that are kept under a name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditedSettings:
    """What attackers would learn from some settings, side by side.

    Attributes
    ----------
    extent : {"sample", "whole"}
        Whose workers were attacked.
    settings : mapping of str to Setting
        By name.
    audits : tuple of Audit
        One for each setting, in the same order.
    """

    extent: Extent
    settings: Mapping[str, Setting]
    audits: tuple[Audit, ...]


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
