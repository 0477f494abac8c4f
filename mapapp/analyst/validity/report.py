"""Measures of validity for a person: lines of text, CSV files, a picture. Every one says that it is confidential."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pandas

from geodata.store.atomic_writes import Partial, write_beside
from geodata.store.store import refuse_existing
from mapapp.analyst.validity.result import CONFIDENTIAL, ExpectedPromise, Validity
from mapapp.base.errors import UsageError
from mapapp.kinds.records.measure.validity_result import RecordsValidity, distance_matrix

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PICTURE_KINDS: Final = (".png", ".svg")

_NOTE: Final = "CONFIDENTIAL.txt"
_PICTURE: Final = "picture"
_OWNER_ONLY: Final = 0o600


def require_places(csv_path: Path | None, picture_path: Path | None) -> None:
    """Refuse, before anything is measured, where results could not be written.

    Raises
    ------
    UsageError, StoreError
        Something is there already, it lies within a dataset or release, there is no such directory, both are one
        place, or the picture is of another kind.
    """
    require_two_places(csv_path, picture_path)
    for path in (csv_path, picture_path):
        if path is not None:
            refuse_existing(path)
            if not path.parent.is_dir():
                raise UsageError(f"{path.parent}: no such directory; make it first")
    if picture_path is not None and picture_path.suffix not in PICTURE_KINDS:
        raise UsageError(f"--picture {picture_path}: give a file that ends in {' or '.join(PICTURE_KINDS)}")


def require_two_places(csv_path: Path | None, picture_path: Path | None) -> None:
    """Refuse one name for both.

    Raises
    ------
    UsageError
        They are the same.
    """
    places = [os.path.abspath(path) for path in (csv_path, picture_path) if path is not None]
    if len(set(places)) < len(places):
        raise UsageError(f"--csv and --picture are both {picture_path}; give two names")


def validity_lines(validity: Validity) -> list[str]:
    """Sentences for a person."""
    summary, facts = validity.summary, validity.facts
    scope, certificate = facts["scope"], facts["certificate"]
    of = "a sample of " if scope["is_sample"] else ""
    lines = [
        f"CONFIDENTIAL, not for publication: {scope['workers_measured']:,} workers in {of}"
        f"{scope['tracts_measured']} of {scope['tracts']} workplace tracts",
        f"  promise          {_promise(certificate)}",
    ]
    plain = [] if validity.plain is None else validity.plain.lines()
    lines += [f"  {name:<17}{text}" for name, text in plain]
    lines += [
        f"  KL divergence    {_pair(summary, 'kl', '.4f')} (nats; {_basis(validity)}, weighted by workers)",
        f"  IMSE             {_pair(summary, 'imse', '.4f')}",
    ]
    if validity.basis == "release":
        lines += [
            f"  KL as drawn      {_pair(summary, 'kl_drawn', '.4f')} (a worker spread over the grid added to both)",
            f"  IMSE as drawn    {_pair(summary, 'imse_drawn', '.4f')}",
            f"  in another cell  {_pair(summary, 'moved', '.1%')} of workers",
            f"  lone workers     {_lone_workers(validity)}",
        ]
    lines.append(
        f"  support points   {summary['n_support']:.0f} per workplace tract, of which pruning keeps "
        f"{summary['n_support_kept']:.1f} where nobody lives"
    )
    if not math.isnan(summary["prior_worker_share"]):
        lines.append(f"  from the prior   {summary['prior_worker_share']:.1%} of synthetic workers")
    lines.append(f"  edited out       {_pair(summary, 'edited_out', '.2%')} of the likelihood")
    lines += ["", *_range_lines(validity.tables["ranges"])]
    if validity.basis == "release" and not facts["release"]["is_of_these_counts"]:
        lines.append("  note: the certificate commits to another table of jobs than this dataset's")
    return lines


def _lone_workers(validity: Validity) -> str:
    """How many lone workers are shown in their true home tract, beside what public data let expect."""
    shown, expected = (validity.summary[name] for name in ("lone_in_tract", "lone_in_tract_expected"))
    if math.isnan(shown):
        return "there is none"
    of = (
        ""
        if validity.facts["certificate"]["lone_worker"]["case"] == "lone workers"
        else " in the certificate's example"
    )
    said = "nothing is expected" if math.isnan(expected) else f"expected from public data{of}: {expected:.1%}"
    return f"{shown:.1%} are shown in their true home tract; {said}"


def _basis(validity: Validity) -> str:
    return str(validity.facts.get("closed_form", validity.basis))


def _promise(certificate: ExpectedPromise) -> str:
    final, delta = certificate["epsilon_final"], certificate["delta"]
    return f"epsilon_final {final:.3f}, delta {delta:g}, {certificate['mechanism']}"


def _pair(summary: dict[str, float], name: str, form: str) -> str:
    every, small = summary[f"{name}_all"], summary[f"{name}_small"]
    few = "none" if math.isnan(small) else format(small, form)
    return f"{every:{form}} all, {few} small (1-9 workers)"


def _range_lines(ranges: pandas.DataFrame) -> list[str]:
    columns = [name for name in ("likelihood", "posterior", "drawn", "prior") if f"{name}_all" in ranges]
    titles = {"likelihood": "real", "posterior": "expected", "drawn": "drawn", "prior": "prior"}
    head = "  miles       " + "".join(f"{titles[name]:>9}" for _ in ("all", "small") for name in columns)
    lines = ["  mass by commute range, all destinations and then small ones", head]
    for row in ranges.to_dict("records"):
        values = [row[f"{name}_{who}"] for who in ("all", "small") for name in columns]
        lines.append(f"  {row['range']:<12}" + "".join(f"{value:>9.3f}" for value in values))
    return lines


def write_csv(validity: Validity | RecordsValidity, path: Path) -> None:
    """Write the summary and every table as CSV files into a new directory that only its owner may read.

    Raises
    ------
    StoreError
        There is something at `path` already.
    """
    summary = pandas.DataFrame({"measure": list(validity.summary), "value": list(validity.summary.values())})
    write_tables({"summary": summary, **validity.tables}, CONFIDENTIAL, path)


def write_tables(tables: Mapping[str, pandas.DataFrame], note: str, path: Path) -> None:
    """Write confidential tables as CSV files, and a note, into a new directory that only its owner may read.

    Raises
    ------
    StoreError
        There is something at `path` already.
    """
    with _write_whole(path) as partial:
        with partial.write_file(_NOTE, _OWNER_ONLY) as file:
            file.write_text(note + "\n", encoding="utf-8")
        for name, table in tables.items():
            with partial.write_file(f"{name}.csv", _OWNER_ONLY) as file:
                table.to_csv(file, index=False)


def write_picture(validity: Validity, path: Path) -> None:
    """Draw the measures of a release into a PNG or SVG file that only its owner may read.

    Raises
    ------
    StoreError
        There is something at `path` already.
    """
    from mapapp.analyst.validity.picture import validity_picture

    note = f"Confidential, not for publication. {_promise(validity.facts['certificate'])}"
    figure = validity_picture(
        validity.tables, title=f"Validity of {Path(validity.facts['release']['path']).name}", note=note
    )
    write_figure(figure, path)


def write_records_picture(validity: RecordsValidity, path: Path) -> None:
    """Draw the distances of worker records into a PNG or SVG file that only its owner may read.

    Raises
    ------
    StoreError
        There is something at `path` already.
    """
    from mapapp.kinds.records.measure.validity_picture import records_validity_picture

    attributes, pairs = validity.tables["attributes"], validity.tables["pairs"]
    figure = records_validity_picture(
        distance_matrix(attributes, pairs),
        attributes,
        pairs,
        title=f"Validity of {Path(validity.facts['records']['path']).name}",
        note=f"Confidential, not for publication. {validity.promise}",
    )
    write_figure(figure, path)


def write_figure(figure: Figure, path: Path) -> None:
    """Write a confidential picture into a PNG or SVG file that only its owner may read.

    Raises
    ------
    StoreError
        There is something at `path` already.
    """
    with _write_whole(path) as partial:
        kind = path.suffix.removeprefix(".")
        with partial.write_file(_PICTURE, _OWNER_ONLY) as file:
            figure.savefig(file, format=kind, metadata={"Date": None} if kind == "svg" else {})


@contextmanager
def _write_whole(path: Path) -> Iterator[Partial]:
    """Yield a folder of our own beside `path`; it, or the `_PICTURE` in it, gets the name once all is written."""
    refuse_existing(path)
    with write_beside(path, mode=0o700) as partial:
        yield partial
        partial.require_own()
        picture = partial.folder / _PICTURE
        partial.put_in_place(picture if picture.exists() else None)
