"""What the audits of a tab's settings have found. Confidential."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from mapapp.measuring.audit.result import Audit
from mapapp.workbench.measured_setting import Extent
from mapapp.workbench.setting import Setting

__all__ = ["THIS_SETTING", "AuditedSettings"]

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
