"""What `commutemap sweep` prints and draws."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from mapapp.commands.options import print_result

if TYPE_CHECKING:
    from geodata.store import Store
    from mapapp.measuring.analyst import AnalystData
    from mapapp.measuring.sweep import Axis, SweptRow

__all__ = ["draw_records_sweep", "draw_settings", "print_settings", "stopped_line"]


def print_settings(
    data: AnalystData, axes: Sequence[Axis], rows: Sequence[SweptRow], n: int, *, as_json: bool
) -> None:
    """Print the table of a sweep of settings, or all of it as JSON."""
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
    from mapapp.drawing.paper.sweep_picture import picture_bytes, sweep_figure
    from mapapp.measuring.validity_result import CONFIDENTIAL

    names = [axis.name for axis in axes]
    title = f"{data.store.manifest.get('title', data.store.path.name)}: validity against {', '.join(names)}"
    figure = sweep_figure(
        names, [row.to_dict() for row in rows], title=title, stamp=f"{_scope(rows)}\n{CONFIDENTIAL}"
    )
    _write(picture_bytes(figure, path.suffix.removeprefix(".")), path)


def draw_records_sweep(store: Store, axes: Sequence[Axis], rows: Sequence[SweptRow], path: Path) -> None:
    """Draw a sweep of worker records into a new picture."""
    from mapapp.drawing.paper.records_sweep_picture import records_sweep_figure
    from mapapp.drawing.paper.sweep_picture import picture_bytes
    from mapapp.measuring.records_margins import MARGIN_TITLES
    from mapapp.measuring.sweep_records_result import scope_line

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
    from geodata.atomic_writes import writing_beside

    with writing_beside(path, mode=0o700) as partial_write:
        with partial_write.writing(path.name, 0o600) as file:
            file.write_bytes(content)
        partial_write.put_in_place(file)
