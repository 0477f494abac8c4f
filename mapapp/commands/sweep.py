"""`commutemap sweep`: measure the validity of many settings before anything is released."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import click

from mapapp.base.errors import UsageError
from mapapp.base.interrupts import exit_code
from mapapp.base.progress import show_progress
from mapapp.commands.options import (
    STORE,
    Option,
    Options,
    config_option,
    json_option,
    print_result,
    quiet_option,
)
from mapapp.commands.records_setting import CHOICE_OPTIONS, record_options
from mapapp.commands.setting import setting_options
from mapapp.commands.sweep_output import draw_records_sweep, draw_settings, print_settings, stopped_line

if TYPE_CHECKING:
    from mapapp.measuring.analyst import AnalystData
    from mapapp.measuring.sweep import Axis, SweptRow
    from mapapp.measuring.sweep_file import SweepFile

SWEPT: Final = (
    "epsilon",
    "epsilon-final",
    "delta",
    "min-retention",
    "q50",
    "q90",
    "tract-radius",
    "puma-radius",
    "far-state-miles",
    "clean",
    "strength",
    "retention-scale",
    "editing",
    "accountant",
    "mechanism",
    "unit",
    "prior",
)
"""The options of a setting that can vary."""

SWEPT_OF_RECORDS: Final = {
    "kept": "kept",
    "epsilon": "epsilon",
    "delta": "delta",
    "records": "n_records",
    "tries": "tries",
    "min-seeds": "min_seeds",
    "threshold-epsilon": "threshold_epsilon",
    "similarity": "similarity",
    "forced-fail": "forced_fail",
    "seed-floor": "seed_floor",
    "n-min": "n_min",
    "structure": "structure",
    "accountant": "accountant",
}
"""The options of worker records that can vary, and the parameter of each."""

_OF_BOTH: Final = ("epsilon", "delta", "accountant")
_OF_ANY: Final = (
    "dataset",
    "over",
    "worker_records",
    "seeds",
    "csv_path",
    "picture",
    "as_json",
    "quiet",
    *_OF_BOTH,
)
_DRAWS_OF_RECORDS: Final = 3

_FILE = click.Path(path_type=Path, dir_okay=False)


@click.command()
@click.argument("dataset", type=STORE)
@click.option(
    "--over",
    multiple=True,
    metavar="NAME=V1,V2,…",
    help=f"Option to vary and its values; several --over make a grid. NAME is one of {', '.join(SWEPT)}. With "
    f"--worker-records it is one of {', '.join(SWEPT_OF_RECORDS)}; kept takes none, or how many of the first "
    "attributes are kept.",
)
@click.option(
    "--worker-records",
    is_flag=True,
    help="Sweep choices of `records` instead of settings of `synthesize`. Options from --kept to --anyway are "
    "for them.",
)
@setting_options
@partial(record_options, leave_out=_OF_BOTH)
@click.option(
    "--sample",
    type=click.IntRange(min=1),
    default=None,
    metavar="N",
    help="Measure N evenly spaced workplace tracts instead of all.",
)
@click.option(
    "--seeds",
    type=click.IntRange(1, 1000),
    default=None,
    metavar="N",
    help="Also draw every setting N times in memory, with the published test key, for means and 95% intervals. Worker "
    f"records are always drawn, {_DRAWS_OF_RECORDS} times by default.",
)
@click.option(
    "--csv",
    "csv_path",
    type=_FILE,
    default=None,
    help="Write each setting to this file as soon as it is measured; the same command with the same file resumes "
    "where it stopped.",
)
@click.option(
    "--picture",
    type=_FILE,
    default=None,
    help="Plot KL against the first --over, as a new .png or .svg file.",
)
@config_option
@json_option
@quiet_option
def sweep(
    dataset: Path,
    over: tuple[str, ...],
    worker_records: bool,
    sample: int | None,
    seeds: int | None,
    csv_path: Path | None,
    picture: Path | None,
    as_json: bool,
    quiet: bool,
    **options: Option,
) -> None:
    """Measure the validity of settings on a confidential DATASET, before anything is released.

    Every setting is certified and measured in closed form: KL divergence and IMSE, over all workplaces and over small
    ones. Nothing is spent, because nothing is released. Do not publish the output: it is computed from real homes. A
    setting that cannot be certified gets a row that says why. The closed form is that of the draw; what --clean changes
    after it shows only in draws (--seeds).

    With --worker-records, choices of `commutemap records` are planned, drawn, and compared with the real workers: what
    they promise, how many candidates pass, and how far tables are from the real ones, before and after the model tops
    them up.

    \b
    Examples:
      commutemap sweep ri.dataset --over epsilon=2,4,6.5,8 --csv designed.csv
      commutemap sweep ri.dataset --over unit=cell,block,tract --over epsilon=2,4,6.5 --design none
      commutemap sweep ri.dataset --preset onthemap-v3 --over epsilon=2,4,4.6,10,25
      commutemap sweep ri.dataset --preset onthemap-v3 --over min-retention=0.1,0.05,0.025 --over accountant=sound,paper
      commutemap sweep ri.dataset --preset onthemap-v3 --over delta=1e-3,1e-4,1e-5,1e-6 --seeds 5 --picture delta.png
      commutemap sweep ri.dataset --over clean=on,off --over far-state-miles=none,300 --seeds 3
      commutemap sweep ri.dataset --worker-records --over epsilon=0.5,1,2,4 --csv seedless.csv
      commutemap sweep ri.dataset --worker-records --over kept=2,4 --over min-seeds=500,1000,2000 --picture seeds.png
    """
    from mapapp.measuring.sweep import option_key

    _require_fitting(worker_records)
    parameters = SWEPT_OF_RECORDS if worker_records else {name: option_key(name) for name in SWEPT}
    axes = [_axis(one, parameters) for one in over]
    _check(axes, csv_path, picture)
    run = _sweep_records if worker_records else _sweep_settings
    run(dataset, options, axes, _Asked(sample, seeds, csv_path, picture, as_json, quiet))


class _Asked(NamedTuple):
    """What is asked for beside the settings."""

    sample: int | None
    seeds: int | None
    csv_path: Path | None
    picture: Path | None
    as_json: bool
    quiet: bool


def _sweep_settings(dataset: Path, options: Options, axes: Sequence[Axis], asked: _Asked) -> None:
    from mapapp.measuring.sweep import run_sweep, swept_settings
    from mapapp.measuring.sweep_file import SweepFile

    file = None if asked.csv_path is None else SweepFile(asked.csv_path)
    with show_progress(quiet=asked.quiet) as report:
        report("reading the dataset", 0, 0)
        data = _open(dataset, options)
        settings = swept_settings(data, options, axes)
        tracts = None if asked.sample is None else data.sample(asked.sample)
        found = run_sweep(
            data,
            settings,
            tracts=tracts,
            seeds=asked.seeds or 0,
            kept=None if file is None else file.kept,
            report=report,
        )
        rows, stopped = _collect(found, len(settings), file)
    print_settings(data, axes, rows, len(settings), as_json=asked.as_json)
    if stopped is not None:
        raise click.exceptions.Exit(stopped)
    if asked.picture is not None:
        draw_settings(data, axes, rows, asked.picture)


def _sweep_records(dataset: Path, options: Options, axes: Sequence[Axis], asked: _Asked) -> None:
    from mapapp.commands.records_setting import read_choice
    from mapapp.measuring.record_workers import RecordWorkers
    from mapapp.measuring.sweep_file import SweepFile
    from mapapp.measuring.sweep_records import RECORD_COLUMNS, run_records_sweep, swept_choices
    from mapapp.measuring.sweep_records_result import sweep_dict, sweep_lines

    file = None if asked.csv_path is None else SweepFile(asked.csv_path, RECORD_COLUMNS)
    with show_progress(quiet=asked.quiet) as report:
        real = RecordWorkers.open(dataset, report)
        choices = swept_choices(
            real, options, axes, read=read_choice, parameter=SWEPT_OF_RECORDS, report=report
        )
        found = run_records_sweep(
            real,
            choices,
            draws=asked.seeds or _DRAWS_OF_RECORDS,
            kept=None if file is None else file.kept,
            report=report,
        )
        rows, stopped = _collect(found, len(choices), file)
    result = sweep_dict(real.store.path, axes, rows, len(choices))
    print_result(result, sweep_lines(axes, rows), as_json=asked.as_json)
    if stopped is not None:
        raise click.exceptions.Exit(stopped)
    if asked.picture is not None:
        draw_records_sweep(real.store, axes, rows, asked.picture)


def _collect(found: Iterable[SweptRow], n: int, file: SweepFile | None) -> tuple[list[SweptRow], int | None]:
    """Collect rows, each in the file as soon as it is measured; an exit code if the analyst stops the sweep."""
    rows: list[SweptRow] = []
    try:
        for row in found:
            rows.append(row)
            if file is not None:
                file.append(row)
    except KeyboardInterrupt as error:
        click.echo(stopped_line(len(rows), n, None if file is None else file.path), err=True)
        return rows, exit_code(error)
    return rows, None


def _require_fitting(worker_records: bool) -> None:
    """Refuse options for releases with --worker-records, and options for worker records without."""
    context = click.get_current_context()
    for option in context.command.params:
        name = str(option.name)
        given = context.get_parameter_source(name) is not click.core.ParameterSource.DEFAULT
        of_records = name in CHOICE_OPTIONS and name not in _OF_BOTH
        if not given or name in _OF_ANY or of_records == worker_records:
            continue
        raise UsageError(
            f"{option.opts[0]} is an option of releases, not of worker records; leave it out, or leave out "
            "--worker-records"
            if worker_records
            else f"{option.opts[0]} is an option of worker records; add --worker-records"
        )


def _axis(text: str, parameters: Mapping[str, str]) -> Axis:
    """Parse NAME=V1,V2,…; the option itself converts the values."""
    from mapapp.measuring.sweep import Axis

    name, equals, listed = text.partition("=")
    name = name.strip().replace("_", "-").removeprefix("--").removesuffix("-mi")
    if not equals or name not in parameters:
        raise UsageError(f"--over {text}: give NAME=V1,V2,… with NAME one of {', '.join(parameters)}")
    values = [value.strip() for value in listed.split(",")]
    twice = [value for value in values if values.count(value) > 1]
    if not all(values) or twice:
        raise UsageError(
            f"--over {text}: "
            + (
                f"{twice[0]} is listed twice; list each value once"
                if all(values)
                else "a value is missing; separate values by single commas"
            )
        )
    option = next(one for one in sweep.params if one.name == parameters[name])
    return Axis(name=name, values=tuple((value, _converted(option, value)) for value in values))


def _converted(option: click.Parameter, text: str) -> object:
    """Return a value of an option as the option itself reads it."""
    value = option.type.convert(text, option, None)
    return value if option.callback is None else option.callback(click.get_current_context(), option, value)


def _check(axes: Sequence[Axis], csv_path: Path | None, picture: Path | None) -> None:
    from mapapp.measuring.validity_report import require_places, require_two_places

    names = [axis.name for axis in axes]
    if not names:
        raise UsageError("--over is missing; name an option to vary, such as --over epsilon=2,4,8")
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise UsageError(f"--over {twice[0]} is given twice; list all its values in one --over")
    require_two_places(csv_path, picture)
    require_places(None, picture)


def _open(dataset: Path, options: Options) -> AnalystData:
    from geodata.store import open_store
    from mapapp.measuring.analyst import AnalystData
    from mapapp.publishing.last_release import with_last_release

    store = open_store(dataset, "dataset")
    if options["prior_release"] is not None:
        # Nothing measured here is released, so any earlier release may be used.
        store = with_last_release(store, options["prior_release"], for_release=False)
    return AnalystData(store)
