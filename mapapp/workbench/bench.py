"""What the workbench remembers while it runs: measured settings, and what each browser tab is looking at.

All of it is confidential, lives in memory, and is gone when the program ends.
"""

from __future__ import annotations

import secrets
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import RLock
from typing import Any, Final, Literal

import numpy as np

from engine.parameters import Mechanism
from geodata.store import Store
from mapapp.answers.result_cache import ResultCache
from mapapp.errors import UsageError
from mapapp.measuring.validity import AnalystData, Validity, measure_setting
from mapapp.progress import Report
from mapapp.workbench.jobs import Job
from mapapp.workbench.setting import Setting, start_values

Extent = Literal["sample", "whole"]

_SAMPLE_PAIRS: Final = 120_000  # of destination and origin tracts: a fraction of a second
_SAMPLE_TRACTS: Final = (12, 40)
_KEPT_SETTINGS: Final = 12
_KEPT_TABS: Final = 8
_SOON_S: Final = 4.0


@dataclass(frozen=True, slots=True)
class Look:
    """What a tab is looking at.

    Attributes
    ----------
    number : int
        Rises with every setting looked at.
    setting : Setting
    found : Validity
        Of the sample, until all tracts are measured.
    extent : {"sample", "whole"}
    previous : Validity or None
        Of the setting before, measured on the same tracts where it was.
    job : Job or None
        What measures all tracts; None where the sample is all.
    """

    number: int
    setting: Setting
    found: Validity
    extent: Extent
    previous: Validity | None = None
    job: Job | None = None


@dataclass(slots=True)
class Tab:
    """One browser tab: what it looks at, and its other work by name (sweep, design, publish)."""

    values: dict[str, Any]
    asked: int = 0
    look: Look | None = None
    before: Setting | None = None
    jobs: dict[str, Job] = field(default_factory=dict)
    swept: Any = None
    pending: Setting | None = None

    @property
    def is_publishing(self) -> bool:
        """Whether a release of it is being made."""
        job = self.jobs.get("publish")
        return job is not None and job.state == "running"


class Superseded(Exception):
    """A newer setting was asked for before this one was measured."""


