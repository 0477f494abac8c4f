"""`commutemap sweep`: measure the validity of many settings before anything is released."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import click

from mapapp.base.errors import UsageError
from mapapp.base.interrupts import exit_code
from mapapp.base.progress import show_progress
from mapapp.commands.declared_options import axis_value, declared_options
from mapapp.commands.options import (
    STORE,
    config_option,
    json_option,
    print_result,
    quiet_option,
)
from mapapp.kinds.base.option import Option
from mapapp.kinds.records.make.choice import RECORD_OPTIONS, SWEPT_OF_RECORDS, Choice
from mapapp.kinds.release.make.margin_options import MARGIN_OPTIONS, ShownMargins
from mapapp.kinds.release.make.options import RELEASE_OPTIONS, SWEPT, ReleaseOptions

if TYPE_CHECKING:
    from geodata.store.store import Store
    from mapapp.analyst.sweep.file import SweepFile
    from mapapp.analyst.sweep.sweep import Axis, SweptRow
    from mapapp.analyst.validity.confidential_parts import AnalystData


# What `commutemap sweep` prints and draws.


def print_settings(
    data: AnalystData, axes: Sequence[Axis], rows: Sequence[SweptRow], n: int, *, as_json: bool
) -> None:
    """Print the table of a sweep of settings, or all of it as JSON."""
    from mapapp.analyst.validity.result import CONFIDENTIAL

    margins = ShownMargins.of_facts(data.store.manifest)
    result = {
        "confidential": CONFIDENTIAL,
        "dataset": str(data.store.path),
        "over": {axis.name: [text for text, _ in axis.values] for axis in axes},
        "n_settings": n,
        "exact_numbers": {"segments": list(margins.segments), "workplaces": margins.workplaces},
        "rows": [row.to_dict() for row in rows],
    }
    shown = [] if margins.is_whole else [f"exact numbers of workers {margins.words} only"]
    print_result(result, [*shown, *_lines(axes, rows, CONFIDENTIAL)], as_json=as_json)


def _lines(axes: Sequence[Axis], rows: Sequence[SweptRow], stamp: str) -> list[str]:
    """Return the table as text lines."""
    columns = [("epsilon_final", "epsilon_final", 3)]
    columns += [(f"KL {group}", f"kl_{group}", 4) for group in ("all", "small")]
    columns += [(f"IMSE {group}", f"imse_{group}", 4) for group in ("all", "small")]
    columns += [("prior workers", "prior_worker_share", 4)]
    names = [axis.name for axis in axes]
    with_draws = any(row.values["seeds"] for row in rows)
    drawn = [f"KL drawn {group}" for group in ("all", "small")] if with_draws else []
    table = [[*names, *(head for head, _, _ in columns), *drawn]]
    for row in rows:
        cells = [
            *row.axis_values.values(),
            *(_show_value(row.values[key], digits) for _, key, digits in columns),
        ]
        cells += [_interval(row, f"kl_drawn_{group}") for group in ("all", "small")] if with_draws else []
        table.append(cells)
    widths = [max(len(line[at]) for line in table) for at in range(len(table[0]))]
    text = ["  ".join(cell.rjust(wide) for cell, wide in zip(line, widths, strict=True)) for line in table]
    for row, line in zip(rows, text[1:], strict=True):
        if row.values["refusal"] is not None:
            text.insert(text.index(line) + 1, f"    no release: {row.values['refusal']}")
    return [_scope(rows), *text, stamp]


def _scope(rows: Sequence[SweptRow]) -> str:
    of = next((row.values for row in rows if row.values["tracts"] is not None), None)
    if of is None:
        return "nothing was measured"
    return (
        f"{of['workers_measured']:,} workers in {of['tracts_measured']:,} of {of['tracts']:,} workplace tracts; "
        "KL in nats, weighted by workers; small: workplaces of 1 to 9"
    )


def _show_value(value: object, digits: int) -> str:
    return "–" if value is None else f"{value:.{digits}f}"


def _interval(row: SweptRow, key: str) -> str:
    mean, low, high = (_show_value(row.values[f"{key}{end}"], 4) for end in ("", "_low", "_high"))
    return mean if row.values[f"{key}_low"] is None else f"{mean} [{low}, {high}]"


def stopped_line(done: int, n: int, csv_path: Path | None) -> str:
    """Say how far a stopped sweep came, and how to go on."""
    go_on = (
        "give --csv to be able to resume"
        if csv_path is None
        else f"run the same command again to resume from {csv_path}"
    )
    return f"commutemap: stopped after {done} of {n} settings; {go_on}"


def draw_settings(data: AnalystData, axes: Sequence[Axis], rows: Sequence[SweptRow], path: Path) -> None:
    """Draw a sweep of settings into a new picture."""
    from mapapp.analyst.sweep.picture import picture_bytes, sweep_figure
    from mapapp.analyst.validity.result import CONFIDENTIAL

    names = [axis.name for axis in axes]
    title = f"{data.store.manifest.get('title', data.store.path.name)}: validity against {', '.join(names)}"
    figure = sweep_figure(
        names, [row.to_dict() for row in rows], title=title, stamp=f"{_scope(rows)}\n{CONFIDENTIAL}"
    )
    _write(picture_bytes(figure, path.suffix.removeprefix(".")), path)


def draw_records_sweep(store: Store, axes: Sequence[Axis], rows: Sequence[SweptRow], path: Path) -> None:
    """Draw a sweep of worker records into a new picture."""
    from mapapp.analyst.sweep.picture import picture_bytes
    from mapapp.kinds.records.measure.margins import MARGIN_TITLES
    from mapapp.kinds.records.measure.sweep_picture import records_sweep_figure
    from mapapp.kinds.records.measure.sweep_result import scope_line

    names = [axis.name for axis in axes]
    figure = records_sweep_figure(
        names,
        [row.to_dict() for row in rows],
        margins=MARGIN_TITLES,
        title=f"{store.manifest.get('title', store.path.name)}: worker records against {', '.join(names)}",
        stamp=scope_line(rows),
    )
    _write(picture_bytes(figure, path.suffix.removeprefix(".")), path)


def _write(content: bytes, path: Path) -> None:
    """Write a picture that only its owner may read."""
    from geodata.store.atomic_writes import write_beside

    with write_beside(path, mode=0o700) as partial_write:
        with partial_write.write_file(path.name, 0o600) as file:
            file.write_bytes(content)
        partial_write.put_in_place(file)


_DRAWS_OF_RECORDS: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Measuring:
    """On what settings are measured, how often they are drawn, and where results go."""

    sample: Annotated[
        int | None,
        Option(help="Measure N evenly spaced workplace tracts instead of all.", metavar="N", least=1),
    ] = None
    seeds: Annotated[
        int | None,
        Option(
            help="Also draw every setting N times in memory, with the published test key, for means and 95% "
            f"intervals. Worker records are always drawn, {_DRAWS_OF_RECORDS} times by default.",
            metavar="N",
            least=1,
            most=1000,
        ),
    ] = None
    csv_path: Annotated[
        Path | None,
        Option(
            flag="csv",
            help="Write each setting to this file as soon as it is measured; the same command with the same file "
            "resumes where it stopped.",
            metavar="FILE",
        ),
    ] = None
    picture: Annotated[
        Path | None,
        Option(help="Plot KL against the first --over, as a new .png or .svg file.", metavar="FILE"),
    ] = None


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
@declared_options(
    setting=ReleaseOptions,
    margins=ShownMargins,
    choice=Choice,
    measuring=Measuring,
    unmade=("choice",),
    leave_out=("given_segments",),
)
@config_option
@json_option
@quiet_option
def sweep(
    dataset: Path,
    over: tuple[str, ...],
    worker_records: bool,
    setting: ReleaseOptions,
    margins: ShownMargins,
    choice: Callable[..., Choice],
    measuring: Measuring,
    as_json: bool,
    quiet: bool,
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
      commutemap sweep ri.dataset --over epsilon=2,4,6.5 --segments none --workplaces tract
      commutemap sweep ri.dataset --worker-records --over epsilon=0.5,1,2,4 --csv seedless.csv
      commutemap sweep ri.dataset --worker-records --over kept=2,4 --over min-seeds=500,1000,2000 --picture seeds.png
    """
    _require_fitting(worker_records)
    axes = [_axis(axis_text, SWEPT_OF_RECORDS if worker_records else SWEPT) for axis_text in over]
    _check(axes, measuring)
    of_records = partial(_sweep_records, dataset, choice)
    run = of_records if worker_records else partial(_sweep_settings, dataset, setting, margins)
    run(axes, measuring, as_json=as_json, quiet=quiet)


