"""How an option of the analyst is declared: once, in the annotation of the field that holds its value.

Command options, files of options, sweeps, and the controls of the workbench are made from these declarations.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction
from functools import partial
from types import UnionType
from typing import TYPE_CHECKING, Final, Literal, Self, TypeVar, Union, get_args, get_origin, get_type_hints

from engine.errors import ParameterError
from engine.parameters import exact_fraction
from mapapp.base.errors import UsageError

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

__all__ = [
    "Control",
    "Option",
    "bind_options",
    "exact",
    "list_declared",
    "number_or_none",
    "replace_values",
    "whole",
]

_MOST_DIGITS: Final = 18


@dataclass(frozen=True, slots=True, kw_only=True)
class Control:
    """How the workbench shows an option.

    Attributes
    ----------
    label : str
    hint : str
        A line below.
    unit : str
        Of a number.
    stops : str
        The values that a number's slider can take, rising, with spaces between; any other value can be typed.
    choices : mapping of str to str
        Of a choice among a few: their labels, by value.
    """

    label: str
    hint: str = ""
    unit: str = ""
    stops: str = ""
    choices: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """One option. What its field says, name, type, and default, is filled in by :func:`list_declared`.

    Attributes
    ----------
    help : str
        For `--help`.
    flag : str
        Long name without dashes; by default that of the field.
    shown : str
        The default in words, where leaving the option out means more than one value.
    typed : str
        The default as it is typed, where it is not its text.
    metavar : str or None
    least, most : int or None
        Range of a whole number.
    read : callable or None
        Makes the value from text and the flag; UsageError if it cannot.
    is_swept : bool
        Whether `sweep` can vary it.
    control : Control or None
        None if the workbench does not show it.
    name : str
        Of the field.
    default : object
    types : tuple
        Types that the field's value may have, but for None.
    """

    help: str
    flag: str = ""
    shown: str = ""
    typed: str = ""
    metavar: str | None = None
    least: int | None = None
    most: int | None = None
    read: Callable[[str, str], object] | None = None
    is_swept: bool = False
    control: Control | None = None
    name: str = ""
    default: object = None
    types: tuple[object, ...] = ()

    @property
    def choices(self) -> tuple[str, ...]:
        """The words that are allowed, if it takes one of a few."""
        return tuple(word for kind in self.types if get_origin(kind) is Literal for word in get_args(kind))

    def of_field(self, name: str, hint: object, default: object) -> Self:
        """The same option with what its field says."""
        types = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
        return replace(
            self,
            name=name,
            flag=self.flag or name.replace("_", "-"),
            types=tuple(kind for kind in types if kind is not type(None)),
            default=default,
        )

    def from_text(self, value: object) -> object:
        """A value as the option reads it; one that is no text is returned as it is."""
        return self.read(value, self.flag) if self.read is not None and isinstance(value, str) else value


Declared = TypeVar("Declared", bound=Option)
Made = TypeVar("Made")
Options = TypeVar("Options", bound="DataclassInstance")


def list_declared(options: type, kind: type[Declared]) -> dict[str, Declared]:
    """The options that a dataclass declares, by name of the field, in their order."""
    hints = get_type_hints(options, include_extras=True)
    defaults = {field.name: field.default for field in fields(options)}
    by_name = {}
    for name, hint in hints.items():
        value_type, *notes = get_args(hint) if hasattr(hint, "__metadata__") else (hint,)
        for option in notes:
            if isinstance(option, kind):
                by_name[name] = option.of_field(name, value_type, defaults[name])
    return by_name


def replace_values(options: Options, values: Mapping[str, object]) -> Options:
    """The same options with other values, by name of the field."""
    return replace(options, **values)


def bind_options(options: type[Made], values: Mapping[str, object]) -> partial[Made]:
    """What makes a dataclass from values of its options, by name of the field; None stands for the default."""
    given = {
        name: option.from_text(values[name])
        for name, option in list_declared(options, Option).items()
        if values.get(name) is not None
    }
    return partial(options, **given)


def exact(text: str, flag: str) -> Fraction:
    """Return a number exactly as it was typed.

    Raises
    ------
    UsageError
        It is no decimal number or fraction.
    """
    try:
        return exact_fraction(text, flag)
    except ParameterError as error:
        raise UsageError(f"--{error}") from None


def whole(text: str, flag: str) -> int:
    """Return a whole number.

    Raises
    ------
    UsageError
        It is none.
    """
    if not (text.isascii() and text.isdigit()) or len(text) > _MOST_DIGITS:
        raise UsageError(f"--{flag} {text[:40]!r}: give a whole number, such as 500")
    return int(text)


def number_or_none(text: str, flag: str) -> float | Literal["none"]:
    """Return a number, or the word none.

    Raises
    ------
    UsageError
        It is neither.
    """
    if text == "none":
        return "none"
    try:
        return float(text)
    except ValueError:
        raise UsageError(f"--{flag} {text[:40]!r}: give a number, or none") from None
