"""Settings beside other schemes on the same workers: what leaks at equal error. Confidential."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pandas

from mapapp.base.errors import UsageError
from mapapp.base.progress import Report, part_of
from mapapp.measuring.audit.comparison import comparison_tables, require_schemes
from mapapp.measuring.audit.margins import NOT_COMPARED
from mapapp.measuring.audit.questions import Question
from mapapp.measuring.audit.schemes import Scheme, read_schemes
from mapapp.publishing.marginal_segments import assigns_from_margins
from mapapp.publishing.release_options import PRESETS
from mapapp.workbench.audits import THIS_SETTING
from mapapp.workbench.measured_setting import Extent
from mapapp.workbench.session import Session
from mapapp.workbench.setting import Setting, read_setting

__all__ = ["TradeOff", "marked_settings", "run_tradeoff", "schemes_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TradeOff:
    """Error of counts and share of workers named right, of settings and of other schemes.

    Attributes
    ----------
    extent : {"sample", "whole"}
        Whose workers were attacked.
    setting : Setting
        That of the controls when the work began.
    names : tuple of str
        The marked settings in order; the first is `setting`.
    schemes, tradeoff : DataFrame
        As docs/audit.md describes them.
    """

    extent: Extent
    setting: Setting
    names: tuple[str, ...]
    schemes: pandas.DataFrame
    tradeoff: pandas.DataFrame


def schemes_of(session: Session, text: str, question: Question) -> list[Scheme]:
    """Read the schemes that the analyst names, separated by spaces, as `commutemap audit --against` has them.

    Raises
    ------
    UsageError
        None is named, one cannot be read, or one cannot be made for the question.
    """
    schemes = read_schemes(tuple(text.split()))
    if not schemes:
        raise UsageError("no scheme is named; give at least one, such as k=2,8,32")
    require_schemes(session.data, schemes, [question])
    return schemes


def marked_settings(session: Session, setting: Setting) -> dict[str, Setting]:
    """The setting of the controls, the kept ones, and the presets that are not among them, by name."""
    marked = {THIS_SETTING: setting} | {one.name: one.setting for one in session.kept.all()}
    presets = {preset: read_setting(session.preset_values(preset)) for preset in PRESETS}
    return marked | {
        name: preset
        for name, preset in presets.items()
        if name not in marked and preset not in marked.values()
    }


def _compared(session: Session, settings: dict[str, Setting]) -> dict[str, Setting]:
    """The settings that can be compared with other schemes; UsageError if the first cannot."""
    first = next(iter(settings))
    found = {
        name: one
        for name, one in settings.items()
        if not assigns_from_margins(session.store, (one.parameters.unit,))
    }
    if first not in found:
        raise UsageError(
            f"for a setting that draws by {settings[first].parameters.unit}, {NOT_COMPARED}; draw by cell to compare"
        )
    return found


def run_tradeoff(
    session: Session,
    settings: dict[str, Setting],
    schemes: Sequence[Scheme],
    question: Question,
    extent: Extent,
    report: Report,
) -> TradeOff:
    """Audit settings, and measure other schemes on the same workers.

    Parameters
    ----------
    session : Session
    settings : dict of str to Setting
        By the names that the tables give them; the first is that of the controls. Others that cannot be compared are
        left out.
    schemes : sequence of Scheme
    question : str
    extent : {"sample", "whole"}
    report : callable
        Progress; an exception from it cancels.

    Raises
    ------
    UsageError, EngineError
        A setting cannot be certified, or a scheme cannot be made.
    """
    settings = _compared(session, settings)
    total = len(settings) + len(schemes)
    found = [
        session.attacked(
            name, setting, [question], extent, part_of(report, number, total), keeps_records=True
        )
        for number, (name, setting) in enumerate(settings.items())
    ]
    of_schemes = part_of(report, len(found), total, width=len(schemes))
    tables = comparison_tables(
        session.data, found, schemes, [question], tracts=session.tracts(extent), report=of_schemes
    )
    names = tuple(settings)
    return TradeOff(
        extent=session.extent(extent),
        setting=settings[names[0]],
        names=names,
        schemes=tables["schemes"],
        tradeoff=tables["tradeoff"],
    )
