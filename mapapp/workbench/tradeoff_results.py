"""What settings leak beside other schemes at equal error, as a tab has found it. Confidential."""

from __future__ import annotations

from dataclasses import dataclass

import pandas

from mapapp.workbench.measured_setting import Extent
from mapapp.workbench.setting import Setting

__all__ = ["TradeOff"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TradeOff:
    """Error of counts and share of workers named right, of settings and of other schemes.

    Attributes
    ----------
    extent : {"sample", "whole"}
        Whose workers were attacked.
    setting : Setting
        That of the controls when the work began.
    names : tuple of str
        The marked settings in order; the first is `setting`.
    schemes, tradeoff : DataFrame
        As docs/audit.md describes them.
    """

    extent: Extent
    setting: Setting
    names: tuple[str, ...]
    schemes: pandas.DataFrame
    tradeoff: pandas.DataFrame
