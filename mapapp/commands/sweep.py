"""`commutemap sweep`: measure the validity of many settings before anything is released."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from mapapp.commands.options import (
    STORE,
    Option,
    Options,
    config_option,
    json_option,
    print_result,
    quiet_option,
)
from mapapp.commands.setting import setting_options
from mapapp.errors import UsageError
from mapapp.interrupts import exit_code
from mapapp.progress import show_progress

if TYPE_CHECKING:
    from mapapp.measuring.analyst import AnalystData
    from mapapp.measuring.sweep import Axis, SweptRow

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

_FILE = click.Path(path_type=Path, dir_okay=False)


@click.command()
@click.argument("dataset", type=STORE)
@click.option(
    "--over",
    multiple=True,
    metavar="NAME=V1,V2,…",
    help=f"Option to vary and its values; several --over make a grid. NAME is one of {', '.join(SWEPT)}.",
)
@setting_options
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
    help="Also draw every setting N times in memory, with the published test key, for means and 95% intervals.",
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

    \b
    Examples:
      commutemap sweep ri.dataset --over epsilon=2,4,6.5,8 --csv designed.csv
      commutemap sweep ri.dataset --over unit=cell,block,tract --over epsilon=2,4,6.5 --design none
      commutemap sweep ri.dataset --preset onthemap-v3 --over epsilon=2,4,4.6,10,25
      commutemap sweep ri.dataset --preset onthemap-v3 --over min-retention=0.1,0.05,0.025 --over accountant=sound,paper
      commutemap sweep ri.dataset --preset onthemap-v3 --over delta=1e-3,1e-4,1e-5,1e-6 --seeds 5 --picture delta.png
      commutemap sweep ri.dataset --over clean=on,off --over far-state-miles=none,300 --seeds 3
    """
    from mapapp.measuring.sweep import run_sweep, swept_settings
    from mapapp.measuring.sweep_file import SweepFile

    axes = [_axis(one) for one in over]
    _check(axes, csv_path, picture)
    kept = None if csv_path is None else SweepFile(csv_path)
    rows: list[SweptRow] = []
    stopped = None
    with show_progress(quiet=quiet) as report:
        report("reading the dataset", 0, 0)
        data = _open(dataset, options)
        settings = swept_settings(data, options, axes)
        tracts = None if sample is None else data.sample(sample)
        try:
            for row in run_sweep(
                data,
                settings,
                tracts=tracts,
                seeds=seeds or 0,
                kept=None if kept is None else kept.kept,
                report=report,
            ):
                rows.append(row)
                if kept is not None:
                    kept.append(row)
        except KeyboardInterrupt as error:
            stopped = exit_code(error)
            click.echo(_stopped(len(rows), len(settings), csv_path), err=True)
    _print(data, axes, rows, len(settings), as_json=as_json)
    if stopped is not None:
        raise click.exceptions.Exit(stopped)
    if picture is not None:
        _draw(data, axes, rows, picture)


def _axis(text: str) -> Axis:
    """Parse NAME=V1,V2,…; the option itself converts the values."""
    from mapapp.measuring.sweep import Axis, option_key

    name, equals, listed = text.partition("=")
    name = name.strip().replace("_", "-").removeprefix("--").removesuffix("-mi")
    if not equals or name not in SWEPT:
        raise UsageError(f"--over {text}: give NAME=V1,V2,… with NAME one of {', '.join(SWEPT)}")
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
    option = next(one for one in sweep.params if one.name == option_key(name))
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


def _print(
    data: AnalystData, axes: Sequence[Axis], rows: Sequence[SweptRow], n: int, *, as_json: bool
) -> None:
    from mapapp.measuring.validity_result import CONFIDENTIAL

    result = {
        "confidential": CONFIDENTIAL,
        "dataset": str(data.store.path),
        "over": {axis.name: [text for text, _ in axis.values] for axis in axes},
        "n_settings": n,
        "rows": [row.to_dict() for row in rows],
    }
    print_result(result, _lines(axes, rows, CONFIDENTIAL), as_json=as_json)


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
        cells = [*row.axis_values.values(), *(_shown(row.values[key], digits) for _, key, digits in columns)]
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


def _shown(value: object, digits: int) -> str:
    return "–" if value is None else f"{value:.{digits}f}"


def _interval(row: SweptRow, key: str) -> str:
    mean, low, high = (_shown(row.values[f"{key}{end}"], 4) for end in ("", "_low", "_high"))
    return mean if row.values[f"{key}_low"] is None else f"{mean} [{low}, {high}]"


def _stopped(done: int, n: int, csv_path: Path | None) -> str:
    go_on = (
        "give --csv to be able to resume"
        if csv_path is None
        else f"run the same command again to resume from {csv_path}"
    )
    return f"commutemap: stopped after {done} of {n} settings; {go_on}"


def _draw(data: AnalystData, axes: Sequence[Axis], rows: Sequence[SweptRow], path: Path) -> None:
    from geodata.atomic_writes import writing_beside
    from mapapp.drawing.paper.sweep_picture import picture_bytes, sweep_figure
    from mapapp.measuring.validity_result import CONFIDENTIAL

    names = [axis.name for axis in axes]
    title = f"{data.store.manifest.get('title', data.store.path.name)}: validity against {', '.join(names)}"
    figure = sweep_figure(
        names, [row.to_dict() for row in rows], title=title, stamp=f"{_scope(rows)}\n{CONFIDENTIAL}"
    )
    content = picture_bytes(figure, path.suffix.removeprefix("."))
    with writing_beside(path, mode=0o700) as partial:
        with partial.writing(path.name, 0o600) as file:
            file.write_bytes(content)
        partial.put_in_place(file)
