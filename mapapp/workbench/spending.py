"""Publishing from the workbench: what a release would spend, and making it with exactly the parameters shown."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from geodata.store import refuse_existing
from mapapp.base.errors import UsageError
from mapapp.base.progress import Report
from mapapp.publishing.ledger import Ledger
from mapapp.publishing.residents_only import open_dataset, reasons_of_homes
from mapapp.publishing.run import Outcome, run_synthesis
from mapapp.workbench.measured_setting import MeasuredSetting
from mapapp.workbench.setting import Setting


@dataclass(frozen=True, slots=True)
class Spending:
    """What a release would enter in the ledger.

    Attributes
    ----------
    epsilon, delta : float or None
        Of the release; None where nothing is promised. Exact values are in its certificate.
    reasons : tuple of str
        Why it would be marked not for release; with any, it spends nothing.
    spent : tuple of Fraction
        (epsilon, delta) of the releases before.
    budget : tuple of Fraction or None
        Of the dataset, if it has one.
    """

    epsilon: float | None
    delta: float | None
    reasons: tuple[str, ...]
    spent: tuple[Fraction, Fraction]
    budget: tuple[Fraction, Fraction] | None

    @property
    def counts(self) -> bool:
        """Whether it spends anything."""
        return not self.reasons

    @property
    def fits(self) -> bool:
        """Whether the budget allows it, as far as the eye can tell; the ledger itself decides exactly."""
        if self.budget is None or not self.counts or self.epsilon is None or self.delta is None:
            return True
        return float(self.spent[0]) + self.epsilon <= float(self.budget[0]) * (1 + 1e-12) and float(
            self.spent[1]
        ) + self.delta <= float(self.budget[1]) * (1 + 1e-12)


def spending(dataset: Path, measured: MeasuredSetting) -> Spending:
    """Say what a release with a setting would spend.

    Raises
    ------
    UsageError
        It cannot be said yet, or no release would be made.
    LedgerError
        The ledger cannot be read.
    """
    certificate, privacy = measured.validity.facts["certificate"], measured.setting.privacy
    if certificate["refusal"]:
        raise UsageError(f"no release would be made: {certificate['refusal']}")
    if privacy.accountant == "paper" and measured.extent == "sample":
        raise UsageError(
            "the paper accountant's ε′ is that of the worst tract, and not all are measured yet; wait until they are"
        )
    ledger = Ledger(dataset)
    return Spending(
        epsilon=certificate["epsilon_final"],
        delta=certificate["delta"],
        reasons=(
            *measured.setting.parameters.not_for_release_reasons(),
            *reasons_of_homes(open_dataset(dataset, verify=False).manifest),
        ),
        spent=ledger.spent(),
        budget=ledger.budget(),
    )


def release_path(text: str | None, dataset: Path) -> Path:
    """The path to write a release to, as the analyst typed it.

    Raises
    ------
    UsageError
        Nothing was typed, its folder does not exist, or it lies within the dataset.
    StoreError
        Something exists at that path.
    """
    typed = (text or "").strip()
    if not typed or "\0" in typed:
        raise UsageError("type where to write the release, such as ri.release")
    path = Path(typed).expanduser()
    try:
        folder = path.parent.resolve(strict=True)
    except (OSError, RuntimeError):
        raise UsageError(f"{path.parent}: no such folder; make it first, or type another path") from None
    if not folder.is_dir():
        raise UsageError(f"{path.parent} is no folder; type another path")
    place = folder / path.name
    if place.is_relative_to(dataset.resolve()):
        raise UsageError(f"{path} lies within the dataset, which is confidential; type a path beside it")
    refuse_existing(place)
    return place


def publish(dataset: Path, release: Path, setting: Setting, *, test_key: bool, report: Report) -> Outcome:
    """Make the release: its promise is entered in the ledger before anything is drawn.

    Raises
    ------
    EngineError, GeodataError, LedgerError, UsageError
        Nothing is left at `release`.
    """
    return run_synthesis(
        dataset, release, setting.privacy, setting.parameters, test_key=test_key, report=report
    )
