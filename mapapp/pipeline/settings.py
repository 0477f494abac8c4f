"""From command-line options to the engine's parameter types."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from engine.parameters import Number, PrivacyParameters, SynthesisParameters
from engine.sound import comparable_epsilon_final, require_fixed_count
from geodata.store import open_store
from mapapp.errors import UsageError

DEFAULT_EPSILON = "4.6"

_OPTIONAL = ("strength", "q50_mi", "q90_mi", "retention_scale")


def parameters_of(dataset: Path, options: Mapping[str, Any]) -> tuple[PrivacyParameters, SynthesisParameters]:
    """Make the parameters of a release from the options of `synthesize`.

    `prior` "auto" becomes "flows" where the dataset has a public flow table, or where there is a `prior_release`, else
    "gravity". The 75th percentile
    belongs to the published defaults; with other percentiles it is left out.

    Raises
    ------
    UsageError, ParameterError
        Options contradict each other, or a value is outside its range.
    """
    privacy = privacy_of(
        accountant=options["accountant"],
        epsilon=options["epsilon"],
        epsilon_final=options["epsilon_final"],
        delta=options["delta"],
        min_retention=options["min_retention"],
    )
    chosen: dict[str, Any] = {name: options[name] for name in _OPTIONAL if options[name] is not None}
    if "q50_mi" in chosen or "q90_mi" in chosen:
        chosen["q75_mi"] = None
    for name in ("editing", "placement", "replication"):
        chosen[name] = options[name]
    chosen["prior"] = _prior(dataset, options["prior"], options.get("prior_release"))
    parameters = SynthesisParameters(**chosen)
    require_fixed_count(privacy, parameters)
    return privacy, parameters


def privacy_of(
    *,
    accountant: str,
    epsilon: Number | None = None,
    epsilon_final: Number | None = None,
    delta: Number,
    min_retention: Number,
) -> PrivacyParameters:
    """The promise, from epsilon before pruning or from the whole.

    `epsilon` means the same under every accountant: the bound before pruning, to which pruning adds
    ln(1/min_retention) + ln 2 (P08 Theorem 5.2). The paper accountant certifies it and adds. The sound accountant
    certifies the whole: `epsilon_final` where it is given, else what the paper accountant would promise, so that
    one setting makes one promise and the accountants differ in noise alone.

    Raises
    ------
    UsageError
        Both are given, or `epsilon_final` with the paper accountant.
    """
    if epsilon is not None and epsilon_final is not None:
        raise UsageError(
            f"--epsilon {epsilon} and --epsilon-final {epsilon_final}: give one, the bound before pruning or the "
            "whole promise"
        )
    before = DEFAULT_EPSILON if epsilon is None else epsilon
    if accountant == "sound":
        whole = epsilon_final
        if whole is None:
            asked = PrivacyParameters(epsilon=before, delta=delta, min_retention=min_retention)
            whole = comparable_epsilon_final(asked.epsilon, asked.min_retention)
        return PrivacyParameters(epsilon=whole, delta=delta, min_retention=min_retention, accountant="sound")
    if epsilon_final is not None:
        raise UsageError(
            f"--epsilon-final {epsilon_final} with accountant {accountant!r}: it certifies a bound before pruning; "
            "give --epsilon, or use --accountant sound"
        )
    return PrivacyParameters(epsilon=before, delta=delta, min_retention=min_retention, accountant="paper")


def _prior(dataset: Path, asked: str, last_release: Path | None) -> str:
    if last_release is not None:
        if asked not in ("auto", "flows"):
            raise UsageError(
                f"--prior {asked} and --prior-release {last_release}: give one; a release is a prior of flows"
            )
        return "flows"
    if asked != "auto":
        return asked
    store = open_store(dataset, "dataset", verify=False)
    return "flows" if store.manifest["files"]["prior.parquet"]["rows"] else "gravity"
