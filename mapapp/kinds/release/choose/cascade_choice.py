"""Whether a cascade pays: it and the plain draw are drawn once for homes simulated from public data.

The objective is that of radii: the share of workers misplaced over four tables, by home tract, home tract and
earnings, town, and commute range, half of it that of small workplaces. Nothing confidential is read, so the choice
costs no privacy and can be repeated from a release.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TypedDict

from engine.parameters import PrivacyParameters, SynthesisParameters, Unit
from mapapp.base.progress import Report
from mapapp.kinds.release.choose.misplacement import OBJECTIVE, Misplacement, standard_error
from mapapp.kinds.release.choose.public_part import CONCENTRATION, SHARE_ANYWHERE, PublicPart

__all__ = ["CascadeFacts", "choose_cascade"]


class CascadeFacts(TypedDict):
    """How the cascade was chosen or left out, for the certificate."""

    cascade: str
    units: list[Unit]
    objective: str
    towns: list[str]
    homes: str
    concentration: float
    share_anywhere: float
    tracts_looked_at: int
    settings_tried: int
    expected_misplaced: float
    expected_standard_error: float
    expected_misplaced_of_runner_up: float
    runner_up: str


def choose_cascade(
    public: PublicPart, privacy: PrivacyParameters, parameters: SynthesisParameters, report: Report
) -> tuple[SynthesisParameters, CascadeFacts]:
    """Draw with and without the cascade, and choose what is expected to misplace fewer workers.

    Raises
    ------
    EngineError
        The cascade is not defined for the parameters.
    """
    options = [replace(parameters, cascade=cascade) for cascade in (False, True)]
    misplacement = Misplacement(public, parameters)
    measured = []
    for number, option in enumerate(options):
        report("choosing whether to draw a cascade", number, len(options))
        measured.append(misplacement.count_misplaced(privacy, option))
    best = int(measured[1].share < measured[0].share)
    facts: CascadeFacts = {
        "cascade": "auto",
        "units": [parameters.unit],
        "objective": OBJECTIVE,
        "towns": list(public.towns.kinds),
        "homes": public.homes_text,
        "concentration": CONCENTRATION,
        "share_anywhere": SHARE_ANYWHERE,
        "tracts_looked_at": misplacement.n_tracts,
        "settings_tried": len(options),
        "expected_misplaced": _round(measured[best].share),
        "expected_standard_error": _round(standard_error(measured[0], measured[1])),
        "expected_misplaced_of_runner_up": _round(measured[1 - best].share),
        "runner_up": "no cascade" if best else "a cascade",
    }
    return options[best], facts


def _round(value: float) -> float:
    return float(f"{value:.4g}")
