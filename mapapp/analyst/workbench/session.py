"""What the workbench remembers while it runs: measured settings, and what each browser tab shows and works on.

All of it is confidential, lives in memory, and is gone when the program ends.
"""

from __future__ import annotations

import secrets
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import RLock
from typing import Final, TypeVar

import numpy as np
import numpy.typing as npt

from engine.parameters import Mechanism
from geodata.store.store import Store
from mapapp.analyst.audit.audited import audited_setting
from mapapp.analyst.audit.questions import QUESTIONS, Question
from mapapp.analyst.audit.result import Audit
from mapapp.analyst.audit.run import AuditedWorkers, audited_workers, join_audits
from mapapp.analyst.validity.validity import AnalystData, Validity, measure_setting
from mapapp.analyst.workbench.jobs import Job, Work
from mapapp.analyst.workbench.kept_settings import KeptSettings
from mapapp.analyst.workbench.results import Extent, MeasuredSetting, SweepResults
from mapapp.analyst.workbench.setting import Setting, Values, preset_values, read_setting, values_of
from mapapp.base.errors import UsageError
from mapapp.base.progress import Report, silent
from mapapp.base.result_cache import ResultCache
from mapapp.kinds.release.choose.public_part import read_public_part
from mapapp.kinds.release.choose.setting_choice import Choice, choose_setting
from mapapp.kinds.release.make.margin_options import ALL_MARGINS, ShownMargins
from mapapp.kinds.release.make.options import DEFAULT_PRESET, Preset
from mapapp.kinds.release.make.run import Outcome
from mapapp.kinds.release.make.settings import is_designed, preset_ceiling
from mapapp.kinds.release.make.shown_margins import add_shown_margins

_SAMPLE_PAIRS: Final = 120_000  # of destination and origin tracts: measured in a fraction of a second
_SAMPLE_TRACTS: Final = (12, 40)
_KEPT_SETTINGS: Final = 12
_KEPT_TABS: Final = 8
_SOON_S: Final = 4.0

_Found = TypeVar("_Found")

PUBLISH: Final = "publish"
"""The kind of work that makes a release."""


@dataclass(slots=True)
class Tab:
    """One browser tab.

    Attributes
    ----------
    values : mapping
        Of the controls, as they were last measured.
    n_requests : int
        Settings that the tab has asked to show.
    shown : MeasuredSetting or None
        None until the first setting is measured.
    previous_setting : Setting or None
        The one shown before.
    jobs : dict of str to Job
        The tab's latest work of each kind.
    sweeps : SweepResults or None
        What its sweeps have found so far.
    pending : Setting or None
        What the dialog for publishing offers to publish.
    """

    values: Values
    n_requests: int = 0
    shown: MeasuredSetting | None = None
    previous_setting: Setting | None = None
    jobs: dict[str, Job[object]] = field(default_factory=dict)
    sweeps: SweepResults | None = None
    pending: Setting | None = None

    @property
    def is_publishing(self) -> bool:
        """Whether it is making a release."""
        return PUBLISH in self.jobs and self.jobs[PUBLISH].state == "running"

    def cancel_all(self) -> None:
        """Cancel all of its work."""
        measuring = [] if self.shown is None or self.shown.job is None else [self.shown.job]
        for job in (*self.jobs.values(), *measuring):
            job.cancel()


class Superseded(Exception):
    """The tab asked for a newer setting before this one was measured."""


@dataclass(slots=True)
class _Tabs:
    """The tabs in use; the least recently used one that is not publishing is dropped first."""

    start: Values
    tabs: OrderedDict[str, Tab] = field(default_factory=OrderedDict)

    def __iter__(self) -> Iterator[Tab]:
        return iter(self.tabs.values())

    def get(self, name: str) -> Tab:
        """A tab by its name; created on first use."""
        if name not in self.tabs:
            self.tabs[name] = Tab(self.start)
            while len(self.tabs) > _KEPT_TABS:
                idle = next(idle_name for idle_name, tab in self.tabs.items() if not tab.is_publishing)
                self.tabs.pop(idle).cancel_all()
        self.tabs.move_to_end(name)
        return self.tabs[name]


