"""Options that several commands share."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import click

from geodata.text import parse_toml
from mapapp.base.errors import UsageError

Function = TypeVar("Function", bound=Callable[..., object])

Option: TypeAlias = Any
"""Value of a command's option, of the type that its declaration converts it to; click does not state it."""
Options: TypeAlias = Mapping[str, Option]
"""Values of a command's options, by name."""

STORE = click.Path(path_type=Path)
ENTRIES = "mapapp.commands.options.entries"
"""Key in a context's `meta` of the entries of a `--config` file that are named after the command, as [[command]]."""


def json_option(function: Function) -> Function:
    """Add `--json`, which prints the result as one JSON document."""
    return click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")(function)


def quiet_option(function: Function) -> Function:
    """Add `--quiet`, which hides progress."""
    return click.option("-q", "--quiet", is_flag=True, help="Do not show progress.")(function)


def config_option(function: Function) -> Function:
    """Add `--config FILE.toml`, which sets any option by its long name, at the top level or under [command]."""
    return config_option_named("--config")(function)


def config_option_named(name: str) -> Callable[[Function], Function]:
    """Add `--config` under another name, so that refusals name what the user typed."""
    return click.option(
        name,
        type=click.Path(path_type=Path, dir_okay=False),
        is_eager=True,
        expose_value=False,
        callback=_load_config,
        help="TOML file of options; options on the command line override it.",
    )


def csv_option(function: Function) -> Function:
    """Add `--csv DIR`, where a measuring command writes its tables."""
    return click.option(
        "--csv",
        "csv_path",
        type=STORE,
        default=None,
        metavar="DIR",
        help="Also write every table as a CSV file to a new directory.",
    )(function)


def beside_option(function: Function) -> Function:
    """Add `--beside-release`, which names publications of the same jobs that a new one is made beside."""
    return click.option(
        "--beside-release",
        "beside",
        type=STORE,
        multiple=True,
        metavar="PUBLICATION",
        help="Publish beside this release or table of the same jobs, on purpose. The two have no joint promise; the "
        "certificate names it. Needed for a table where the ledger has a release, and the other way round.",
    )(function)


def picture_option(shown: str) -> Callable[[Function], Function]:
    """Add `--picture FILE`, to which a measuring command plots what is `shown`."""
    return click.option(
        "--picture",
        "picture_path",
        type=STORE,
        default=None,
        metavar="FILE",
        help=f"Also plot {shown} to FILE, which ends in .png or .svg.",
    )


def print_result(result: Mapping[str, object], lines: list[str], *, as_json: bool) -> None:
    """Print a command's result as JSON or as text lines."""
    if as_json:
        json.dump(result, sys.stdout, indent=1, ensure_ascii=False, default=str)
        sys.stdout.write("\n")
    else:
        sys.stdout.write("\n".join(lines) + "\n")


def _load_config(context: click.Context, parameter: click.Parameter, path: Path | None) -> None:
    if path is None:
        return
    try:
        document = parse_toml(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}; check the path given to {parameter.opts[0]}") from error
    except ValueError as error:
        raise UsageError(f"{path}: not a TOML file ({error}); see `{context.command_path} --help`") from error
    known = {_key(option): option for option in context.command.params if isinstance(option, click.Option)}
    name = str(context.info_name)
    # A command may have an option of its own name, as `lodes` has.
    is_option = name in known and not isinstance(document.get(name), dict)
    section = document if is_option else document.get(name, document)
    if _is_list_of_tables(section):
        context.meta[ENTRIES] = section
        section = document
    if not isinstance(section, dict):
        raise UsageError(f"{path}: [{context.info_name}] must be a table of options, not {section!r}")
    settings = {
        key.replace("_", "-"): value
        for key, value in section.items()
        if not isinstance(value, dict) and not _is_list_of_tables(value)
    }
    unknown = sorted(set(settings) - set(known))
    if unknown:
        raise UsageError(
            f"{path}: unknown option {unknown[0]!r} for `{context.command_path}`; allowed: {', '.join(sorted(known))}"
        )
    context.default_map = {
        str(known[key].name): _value(path, key, known[key], value) for key, value in settings.items()
    }


def _is_list_of_tables(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(entry, dict) for entry in value)


def _key(option: click.Option) -> str:
    return max(option.opts, key=len).removeprefix("--")


def _value(path: Path, key: str, option: click.Option, value: object) -> object:
    """The value of an option as the command line would give it, of the kind that the option takes."""
    if option.is_flag:
        if not isinstance(value, bool):
            raise UsageError(f"{path}: {key} is {value!r}; write {key} = true or {key} = false")
        return value
    if option.multiple:
        return [_text(path, key, element) for element in (value if isinstance(value, list) else [value])]
    return _text(path, key, value)


def _text(path: Path, key: str, value: object) -> str:
    # Numbers are passed on as text, so that 4.6 stays exactly 23/5 instead of the nearest binary fraction.
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise UsageError(f"{path}: {key} is {value!r}; give one text or number")
    return str(value)
