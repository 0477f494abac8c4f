"""The sweeps that the workbench offers, and what they have found so far."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Literal

import pandas

from mapapp.analyst.validity.result import Scope
from mapapp.analyst.validity.validity import Validity
from mapapp.analyst.workbench.jobs import Job
from mapapp.analyst.workbench.setting import UNUSED, Setting

# A setting together with what was measured of it, as a browser tab shows it.
#
# Confidential.

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


@dataclass(frozen=True, slots=True)
class Sweep:
    """One parameter and the values it takes.

    Attributes
    ----------
    name : str
        The control it is.
    title, axis : str
        What the picture is called, and its horizontal axis.
    values : tuple of str
        As on the slides of 2010.
    marked : str
        That of the papers' setting, V3.
    log_x, shows_epsilon_final : bool
        How it is drawn.
    """

    name: str
    title: str
    axis: str
    values: tuple[str, ...]
    marked: str
    log_x: bool
    shows_epsilon_final: bool = False


SWEEPS: Final = (
    Sweep("epsilon", "KL against ε", "ε before pruning", ("2", "4", "4.6", "10", "25"), "4.6", False),
    Sweep(
        "min_retention",
        "KL against least retention",
        "least retention",
        ("0.001", "0.025", "0.05", "0.1"),
        "0.025",
        True,
        shows_epsilon_final=True,
    ),
    Sweep("delta", "KL against δ", "δ", ("1e-6", "1e-5", "1e-4", "1e-3"), "1e-6", True),
)

WHOLE_EPSILON: Final = Sweep(
    "epsilon", "KL against ε", "ε, the whole promise", ("2", "4", "6.5", "8.982", "15"), "8.982", False
)
"""The sweep of ε for the exponential mechanism, which prunes nothing."""


def sweeps_of(mechanism: str) -> tuple[Sweep, ...]:
    """The sweeps that mean something to a mechanism."""
    used = [sweep for sweep in SWEEPS if sweep.name not in UNUSED[mechanism]]
    if mechanism != "exponential":
        return tuple(used)
    return tuple(WHOLE_EPSILON if sweep.name == "epsilon" else sweep for sweep in used)


COLUMNS: Final = ("value", "kl_all", "kl_small", "epsilon_final")


@dataclass(slots=True)
class SweepResults:
    """What sweeps have found so far.

    Attributes
    ----------
    extent : {"sample", "whole"}
    sweeps : tuple of Sweep
        What is swept.
    scope : dict or None
        How much was measured, as in `Validity.facts`; None before the first value.
    rows : dict of str to list
        By parameter: one tuple of `COLUMNS` per value measured.
    failed : list of str
        One line for each value at which no promise holds.
    papers : tuple of (float, float) or None
        KL of all and of small destinations at the papers' own setting.
    current : dict of str to tuple
        By parameter: one tuple of `COLUMNS` for the setting of the controls; without those that it leaves unsaid.
    """

    extent: Extent
    sweeps: tuple[Sweep, ...] = SWEEPS
    scope: Scope | None = None
    rows: dict[str, list[tuple[float, ...]]] = field(
        default_factory=lambda: {sweep.name: [] for sweep in SWEEPS}
    )
    failed: list[str] = field(default_factory=list)
    papers: tuple[float, float] | None = None
    current: dict[str, tuple[float, ...]] = field(default_factory=dict)

    @property
    def n_complete(self) -> int:
        """Number of sweeps that are complete."""
        tried = sum(len(rows) for rows in self.rows.values()) + len(self.failed)
        sizes = [len(sweep.values) for sweep in self.sweeps]
        ends = [sum(sizes[: at + 1]) for at in range(len(sizes))]
        return sum(tried >= end for end in ends) + (self.papers is not None)

    def frame(self, name: str) -> pandas.DataFrame:
        """Rows of one parameter, sorted by its value."""
        return pandas.DataFrame(self.rows[name], columns=list(COLUMNS)).sort_values(
            "value", ignore_index=True
        )
