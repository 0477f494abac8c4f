"""`commutemap audit`: what an attacker would learn about single workers from releases, or from a setting."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from mapapp.base.errors import UsageError
from mapapp.base.progress import show_progress
from mapapp.commands.declared_options import read_setting
from mapapp.commands.options import (
    STORE,
    config_option,
    csv_option,
    json_option,
    picture_option,
    print_result,
    quiet_option,
)

if TYPE_CHECKING:
    from mapapp.analyst.audit.audited import Audited
    from mapapp.analyst.audit.result import Audit
    from mapapp.analyst.audit.schemes import Scheme
    from mapapp.analyst.validity.confidential_parts import AnalystData
    from mapapp.base.progress import Report
    from mapapp.kinds.records.audit.result import RecordsAudit

EXIT_BROKEN: Final = 3
"""A release does not keep its promise."""

ASKED: Final = ("home", "earnings", "industry", "all")
"""What attackers may want to know."""
_DRAWS: Final = 2_000


@click.command()
@click.argument("dataset", type=STORE)
@click.argument("releases", type=STORE, nargs=-1, metavar="[RELEASE]...")
@click.option(
    "--question",
    "asked",
    type=click.Choice(ASKED),
    default="home",
    show_default=True,
    help="What the attacker wants to know about a worker. If a finer attribute of worker records derives the industry, "
    "as a sector does, industry means that one.",
)
@click.option(
    "--setting",
    "settings",
    multiple=True,
    metavar="PRESET|FILE.toml",
    help="Also audit a setting before anything is released: a preset of `synthesize`, or a TOML file of its options. "
    "It is drawn once in memory with the published test key.",
)
@click.option(
    "--against",
    multiple=True,
    metavar="NAME=V1,V2,…",
    help="Also measure another scheme on the same workers, at each of the values: k (k-anonymity), l, l-distinct, "
    "l-entropy, l-frequency (l-diversity), t, t-ordered (t-closeness), kd, quad, hybrid, cell (private trees, by "
    "epsilon), exponential (the recommended preset, by epsilon). Options follow after colons: k=8:height=10, "
    "t=0.3:k=8, kd=1:levels=geometric.",
)
@click.option(
    "--draws",
    type=click.IntRange(100, 1_000_000),
    default=None,
    help="Of worker records: how often to draw with a worker and without, to see whether the two can be told apart. "
    f"[default: {_DRAWS:,}]",
)
@csv_option
@picture_option("what attackers learn")
@config_option
@json_option
@quiet_option
def audit(
    dataset: Path,
    releases: tuple[Path, ...],
    asked: str,
    settings: tuple[str, ...],
    against: tuple[str, ...],
    draws: int | None,
    csv_path: Path | None,
    picture_path: Path | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Say what an attacker would learn about single workers from each RELEASE of a confidential DATASET.

    RELEASE may also be worker records: then attackers try to tell whether a worker was in the data at all, look for
    single attributes of a worker (--question home is the home PUMA, and all is every attribute), and link rows to
    workers.

    Attackers look workers up, count, or know everything but one worker's home. The output says how often each is right,
    beside what public data and the other workers alone give. All of it is CONFIDENTIAL: it is computed from real homes,
    for the analyst only. It is a lower bound on what can be learned, and never replaces epsilon. docs/audit.md explains
    each number. Exit code 3 means that a release breaks its promise.

    \b
    Examples:
      commutemap audit ri.dataset ri.release
      commutemap audit ri.dataset ri.release --question all --csv ri-audit --picture ri-audit.png
      commutemap audit ri.dataset --setting recommended --setting onthemap-v3
      commutemap audit ri.dataset ri.release --against k=2,8,32,128 --against kd=0.1,1,8 --picture tradeoff.png
      commutemap audit ri.dataset ri.records --question all --picture records.png
    """
    from mapapp.analyst.audit.files import write_csv, write_picture
    from mapapp.analyst.validity.report import require_places

    require_places(csv_path, picture_path)
    with show_progress(quiet=quiet) as report:
        findings = run_audit(dataset, releases, settings, asked, against, draws, report)
        if csv_path is not None:
            report("writing tables", 0, 0)
            write_csv(findings, csv_path)
        if picture_path is not None:
            report("drawing the picture", 0, 0)
            write_picture(findings, picture_path)
    print_result(findings.to_dict(), lines_of(findings), as_json=as_json)
    if findings.is_broken:
        raise click.exceptions.Exit(EXIT_BROKEN)


