"""A setting together with what was measured of it, as a browser tab shows it.

Confidential.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from mapapp.measuring.validity import Validity
from mapapp.workbench.jobs import Job
from mapapp.workbench.setting import Setting

Extent = Literal["sample", "whole"]
"""Which workplace tracts are measured: a sample of them, or all."""


@dataclass(frozen=True, slots=True)
class MeasuredSetting:
    """What a tab shows.

    Attributes
    ----------
    number : int
        Rises with every setting that the tab shows.
    setting : Setting
    validity : Validity
        Of the sample, until all tracts are measured.
    extent : {"sample", "whole"}
    previous : Validity or None
        Of the setting that the tab showed before, if it was measured on the same tracts.
    job : Job or None
        The job that measures all tracts; None if the sample is all of them.
    """

    number: int
    setting: Setting
    validity: Validity
    extent: Extent
    previous: Validity | None = None
    job: Job[Validity] | None = None
