"""From command-line options to the engine's parameter types."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from engine.parameters import PrivacyParameters, SynthesisParameters
from geodata.store import open_store

_OPTIONAL = ("strength", "q50_mi", "q90_mi", "retention_scale")


def parameters_of(dataset: Path, options: Mapping[str, Any]) -> tuple[PrivacyParameters, SynthesisParameters]:
    """Make the parameters of a release from the options of `synthesize`.

    `prior` "auto" becomes "flows" where the dataset has a public flow table, else "gravity". The 75th percentile
    belongs to the published defaults; with other percentiles it is left out.
    """
    privacy = PrivacyParameters(
        epsilon=options["epsilon"],
        delta=options["delta"],
        min_retention=options["min_retention"],
        accountant=options["accountant"],
    )
    chosen: dict[str, Any] = {name: options[name] for name in _OPTIONAL if options[name] is not None}
    if "q50_mi" in chosen or "q90_mi" in chosen:
        chosen["q75_mi"] = None
    for name in ("editing", "placement", "replication"):
        chosen[name] = options[name]
    chosen["prior"] = _prior(dataset) if options["prior"] == "auto" else options["prior"]
    return privacy, SynthesisParameters(**chosen)


def _prior(dataset: Path) -> str:
    store = open_store(dataset, "dataset", verify=False)
    return "flows" if store.manifest["files"]["prior.parquet"]["rows"] else "gravity"