def run_audit(
    dataset: Path,
    releases: tuple[Path, ...],
    settings: tuple[str, ...],
    asked: str,
    against: tuple[str, ...],
    draws: int | None,
    report: Report,
) -> Audit | RecordsAudit:
    """Run attackers against releases and settings, or against worker records; UsageError if they do not fit."""
    from mapapp.analyst.audit.schemes import read_schemes
    from mapapp.analyst.validity.confidential_parts import AnalystData

    _require_some(releases, settings)
    schemes = read_schemes(against)
    of_records = _are_records(releases)
    _require_fitting(of_records, settings, against, draws)
    report("reading the dataset", 0, 0)
    if of_records:
        from mapapp.kinds.records.audit.run import audit_records

        return audit_records(dataset, releases, asked, n_draws=draws or _DRAWS, report=report)
    return _run(AnalystData.open(dataset, releases), releases, settings, asked, schemes, report)


def lines_of(findings: Audit | RecordsAudit) -> list[str]:
    """Return what an audit found as lines of text; the first says CONFIDENTIAL."""
    from mapapp.analyst.audit.words import audit_lines
    from mapapp.kinds.records.audit.result import RecordsAudit
    from mapapp.kinds.records.audit.words import records_audit_lines

    return records_audit_lines(findings) if isinstance(findings, RecordsAudit) else audit_lines(findings)


def _require_some(releases: tuple[Path, ...], settings: tuple[str, ...]) -> None:
    if not releases and not settings:
        raise UsageError("nothing to audit: give one release or several, or --setting PRESET or FILE.toml")
    names = [path.resolve().name for path in releases] + [_name_of(setting) for setting in settings]
    repeated = [name for name in names if names.count(name) > 1]
    if repeated:
        raise UsageError(
            f"{repeated[0]} is given twice; releases and settings side by side need different names"
        )


def _are_records(paths: tuple[Path, ...]) -> bool:
    """Return whether worker records are to be audited; releases and records have different attackers."""
    from geodata.store.manifest import read_manifest

    records = [path for path in paths if read_manifest(path).get("kind") == "records"]
    if records and len(records) < len(paths):
        raise UsageError(
            f"{records[0]} is worker records, and {next(path for path in paths if path not in records)} is not; audit "
            "them one after the other"
        )
    return bool(records)


def _require_fitting(
    of_records: bool, settings: tuple[str, ...], against: tuple[str, ...], draws: int | None
) -> None:
    given = "--setting" if settings else "--against" if against else None
    if of_records and given:
        raise UsageError(
            f"{given} is for releases, not for worker records; leave it out. `commutemap sweep --worker-records` "
            "compares choices of records"
        )
    if draws is not None and not of_records:
        raise UsageError("--draws is for worker records; leave it out")


def _name_of(setting: str) -> str:
    return Path(setting).stem


def _list_audited(data: AnalystData, releases: tuple[Path, ...], settings: tuple[str, ...]) -> list[Audited]:
    from mapapp.analyst.audit.audited import audited_release
    from mapapp.analyst.audit.setting import chosen_setting

    named = [(_name_of(setting), read_setting(setting)) for setting in settings]
    return [audited_release(data, path) for path in releases] + [
        chosen_setting(data, name, options) for name, options in named
    ]


def _run(
    data: AnalystData,
    releases: tuple[Path, ...],
    settings: tuple[str, ...],
    asked: str,
    schemes: list[Scheme],
    report: Report,
) -> Audit:
    from mapapp.analyst.audit.comparison import comparison_tables, require_schemes
    from mapapp.analyst.audit.questions import QUESTIONS
    from mapapp.analyst.audit.run import audited_workers, join_audits

    questions = [question for question in QUESTIONS if asked in (question, "all")]
    if schemes:
        require_schemes(data, schemes, questions)
    audited = _list_audited(data, releases, settings)
    audits = [
        audited_workers(data, subject, questions, keeps_records=bool(schemes), report=report)
        for subject in audited
    ]
    result = join_audits(data, audits)
    if schemes:
        result.tables.update(comparison_tables(data, audits, schemes, questions, report=report))
    return result
