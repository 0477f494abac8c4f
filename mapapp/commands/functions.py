"""Commands as functions, which `import commutemap` offers and loads on first use.

Each takes what its command takes, with underscores, and returns an object instead of printing lines. What only an
analyst may see is a `Confidential` result, which says so wherever it is shown.
"""

from __future__ import annotations

import datetime
import html
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from geodata.store.manifest import read_manifest
from mapapp.base.errors import UsageError
from mapapp.base.progress import silent
from mapapp.base.whole_files import whole_file

if TYPE_CHECKING:
    import pandas

    from mapapp.answers.analyses.results import Result
    from mapapp.kinds.release.make.plan import Plan
    from mapapp.kinds.release.make.run import Outcome
    from mapapp.kinds.tables.read.published import PublishedTable
    from mapapp.question.analyses import Show
    from mapapp.show.exports.release_export import Exported, Form, With
    from mapapp.show.files.notebook import Release
    from mapapp.show.reports import Paper

__all__ = ["Confidential", "audit", "export", "lodes", "open", "report", "synthesize", "validate"]

PathLike = str | os.PathLike[str]
_TABLES: Final = ("csv", "xlsx")


class Confidential:
    """What an analyst measured on confidential data. Do not publish it.

    Attributes
    ----------
    tables : dict of str to DataFrame
        Every table, by name.
    lines : tuple of str
        What the command prints; the first line says CONFIDENTIAL.
    """

    def __init__(
        self, tables: dict[str, pandas.DataFrame], values: dict[str, object], lines: Sequence[str]
    ) -> None:
        self.tables = tables
        self.lines = tuple(lines)
        self._values = values

    def to_dict(self) -> dict[str, object]:
        """Return what the command writes with `--json`."""
        return self._values

    def __repr__(self) -> str:
        return "\n".join(self.lines)

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(repr(self))}</pre>"


def open(path: PathLike) -> Release | PublishedTable:
    """Open any publication: a release, worker records, published counts, or a table with suppressed cells.

    Parameters
    ----------
    path : str or path
        Its directory; a dataset is confidential and is refused.

    Returns
    -------
    Release or PublishedTable
        A table has `tables`, with every cell in `tables[0].cells`. All others answer questions.

    Raises
    ------
    StoreError
        If it is not a complete, unaltered publication.

    Examples
    --------
    >>> commutemap.open("demo.release").year
    2023
    """
    from mapapp.kinds.tables.read.published import PublishedTable
    from mapapp.show.files.notebook import open_release

    if isinstance(path, str | os.PathLike) and read_manifest(Path(path)).get("kind") == "table":
        return PublishedTable.open(path)
    return open_release(path)


def synthesize(
    dataset: PathLike,
    release: PathLike,
    *,
    dry_run: bool = False,
    test_key: bool = False,
    beside: Sequence[PathLike] = (),
    segments: str | None = None,
    workplaces: str = "block",
    threads: int | None = None,
    **options: object,
) -> Outcome | Plan:
    """Make a formally private release from a confidential dataset, as `commutemap synthesize` does.

    Parameters
    ----------
    dataset, release : str or path
        Directories; the release must not exist.
    dry_run : bool
        Only say what would be promised and which errors to expect, from public data; nothing is spent or written.
    test_key : bool
        Use the published test key; the release is reproducible and marked not for release.
    beside : sequence of path
        Tables of the same jobs that the release is published beside on purpose.
    segments : str, optional
        Some of "age", "earnings", and "industry", joined by commas, or "none"; all are shown otherwise.
    workplaces : str
        "block", or "tract" to show numbers of jobs by tract alone.
    threads : int, optional
        The release does not depend on it.
    **options
        Those of the command, with underscores: `preset`, `epsilon`, `most_exposed`, …

    Returns
    -------
    Outcome or Plan
        What was made, with `release`, `digest`, and `certificate`; or what would be.

    Raises
    ------
    UsageError, GeodataError, LedgerError, EngineError
        In one line; nothing is left at `release`.

    Examples
    --------
    >>> plan = commutemap.synthesize("demo.dataset", "other.release", dry_run=True, epsilon=4)
    >>> plan.to_dict()["certificate"]["epsilon"]["value"]
    4.0
    """
    from mapapp.commands.declared_options import setting_of
    from mapapp.commands.synthesize import Running, plan_or_make
    from mapapp.kinds.release.make.margin_options import ShownMargins
    from mapapp.kinds.release.make.options import ReleaseOptions

    shown = {"workplaces": workplaces} | ({} if segments is None else {"segments": segments})

    return plan_or_make(
        Path(dataset),
        Path(release),
        setting_of(ReleaseOptions, options),
        setting_of(ShownMargins, shown),
        dry_run=dry_run,
        beside=tuple(map(Path, beside)),
        test_key=test_key,
        running=Running(threads=threads),
        report=silent,
    )


def validate(dataset: PathLike, publication: PathLike, *, sample: int | None = None) -> Confidential:
    """Measure a release or worker records against the confidential dataset, as `commutemap validate` does.

    Parameters
    ----------
    dataset, publication : str or path
    sample : int, optional
        Measure about so many evenly spaced workplace tracts instead of all.

    Raises
    ------
    UsageError, GeodataError
        In one line.

    Examples
    --------
    >>> validity = commutemap.validate("demo.dataset", "demo.release")
    >>> str(validity).startswith("CONFIDENTIAL")
    True
    """
    from mapapp.commands.validate import measure

    measured = measure(Path(dataset), Path(publication), sample, silent)
    validity = measured.validity
    return Confidential(validity.tables, validity.to_dict(), measured.lines)


