"""The demo that `commutemap` shows by itself: generated once, released with every preset, kept in one folder."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from geodata.demo import write_demo
from geodata.store.schema import SCHEMA_VERSION
from mapapp.base.progress import Report
from mapapp.kinds.release.make.options import Preset, ReleaseOptions
from mapapp.kinds.release.make.run import run_synthesis
from mapapp.kinds.release.make.settings import designed_choice, parameters_of

__all__ = ["Demo"]

_EDITION: Final = f"{SCHEMA_VERSION}b"  # a demo kept from an earlier version is not shown: "b" has a base map


@dataclass(frozen=True, slots=True)
class Demo:
    """The demo dataset and its releases, one for each preset; all spend from the dataset's one ledger.

    Attributes
    ----------
    home : Path
        The folder that keeps them.
    """

    home: Path

    @property
    def dataset(self) -> Path:
        """Where the dataset is, or will be."""
        return self.home / f"demo-{_EDITION}.dataset"

    def release(self, preset: Preset) -> Path:
        """Where the release with a preset is, or will be."""
        return self.home / f"demo-{_EDITION}-{preset}.release"

    @property
    def published(self) -> Path:
        """Where its jobs as published counts are, or will be."""
        return self.home / f"demo-{_EDITION}.published"

    def make(self, preset: Preset, report: Report) -> Path:
        """Make the dataset and its release with a preset where they are missing; return the path of the release."""
        release = self.release(preset)
        if not release.exists():
            if not self.dataset.exists():
                write_demo(self.dataset, size="metro", seed=1, progress=report)
            options = ReleaseOptions(preset=preset)
            privacy, parameters = parameters_of(self.dataset, options)
            run_synthesis(
                self.dataset, release, privacy, parameters, design=designed_choice(options), report=report
            )
        return release
