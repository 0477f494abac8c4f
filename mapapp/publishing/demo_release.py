"""The demo that `commutemap` shows by itself: generated and synthesized once, kept in the user's data folder."""

from __future__ import annotations

from pathlib import Path

from engine.parameters import SynthesisParameters
from geodata.demo import write_demo
from geodata.schema import SCHEMA_VERSION
from mapapp.paths import data_home
from mapapp.progress import Report
from mapapp.publishing.run import run_synthesis
from mapapp.publishing.settings import privacy_of


def demo_release(report: Report) -> Path:
    """Return the path of the demo release, making the demo dataset and the release where they are missing."""
    home = data_home()
    dataset = home / f"demo-{SCHEMA_VERSION}.dataset"
    release = home / f"demo-{SCHEMA_VERSION}.release"
    if not release.exists():
        if not dataset.exists():
            write_demo(dataset, size="metro", seed=1, progress=report)
        privacy = privacy_of(accountant="sound", epsilon="4.6", delta="1e-6", min_retention="0.025")
        parameters = SynthesisParameters(prior="flows")
        run_synthesis(dataset, release, privacy, parameters, report=report)
    return release
