"""Options of a command made from the dataclass that declares them; the command takes an instance of it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import reduce, wraps
from pathlib import Path
from typing import Final, TypeVar, cast

import click

from mapapp.base.errors import UsageError
from mapapp.commands.options import STORE, Function, config_option_named
from mapapp.kinds.base.option import Option, bind_options, list_declared
from mapapp.kinds.release.make.margin_options import MARGIN_OPTIONS, ShownMargins
from mapapp.kinds.release.make.options import PRESETS, RELEASE_OPTIONS, ReleaseOptions

__all__ = ["axis_value", "declared_options", "read_setting", "setting_of"]

Declared = TypeVar("Declared")

_PLAIN: Final[Mapping[object, click.ParamType[object]]] = {
    int: click.INT,
    float: click.FLOAT,
    str: click.STRING,
    Path: STORE,
}


class _Read(click.ParamType[object]):
    """A value that its declaration reads."""

    def __init__(self, option: Option) -> None:
        self._option = option
        self.name = "integer" if int in option.types else "text"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> object:
        return self._option.from_text(value)


def declared_options(
    *, unmade: Collection[str] = (), leave_out: Collection[str] = (), **kinds: type[object]
) -> Callable[[Function], Function]:
    """Add the options that dataclasses declare; an option of several has one value for all of them.

    Parameters
    ----------
    unmade : collection of str
        Arguments that the command makes itself, perhaps with other values: it gets a partial of the dataclass.
    leave_out : collection of str
        Options that the command does not have.
    **kinds : dataclass
        By the argument of the command.
    """
    options: dict[str, Option] = {}
    for kind in kinds.values():
        options |= {
            name: option
            for name, option in list_declared(kind, Option).items()
            if name not in {*options, *leave_out}
        }

    def add(function: Function) -> Function:
        @wraps(function)
        def command(*places: object, **given: object) -> object:
            values = {name: given.pop(name) for name in options}
            for argument, kind in kinds.items():
                make = bind_options(kind, values)
                given[argument] = make if argument in unmade else make()
            return function(*places, **given)

        adders = [_click_option(option) for option in options.values()]
        return cast("Function", reduce(lambda inner, adder: adder(inner), reversed(adders), command))

    return add


def axis_value(option: Option, text: str) -> object:
    """Return a value of an option as the command line reads it."""
    parameter = click.Option([f"--{option.flag}"])
    return _type_of(option).convert(text, parameter, None)


def setting_of(kind: type[Declared], given: Mapping[str, object]) -> Declared:
    """Return a dataclass of declared options from values by name, which are read as the command line reads them.

    Raises
    ------
    UsageError
        There is no such option, or a value is not allowed.
    """
    options, values = list_declared(kind, Option), dict[str, object]()
    for name, value in given.items():
        if name not in options:
            raise UsageError(f"option {name[:40]!r} does not exist; choose from {', '.join(options)}")
        is_text = value is not None and not isinstance(value, bool)
        try:
            values[name] = axis_value(options[name], str(value)) if is_text else value
        except click.ClickException as error:
            raise UsageError(f"{name}: {error.message}") from None
    return kind(**values)


def read_setting(spec: str) -> ReleaseOptions:
    """Read what names a whole setting: a preset, or a TOML file of the options of `synthesize`.

    Raises
    ------
    UsageError, click.ClickException
        It is neither, or the file has an unknown option or a value that is not allowed.
    """
    if spec in PRESETS:
        arguments = ["--preset", spec]
    elif spec.endswith(".toml"):
        arguments = ["--setting", spec]
    else:
        raise UsageError(
            f"--setting {spec}: neither a preset ({', '.join(PRESETS)}) nor a file that ends in .toml with options of "
            "`synthesize`"
        )
    command = click.Command("synthesize", params=[])
    options = (*RELEASE_OPTIONS.values(), *MARGIN_OPTIONS.values())
    for add in (config_option_named("--setting"), *map(_click_option, options)):
        command = add(command)
    with command.make_context("synthesize", arguments) as context:
        if not bind_options(ShownMargins, context.params)().is_whole:
            raise UsageError(
                f"{spec}: segments and workplaces are not part of a setting; leave them out of the file, and give "
                "them as options of a command that has them"
            )
        return bind_options(ReleaseOptions, context.params)()


def _type_of(option: Option) -> click.ParamType[object]:
    if option.read is not None:
        return _Read(option)
    if option.choices:
        return click.Choice(option.choices)
    if option.least is not None:
        return click.IntRange(option.least, option.most)
    return click.BOOL if bool in option.types else next(_PLAIN[kind] for kind in option.types)


def _click_option(option: Option) -> Callable[[Function], Function]:
    takes_no_value = bool in option.types
    is_pair = takes_no_value and option.default is not False
    return click.option(
        f"--{option.flag}/--no-{option.flag}" if is_pair else f"--{option.flag}",
        option.name,
        type=None if takes_no_value else _type_of(option),
        is_flag=takes_no_value or None,
        default=option.typed or option.default,
        show_default=option.shown or option.default not in (None, False),
        help=option.help,
        metavar=option.metavar,
    )