class Bench:
    """The workbench of one dataset.

    Parameters
    ----------
    store : Store
        The dataset.
    """

    def __init__(self, store: Store) -> None:
        self.store = store
        self.path = Path(store.path)
        self.data = AnalystData(store)
        n_tracts = self.data.geography.tracts.n_tracts
        self.sample = self.data.sample(int(np.clip(_SAMPLE_PAIRS // n_tracts, *_SAMPLE_TRACTS)))
        self.has_flows = not self.data.geography.flows.empty
        self._measured: ResultCache[Validity] = ResultCache(max_entries=2 * _KEPT_SETTINGS)
        self._tabs: OrderedDict[str, Tab] = OrderedDict()
        self._whole_s: dict[Mechanism, float] = {}
        self._lock = RLock()

    @property
    def sample_is_all(self) -> bool:
        """Whether the sample leaves no destination tract out."""
        return self.sample.size == self.data.tract.size

    def tab(self, name: str) -> Tab:
        """A tab by the name its page has; made where there is none, and the longest unused is forgotten."""
        with self._lock:
            if name not in self._tabs:
                self._tabs[name] = Tab(start_values(has_flows=self.has_flows))
                while len(self._tabs) > _KEPT_TABS:
                    idle = (one for one, tab in self._tabs.items() if not tab.is_publishing)
                    _end(self._tabs.pop(next(idle)))
            self._tabs.move_to_end(name)
            return self._tabs[name]

    def look(self, name: str, setting: Setting) -> Look:
        """Measure a setting on the sample, and begin with the whole; what the tab looked at before is cancelled.

        Raises
        ------
        EngineError
            The setting cannot be certified.
        Superseded
            The tab asked for another one meanwhile.
        """
        tab = self.tab(name)
        with self._lock:
            tab.asked += 1
            number = tab.asked
            if tab.look is not None and tab.look.job is not None and tab.look.setting != setting:
                tab.look.job.cancel()

        def unless_superseded(*_: Any) -> None:
            if tab.asked != number:
                raise Superseded

        found = self.measure(setting, "sample", unless_superseded)
        with self._lock:
            unless_superseded()
            if tab.look is not None and tab.look.setting != setting:
                tab.before = tab.look.setting
            whole = self._measured.get((setting, "whole"))
            if self.sample_is_all or whole is not None:
                tab.look = self._with_previous(tab, Look(number, setting, whole or found, "whole"))
            else:
                job = Job(lambda report: self.measure(setting, "whole", report))
                tab.look = self._with_previous(tab, Look(number, setting, found, "sample", job=job))
            return tab.look

    def now(self, name: str) -> Look | None:
        """What a tab looks at: the whole as soon as it is measured."""
        tab = self.tab(name)
        with self._lock:
            look = tab.look
            if (
                look is not None
                and look.job is not None
                and look.job.state == "done"
                and look.extent == "sample"
            ):
                look = replace(look, found=look.job.result, extent="whole", job=look.job)
                tab.look = self._with_previous(tab, look)
            return tab.look

    def whole_follows(self, look: Look) -> bool:
        """Whether all tracts are about to be measured, so soon that a map of the sample would only flicker."""
        if look.extent == "whole" or look.job is None or look.job.state != "running":
            return False
        usual = self._whole_s.get(look.setting.parameters.mechanism)
        return usual is not None and usual < _SOON_S and look.job.age_s < _SOON_S

    def start(self, name: str, kind: str, work: Callable[[Report], Any]) -> Job:
        """Begin other work of a tab; what it had of the kind is cancelled."""
        tab = self.tab(name)
        with self._lock:
            if kind in tab.jobs:
                tab.jobs[kind].cancel()
            tab.jobs[kind] = Job(work)
            return tab.jobs[kind]

    def publish(self, name: str, work: Callable[[Setting, Report], Any]) -> Job | None:
        """Begin to make the release that a tab's dialog shows; None where a click before this one did.

        Raises
        ------
        UsageError
            Another tab is making one: what this dialog says is spent no longer holds.
        """
        tab = self.tab(name)
        with self._lock:
            setting, tab.pending = tab.pending, None  # one dialog, one release
            if setting is None or tab.is_publishing:
                return None
            self.require_nobody_publishes()
            tab.jobs["publish"] = Job(lambda report: work(setting, report))
            return tab.jobs["publish"]

    def require_nobody_publishes(self) -> None:
        """Refuse to go on while a release is being made.

        Raises
        ------
        UsageError
            One is.
        """
        with self._lock:
            if any(tab.is_publishing for tab in self._tabs.values()):
                raise UsageError(
                    "another tab is making a release; once it is made, publish again to see what is left"
                )

    def _with_previous(self, tab: Tab, look: Look) -> Look:
        previous = None
        if tab.before is not None:
            previous = self._measured.get((tab.before, look.extent))
        return replace(look, previous=previous)

    def measure(self, setting: Setting, extent: Extent, report: Report) -> Validity:
        """Measure a setting on the sample or on all tracts, once.

        Raises
        ------
        EngineError
            The setting cannot be certified.
        """
        if self.sample_is_all:
            extent = "whole"
        if (known := self._measured.get((setting, extent))) is not None:
            return known
        tracts = self.sample if extent == "sample" else None
        began = time.monotonic()
        found = measure_setting(self.data, setting.privacy, setting.parameters, tracts=tracts, report=report)
        # A row per destination is most of a result, and nothing here shows it.
        found = replace(
            found, tables={name: rows for name, rows in found.tables.items() if name != "destinations"}
        )
        with self._lock:
            if extent == "whole":
                self._whole_s[setting.parameters.mechanism] = time.monotonic() - began
        self._measured.put((setting, extent), found)
        return found


def new_tab() -> str:
    """A name for a tab that no other page can guess."""
    return secrets.token_urlsafe(12)


def _end(tab: Tab) -> None:
    """Cancel a tab's work."""
    for job in tab.jobs.values():
        job.cancel()
    if tab.look is not None and tab.look.job is not None:
        tab.look.job.cancel()
