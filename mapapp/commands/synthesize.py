"""`commutemap synthesize`: make a release from a dataset."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import click

from engine.garbage_collection import no_collection
from mapapp.base.errors import UsageError
from mapapp.base.progress import Report, show_progress
from mapapp.commands.declared_options import declared_options
from mapapp.commands.options import (
    STORE,
    beside_option,
    config_option,
    json_option,
    print_result,
    quiet_option,
)
from mapapp.kinds.base.option import Option
from mapapp.kinds.release.make.margin_options import DatasetView, ShownMargins
from mapapp.kinds.release.make.options import ReleaseOptions

if TYPE_CHECKING:
    from mapapp.kinds.release.make.plan import Plan
    from mapapp.kinds.release.make.run import Outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """Where a release is drawn, which does not change it."""

    threads: Annotated[
        int | None,
        Option(help="Number of threads; the result does not depend on it.", least=1, most=1024),
    ] = None
    scheduler: Annotated[
        str | None,
        Option(
            help="Use the workers of this Dask cluster (tls://HOST:PORT, or an address on this machine). They must see "
            "DATASET and RELEASE at the same paths. The result does not depend on it. Needs commutemap[cluster]; see "
            "docs/cluster.md.",
            metavar="ADDRESS",
        ),
    ] = None

    def workers(self) -> int | str | None:
        """Number of threads or address of a scheduler, if one of them is given; UsageError if both are."""
        if self.threads is not None and self.scheduler is not None:
            raise UsageError(
                f"--threads {self.threads} with --scheduler: workers have the threads they were started with; leave it "
                "out"
            )
        return self.threads if self.scheduler is None else self.scheduler


@click.command()
@click.argument("dataset", type=STORE)
@click.argument("release", type=STORE)
@declared_options(setting=ReleaseOptions, margins=ShownMargins, running=Running)
@click.option(
    "--test-key",
    is_flag=True,
    help="Use the published test key: the result is reproducible and marked not for release.",
)
@beside_option
@click.option(
    "--dry-run",
    is_flag=True,
    help="Print the promise and the errors to be expected, from public data; spend, draw, and write nothing.",
)
@config_option
@json_option
@quiet_option
def synthesize(
    dataset: Path,
    release: Path,
    setting: ReleaseOptions,
    margins: ShownMargins,
    test_key: bool,
    beside: tuple[Path, ...],
    dry_run: bool,
    running: Running,
    as_json: bool,
    quiet: bool,
) -> None:
    """Make a formally private RELEASE from a confidential DATASET.

    The promise is entered in the dataset's ledger before anything is drawn: by default epsilon 6.5 and delta 0. With
    --preset onthemap-v3 it is epsilon_final, which includes pruning: 4.6 + ln 40 + ln 2 = 8.982, and delta 1e-6.

    \b
    Examples:
      commutemap synthesize ri.dataset ri.release
      commutemap synthesize ri.dataset ri.release --epsilon 4
      commutemap synthesize ri.dataset ri-v3.release --preset onthemap-v3
      commutemap synthesize ri.dataset ri-v3.release --preset onthemap-v3 --min-retention 0.05 --delta 1e-7
      commutemap synthesize ri-2020.dataset ri-2020.release --prior-release ri-2019.release
      commutemap synthesize ri.dataset ri.release --segments none --workplaces tract
    """
    if not dry_run:
        from mapapp.base.memory import keep_all_freed_memory

        keep_all_freed_memory()
    with show_progress(quiet=quiet) as report:
        made = plan_or_make(
            dataset,
            release,
            setting,
            margins,
            dry_run=dry_run,
            beside=beside,
            test_key=test_key,
            running=running,
            report=report,
        )
    print_result(made.to_dict(), made.lines(), as_json=as_json)


def plan_or_make(
    dataset: Path,
    release: Path,
    setting: ReleaseOptions,
    margins: ShownMargins,
    *,
    dry_run: bool,
    beside: Sequence[Path],
    test_key: bool,
    running: Running,
    report: Report,
) -> Plan | Outcome:
    """Make a release, or plan it; UsageError if options do not go together."""
    with no_collection():
        from mapapp.kinds.release.make.run import run_synthesis
        from mapapp.kinds.release.make.settings import designed_choice, parameters_of

    view = DatasetView(margins=margins, last_release=setting.prior_release)
    privacy, parameters = parameters_of(dataset, setting)
    design = designed_choice(setting)
    if dry_run:
        if running.scheduler is not None:
            raise UsageError("--dry-run with --scheduler: a dry run draws nothing; leave one out")
        # What states expected errors reads shapes, which a release does not need.
        from mapapp.kinds.release.make.plan import plan_synthesis

        return plan_synthesis(
            dataset,
            privacy,
            parameters,
            view=view,
            design=design,
            beside=beside,
            test_key=test_key,
            threads=running.threads,
            report=report,
        )
    return run_synthesis(
        dataset,
        release,
        privacy,
        parameters,
        view=view,
        design=design,
        beside=beside,
        test_key=test_key,
        workers=running.workers(),
        report=report,
    )