def audit(
    dataset: PathLike,
    *releases: PathLike,
    question: str = "home",
    settings: Sequence[str] = (),
    against: Sequence[str] = (),
    draws: int | None = None,
) -> Confidential:
    """Say what an attacker would learn about single workers, as `commutemap audit` does.

    Parameters
    ----------
    dataset : str or path
    *releases : str or path
        Releases, or worker records.
    question : str
        What attackers want to know: "home", another question of the command, or "all".
    settings, against : sequence of str
        Presets or TOML files of settings, and other schemes such as "k=2,8", to measure on the same workers.
    draws : int, optional
        Of worker records: how often to draw with a worker and without.

    Raises
    ------
    UsageError, GeodataError
        In one line.
    """
    from mapapp.commands.audit import ASKED, lines_of, run_audit

    if question not in ASKED:
        raise UsageError(f"question {str(question)[:40]!r}: choose from {', '.join(ASKED)}")
    findings = run_audit(
        Path(dataset), tuple(map(Path, releases)), tuple(settings), question, tuple(against), draws, silent
    )
    return Confidential(findings.tables, findings.to_dict(), lines_of(findings))


def lodes(
    states: str | Sequence[str],
    years: int | Sequence[int],
    *,
    output: PathLike | None = None,
    cache: PathLike | None = None,
    refresh: bool = False,
    **options: object,
) -> list[Release]:
    """Open what the Census Bureau has published as LODES, as `commutemap lodes` does; download what is missing.

    Parameters
    ----------
    states : str or sequence of str
        Postal codes or names.
    years : int or sequence of int
    output, cache : str or path, optional
        Folders of the published counts, and of downloaded files; by default the user's.
    refresh : bool
        Look for files that were published anew.
    **options
        Those of the command, with underscores: `job_type`, `characteristics`, `basemap`, …

    Returns
    -------
    list of Release
        One for each year, earliest first.

    Raises
    ------
    UsageError, GeodataError
        In one line, such as that a year is not published.
    """
    from mapapp.base.paths import cache_home, data_home
    from mapapp.commands.source_options import read_wanted, usual_values
    from mapapp.kinds.published.make.lodes_years import make_years, plan_years
    from mapapp.show.files.notebook import open_release

    usual = {name: value for name, value in usual_values().items() if name != "refresh"}
    unknown = [name for name in options if name not in usual]
    if unknown:
        raise UsageError(f"option {unknown[0][:40]!r} does not exist; choose from {', '.join(usual)}")
    named = (states,) if isinstance(states, str) else tuple(states)
    wanted = read_wanted(named, (years,) if isinstance(years, int) else tuple(years), usual | options)
    plan = plan_years(Path(cache) if cache else cache_home(), wanted, every=True)
    made, _ = make_years(plan, Path(output) if output else data_home() / "lodes", refresh=refresh)
    return sorted(
        (open_release(publication.path) for publication in made), key=lambda release: release.year or 0
    )


def report(
    file: PathLike,
    *answers: Result,
    show: Show = "points",
    paper: Paper | None = None,
    date: datetime.date | None = None,
    rows: int | None = 25,
) -> Path:
    """Write a report with a part for each answer, as `commutemap report` does; the same answers give the same bytes.

    Parameters
    ----------
    file : str or path
        A new file that ends in .html, .pdf, or .xlsx.
    *answers : Result
        Answers of one release.
    show : {"points", "areas", "density", "lines"}
        How maps show the answers, if the analyses allow it.
    paper : {"a4", "letter"}, optional
        Page size of a PDF; by default that of the place.
    date : date, optional
        Printed on the report; without it, the report is undated.
    rows : int or None
        Printed rows of each table of areas; None for all.

    Raises
    ------
    UsageError
        If the file name, an answer, or an option is not allowed.
    """
    from mapapp.answers.analyses.results import check_answers
    from mapapp.answers.asking import question_of
    from mapapp.commands.report import form_of
    from mapapp.show.files.notebook import Release
    from mapapp.show.reports import Part, write_report

    check_answers(*answers)
    releases = {id(answer.presenter): answer.presenter for answer in answers}
    (release,) = releases.values() if len(releases) == 1 else (None,)
    if not isinstance(release, Release) or any(answer.has_several for answer in answers):
        raise UsageError("a report needs answers of one release that was opened with commutemap.open")
    parts = [Part(question_of(answer).normal, show) for answer in answers]
    with whole_file(Path(file), binary=True) as stream:
        write_report([release], parts, form_of(Path(file)), stream, paper=paper, date=date, rows=rows)
    return Path(file)


def export(
    publication: PathLike,
    target: PathLike,
    to: Form,
    *,
    layers: Sequence[str] = (),
    more: Sequence[With] = (),
    date: datetime.date | None = None,
) -> Exported:
    """Write a whole publication in another format, as `commutemap export` does.

    Parameters
    ----------
    publication, target : str or path
        Its directory, and a new folder or file.
    to : str
        Format, such as "gpkg" or "lodes".
    layers : sequence of str, optional
        Layers of units, by key or everyday word; by default states, counties, and tracts.
    more : sequence of {"points", "flows", "basemap"}
        What to write besides.
    date : date, optional
        Value of `createdate`, for "lodes".

    Returns
    -------
    Exported
        `path`, `files` with their sizes, and `notes`.

    Raises
    ------
    UsageError, StoreError
        If they do not go together; no file is left.
    """
    from mapapp.commands.export import refuse_options
    from mapapp.kinds.tables.files.export import export_table
    from mapapp.show.exports.release_export import export_release

    is_table = read_manifest(Path(publication)).get("kind") == "table"
    refuse_options(to, is_table=is_table, layers=tuple(layers or ()), more=tuple(more), date=date)
    if is_table:
        return export_table(Path(publication), to, Path(target))
    return export_release(Path(publication), to, Path(target), layers=layers or (), more=more, date=date)