def _sweep_settings(
    dataset: Path,
    setting: ReleaseOptions,
    margins: ShownMargins,
    axes: Sequence[Axis],
    measuring: Measuring,
    *,
    as_json: bool,
    quiet: bool,
) -> None:
    from mapapp.analyst.sweep.file import SweepFile
    from mapapp.analyst.sweep.sweep import run_sweep, swept_settings

    file = None if measuring.csv_path is None else SweepFile(measuring.csv_path)
    with show_progress(quiet=quiet) as report:
        report("reading the dataset", 0, 0)
        data = _open(dataset, setting, margins)
        settings = swept_settings(data, setting, axes)
        tracts = None if measuring.sample is None else data.sample(measuring.sample)
        swept_rows = run_sweep(
            data,
            settings,
            tracts=tracts,
            seeds=measuring.seeds or 0,
            kept=None if file is None else file.kept,
            report=report,
        )
        rows, stopped = _collect(swept_rows, len(settings), file)
    print_settings(data, axes, rows, len(settings), as_json=as_json)
    if stopped is not None:
        raise click.exceptions.Exit(stopped)
    if measuring.picture is not None:
        draw_settings(data, axes, rows, measuring.picture)


def _sweep_records(
    dataset: Path,
    choice: Callable[..., Choice],
    axes: Sequence[Axis],
    measuring: Measuring,
    *,
    as_json: bool,
    quiet: bool,
) -> None:
    from mapapp.analyst.sweep.file import SweepFile
    from mapapp.kinds.records.measure.sweep import RECORD_COLUMNS, run_records_sweep, swept_choices
    from mapapp.kinds.records.measure.sweep_result import sweep_dict, sweep_lines
    from mapapp.kinds.records.measure.workers import RecordWorkers

    file = None if measuring.csv_path is None else SweepFile(measuring.csv_path, RECORD_COLUMNS)
    with show_progress(quiet=quiet) as report:
        real = RecordWorkers.open(dataset, report)
        choices = swept_choices(real, choice, axes, report=report)
        swept_rows = run_records_sweep(
            real,
            choices,
            draws=measuring.seeds or _DRAWS_OF_RECORDS,
            kept=None if file is None else file.kept,
            report=report,
        )
        rows, stopped = _collect(swept_rows, len(choices), file)
    result = sweep_dict(real.store.path, axes, rows, len(choices))
    print_result(result, sweep_lines(axes, rows), as_json=as_json)
    if stopped is not None:
        raise click.exceptions.Exit(stopped)
    if measuring.picture is not None:
        draw_records_sweep(real.store, axes, rows, measuring.picture)