class Session:
    """One run of the workbench over a dataset. Safe to use from several threads.

    Parameters
    ----------
    store : Store
        The dataset.
    margins : ShownMargins
        Which numbers of workers releases show; nothing else of the jobs is measured.
    report : callable, optional
        Progress of choosing the setting to start from.

    Attributes
    ----------
    start : mapping
        Values of the controls at first: those of the default preset, with what it leaves open chosen from public data.
    """

    def __init__(self, store: Store, margins: ShownMargins = ALL_MARGINS, report: Report = silent) -> None:
        store = add_shown_margins(store, margins)
        self.store = store
        self.margins = margins
        self.path = Path(store.path)
        self.data = AnalystData(store)
        n_tracts = self.data.geography.tracts.n_tracts
        self.sample = self.data.sample(int(np.clip(_SAMPLE_PAIRS // n_tracts, *_SAMPLE_TRACTS)))
        self.has_flows = not self.data.geography.flows.empty
        self._measured: ResultCache[Validity] = ResultCache(max_entries=2 * _KEPT_SETTINGS)
        self._audited: ResultCache[Audit] = ResultCache(max_entries=2 * _KEPT_SETTINGS)
        self.start = _start_values(store, has_flows=self.has_flows, report=report)
        self._tabs = _Tabs(self.start)
        self.kept = KeptSettings(self._best_measured)
        self._whole_s: dict[Mechanism, float] = {}
        self._lock = RLock()

    @property
    def sample_is_all(self) -> bool:
        """Whether the sample holds every destination tract."""
        return self.sample.size == self.data.tract.size

    def preset_values(self, preset: Preset) -> Values:
        """Values of the controls for a preset, with what it leaves open chosen from public data."""
        return self.start if preset == DEFAULT_PRESET else preset_values(preset, has_flows=self.has_flows)

    def extent(self, asked: Extent) -> Extent:
        """Which tracts are measured: all, if the sample holds every one."""
        return "whole" if self.sample_is_all else asked

    def tracts(self, extent: Extent) -> npt.NDArray[np.int64] | None:
        """Positions of the destination tracts that are measured; None means all."""
        return self.sample if self.extent(extent) == "sample" else None

    def tab(self, name: str) -> Tab:
        """A tab by the name that its page has; created on first use. The least recently used one is dropped."""
        with self._lock:
            return self._tabs.get(name)

    def show(self, name: str, setting: Setting) -> MeasuredSetting:
        """Measure a setting on the sample, show it in a tab, and start to measure all tracts.

        Cancels what measures the setting that the tab showed before.

        Raises
        ------
        EngineError
            The setting cannot be certified.
        Superseded
            The tab asked for another setting meanwhile.
        """
        tab = self.tab(name)
        with self._lock:
            tab.n_requests += 1
            number = tab.n_requests
            if tab.shown is not None and tab.shown.job is not None and tab.shown.setting != setting:
                tab.shown.job.cancel()

        def stop_if_superseded(*_: object) -> None:
            if tab.n_requests != number:
                raise Superseded

        of_sample = self.measure(setting, "sample", stop_if_superseded)
        with self._lock:
            stop_if_superseded()
            if tab.shown is not None and tab.shown.setting != setting:
                tab.previous_setting = tab.shown.setting
            whole = self._measured.get((setting, "whole"))
            if self.sample_is_all or whole is not None:
                measured = MeasuredSetting(number, setting, whole or of_sample, "whole")
            else:
                job = Job(lambda report: self.measure(setting, "whole", report))
                measured = MeasuredSetting(number, setting, of_sample, "sample", job=job)
            return self._set_shown(tab, measured)

    def shown_measures(self, name: str) -> MeasuredSetting | None:
        """What a tab shows: the measures of all tracts as soon as there are any."""
        tab = self.tab(name)
        with self._lock:
            measured = tab.shown
            if measured is None or measured.job is None or measured.extent == "whole":
                return measured
            whole = measured.job.result
            if whole is None:
                return measured
            return self._set_shown(tab, replace(measured, validity=whole, extent="whole"))

    def _set_shown(self, tab: Tab, measured: MeasuredSetting) -> MeasuredSetting:
        previous = None
        if tab.previous_setting is not None:
            previous = self._measured.get((tab.previous_setting, measured.extent))
        tab.shown = replace(measured, previous=previous)
        return tab.shown

    def is_superseded(self, name: str, measured: MeasuredSetting) -> bool:
        """Whether a tab has asked for another setting since."""
        return self.tab(name).n_requests != measured.number

    def whole_follows(self, measured: MeasuredSetting) -> bool:
        """Whether all tracts will be measured so soon that a map of the sample would only flicker."""
        if measured.extent == "whole" or measured.job is None or measured.job.state != "running":
            return False
        usual = self._whole_s.get(measured.setting.parameters.mechanism)
        return usual is not None and usual < _SOON_S and measured.job.age_s < _SOON_S

    def start_job(self, name: str, kind: str, work: Work[object]) -> Job[object]:
        """Start a tab's work of a kind in the background; cancels its earlier work of this kind."""
        tab = self.tab(name)
        with self._lock:
            if kind in tab.jobs:
                tab.jobs[kind].cancel()
            tab.jobs[kind] = Job(work)
            return tab.jobs[kind]

    def result(self, name: str, kind: str, of: type[_Found]) -> _Found | None:
        """What a tab's work of a kind has found; None while there is nothing."""
        job = self.tab(name).jobs.get(kind)
        return job.result if job is not None and isinstance(job.result, of) else None

    def publish(self, name: str, work: Callable[[Setting, Report], Outcome]) -> Job[object] | None:
        """Start to make the release that a tab's dialog offers; None if an earlier click has started it.

        Raises
        ------
        UsageError
            Another tab is making a release, so what this dialog says about the budget no longer holds.
        """
        tab = self.tab(name)
        with self._lock:
            setting, tab.pending = tab.pending, None  # one dialog, one release
            if setting is None or tab.is_publishing:
                return None
            self.require_no_release_in_progress()
            tab.jobs[PUBLISH] = Job(lambda report: work(setting, report))
            return tab.jobs[PUBLISH]

    def require_no_release_in_progress(self) -> None:
        """Refuse to go on while a tab is making a release.

        Raises
        ------
        UsageError
            A tab is.
        """
        with self._lock:
            if any(tab.is_publishing for tab in self._tabs):
                raise UsageError(
                    "another tab is making a release; once it is made, publish again to see what is left"
                )

    def _best_measured(self, setting: Setting) -> tuple[Validity, Extent] | None:
        """What was measured of a setting: of all tracts, or else of the sample."""
        extents: tuple[Extent, ...] = ("whole", "sample")
        measured = ((self._measured.get((setting, extent)), extent) for extent in extents)
        return next(((validity, extent) for validity, extent in measured if validity is not None), None)

    def measure(self, setting: Setting, extent: Extent, report: Report) -> Validity:
        """Measure a setting on the sample or on all tracts; what was measured before is returned at once.

        Raises
        ------
        EngineError
            The setting cannot be certified.
        """
        extent = self.extent(extent)
        if (known := self._measured.get((setting, extent))) is not None:
            return known
        began = time.monotonic()
        validity = measure_setting(
            self.data,
            setting.privacy,
            setting.parameters,
            tracts=self.tracts(extent),
            draw=True,
            report=report,
        )
        # A row per destination is most of a result, and nothing here shows it.
        validity = replace(
            validity, tables={name: rows for name, rows in validity.tables.items() if name != "destinations"}
        )
        with self._lock:
            if extent == "whole":
                self._whole_s[setting.parameters.mechanism] = time.monotonic() - began
        self._measured.put((setting, extent), validity)
        return validity

    def audit(self, name: str, setting: Setting, extent: Extent, report: Report) -> Audit:
        """Run the attackers on one draw of a setting, under a name; what was audited before is returned at once.

        Raises
        ------
        EngineError
            The setting cannot be certified.
        """
        key = (name, setting, self.extent(extent))
        if (known := self._audited.get(key)) is not None:
            return known
        # Of the workers themselves nothing is kept.
        audit = join_audits(self.data, [self.run_attackers(name, setting, QUESTIONS, extent, report)])
        self._audited.put(key, audit)
        return audit

    def run_attackers(
        self,
        name: str,
        setting: Setting,
        questions: Sequence[Question],
        extent: Extent,
        report: Report,
        *,
        keeps_records: bool = False,
    ) -> AuditedWorkers:
        """Run the attackers on one draw of a setting, under a name; the session keeps nothing.

        `keeps_records` returns the workers' records, too, for a comparison with schemes.

        Raises
        ------
        EngineError
            The setting cannot be certified.
        """
        audited = audited_setting(self.data, name, setting.privacy, setting.parameters)
        return audited_workers(
            self.data,
            audited,
            questions,
            tracts=self.tracts(extent),
            keeps_records=keeps_records,
            report=report,
        )


def _start_values(store: Store, *, has_flows: bool, report: Report) -> Values:
    values = preset_values(DEFAULT_PRESET, has_flows=has_flows)
    if not is_designed(DEFAULT_PRESET):
        return values
    setting = read_setting(values)
    choice = Choice(most_exposed=preset_ceiling(DEFAULT_PRESET))
    privacy, parameters, _ = choose_setting(
        read_public_part(store, choice.units), setting.privacy, setting.parameters, choice, report=report
    )
    return values_of(Setting(privacy, parameters))


def new_tab() -> str:
    """A name for a tab that no other page can guess."""
    return secrets.token_urlsafe(12)