def _collect(
    swept_rows: Iterable[SweptRow], n: int, file: SweepFile | None
) -> tuple[list[SweptRow], int | None]:
    """Collect rows, each in the file as soon as it is measured; an exit code if the analyst stops the sweep."""
    rows: list[SweptRow] = []
    try:
        for row in swept_rows:
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
    of_releases, of_records = {"sample", *RELEASE_OPTIONS, *MARGIN_OPTIONS}, set(RECORD_OPTIONS)
    for option in context.command.params:
        name = str(option.name)
        is_wrong = name in (of_releases - of_records if worker_records else of_records - of_releases)
        if not is_wrong or context.get_parameter_source(name) is click.core.ParameterSource.DEFAULT:
            continue
        raise UsageError(
            f"{option.opts[0]} is an option of releases, not of worker records; leave it out, or leave out "
            "--worker-records"
            if worker_records
            else f"{option.opts[0]} is an option of worker records; add --worker-records"
        )


def _axis(text: str, options: Mapping[str, Option]) -> Axis:
    """Parse NAME=V1,V2,…; the option itself converts the values."""
    from mapapp.analyst.sweep.sweep import Axis

    name, equals, listed = text.partition("=")
    name = name.strip().replace("_", "-").removeprefix("--").removesuffix("-mi")
    if not equals or name not in options:
        raise UsageError(f"--over {text}: give NAME=V1,V2,… with NAME one of {', '.join(options)}")
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
    return Axis(name=name, values=tuple((value, axis_value(options[name], value)) for value in values))


def _check(axes: Sequence[Axis], measuring: Measuring) -> None:
    from mapapp.analyst.validity.report import require_places, require_two_places

    names = [axis.name for axis in axes]
    if not names:
        raise UsageError("--over is missing; name an option to vary, such as --over epsilon=2,4,8")
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise UsageError(f"--over {twice[0]} is given twice; list all its values in one --over")
    require_two_places(measuring.csv_path, measuring.picture)
    require_places(None, measuring.picture)


def _open(dataset: Path, setting: ReleaseOptions, margins: ShownMargins) -> AnalystData:
    from geodata.store.store import open_store
    from mapapp.analyst.validity.confidential_parts import AnalystData
    from mapapp.kinds.release.make.last_release import add_last_release
    from mapapp.kinds.release.make.shown_margins import add_shown_margins

    store = open_store(dataset, "dataset")
    if setting.prior_release is not None:
        # Nothing measured here is released, so any earlier release may be used.
        store = add_last_release(store, setting.prior_release, for_release=False)
    return AnalystData(add_shown_margins(store, margins))
