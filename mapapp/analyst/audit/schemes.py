"""Schemes that an agency could use instead of a release, as `--against` names them.

A scheme is a name, a parameter, and options: ``k=8``, ``t=0.3:k=8``, ``kd=1:height=10``. Several values stand for
several schemes: ``k=2,8,32``.

Source: docs/audit.md, "Other schemes".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple, cast, get_args

from engine.audit.private_tree import PrivateTreeKind, require_room
from engine.errors import ParameterError
from engine.mechanisms.thetas import exponential_epsilon
from engine.parameters import exact_fraction
from mapapp.base.errors import UsageError

__all__ = ["DEFAULT_HEIGHT", "SCHEMES", "Levels", "Scheme", "read_schemes"]

Levels = Literal["leaf", "uniform", "geometric", "optimal"]

DEFAULT_HEIGHT: Final = 10
_DEFAULT_K: Final = 8
_MOST_HEIGHT: Final = 40
_MOST_WHOLE: Final = 2**31 - 1
_WHOLE_VALUES: Final = ("k", "l", "l-distinct")
"""Schemes whose parameter is a whole number: people, or values."""


class _Kind(NamedTuple):
    """What a scheme's parameter is, and which options it takes."""

    parameter: str
    options: tuple[str, ...]


SCHEMES: Final[Mapping[str, _Kind]] = {
    "k": _Kind("k", ("height",)),
    "l": _Kind("l", ("height", "k")),
    "l-distinct": _Kind("l", ("height", "k")),
    "l-entropy": _Kind("l", ("height", "k")),
    "l-frequency": _Kind("l", ("height", "k")),
    "t": _Kind("t", ("height", "k")),
    "t-ordered": _Kind("t", ("height", "k")),
    "quad": _Kind("epsilon", ("height", "levels")),
    "kd": _Kind("epsilon", ("height", "levels")),
    "hybrid": _Kind("epsilon", ("height", "levels")),
    "cell": _Kind("epsilon", ("height", "levels")),
    "exponential": _Kind("epsilon", ()),
}
"""Every scheme by name: k-anonymity, l-diversity (recursive with c = 1 by default), t-closeness, private trees, and the
recommended preset at another epsilon."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scheme:
    """One scheme with its parameter.

    Attributes
    ----------
    name : str
        One of `SCHEMES`.
    value : float
        k, l, t, or epsilon.
    height : int or None
        Most cuts above a leaf; None lets a syntactic tree grow as far as its test allows.
    k : int or None
        Least workers of a leaf, besides the scheme's own test.
    levels : str
        How a private tree divides epsilon among its levels.
    """

    name: str
    value: float
    height: int | None = None
    k: int | None = None
    levels: Levels = "leaf"

    @property
    def is_tree(self) -> bool:
        """Whether it is a tree of boxes with counts; otherwise it is a release."""
        return "height" in SCHEMES[self.name].options

    @property
    def is_private(self) -> bool:
        """Whether it is a differentially private tree."""
        return self.is_tree and SCHEMES[self.name].parameter == "epsilon"

    @property
    def kind(self) -> PrivateTreeKind:
        """Which private tree it is; only for private trees."""
        return cast(PrivateTreeKind, self.name)

    @property
    def family(self) -> str:
        """The scheme without its value, with the options that differ from the defaults: one line of the trade-off."""
        return ":".join([self.name, *self._options])

    @property
    def label(self) -> str:
        """The scheme as it is written on the command line, with the options that differ from the defaults."""
        # repr keeps every digit, so that two values never share a label.
        return ":".join([f"{self.name}={repr(self.value).removesuffix('.0')}", *self._options])

    @property
    def _options(self) -> list[str]:
        shown = []
        if self.height is not None and not (self.is_private and self.height == DEFAULT_HEIGHT):
            shown.append(f"height={self.height}")
        if self.k is not None and not (self.name.startswith("t") and self.k == _DEFAULT_K):
            shown.append(f"k={self.k}")
        if self.levels != "leaf":
            shown.append(f"levels={self.levels}")
        return shown

    def require_feasible(self, n_values: int, n_cells: int, what: str) -> None:
        """Refuse the scheme for a question.

        Parameters
        ----------
        n_values : int
            Number of answers.
        n_cells : int
            Product of the numbers of codes of the question's attributes.
        what : str
            What is asked for.

        Raises
        ------
        UsageError
            l is above the number of values, or a tree or a grid would be too large.
        """
        if SCHEMES[self.name].parameter == "l" and self.value > n_values:
            raise UsageError(
                f"--against {self.label}: {what} has only {n_values} values, so no group can be that diverse; give an "
                f"l of at most {n_values}"
            )
        if self.is_private and self.height is not None:
            try:
                require_room(self.kind, self.height, n_values, n_cells)
            except ParameterError as error:
                raise UsageError(f"--against {self.label}: for {what}, {error}") from None


def read_schemes(specs: tuple[str, ...]) -> list[Scheme]:
    """Read `--against` options; a scheme that is given twice is one scheme.

    Raises
    ------
    UsageError
        A scheme or an option is unknown, or a value is outside its range.
    """
    return list(dict.fromkeys(scheme for spec in specs for scheme in _read(spec)))


def _read(spec: str) -> list[Scheme]:
    head, *tail = spec.split(":")
    name, equals, values = head.partition("=")
    if name not in SCHEMES:
        raise UsageError(f"--against {spec}: {name!r} is not a scheme; the schemes are {', '.join(SCHEMES)}")
    if not equals or not values:
        raise UsageError(f"--against {spec}: give a value, such as {name}={_example(name)}")
    options = dict(_option(spec, name, option) for option in tail)
    kind = SCHEMES[name]
    height = _read_whole(spec, "height", options["height"], _MOST_HEIGHT, 0) if "height" in options else None
    if height is None and "levels" in kind.options:
        height = DEFAULT_HEIGHT
    k = _read_whole(spec, "k", options["k"], _MOST_WHOLE, 1) if "k" in options else None
    if k is None and kind.parameter == "t":
        k = _DEFAULT_K
    levels = options.get("levels", "leaf")
    if levels not in get_args(Levels):
        raise UsageError(f"--against {spec}: levels is {levels!r}; give one of {', '.join(get_args(Levels))}")
    return [
        Scheme(
            name=name,
            value=_value(spec, name, text),
            height=height,
            k=k,
            levels=cast(Levels, levels),
        )
        for text in values.split(",")
    ]


def _example(name: str) -> str:
    return {"k": "8", "l": "3", "t": "0.3", "epsilon": "1"}[SCHEMES[name].parameter]


def _option(spec: str, name: str, text: str) -> tuple[str, str]:
    option, _, value = text.partition("=")
    allowed = SCHEMES[name].options
    if option not in allowed:
        takes = f"it takes {', '.join(allowed)}" if allowed else "it takes none"
        raise UsageError(f"--against {spec}: {name} has no option {option!r}; {takes}")
    return option, value


def _value(spec: str, name: str, text: str) -> float:
    parameter = SCHEMES[name].parameter
    if name in _WHOLE_VALUES:
        return float(_read_whole(spec, parameter, text, _MOST_WHOLE, 1))
    try:
        value = float(exact_fraction(text, parameter))
    except (ParameterError, OverflowError):
        raise UsageError(f"--against {spec}: {parameter} is {text!r}; give a number") from None
    if parameter == "l" and value < 1:
        raise UsageError(f"--against {spec}: l is {text}; give a number of at least 1")
    if parameter == "t" and not 0 <= value <= 1:
        raise UsageError(f"--against {spec}: t is {text}; give a distance from 0 to 1")
    if parameter == "epsilon" and value <= 0:
        raise UsageError(f"--against {spec}: epsilon is {text}; give a number above 0")
    if name == "exponential":
        try:
            exponential_epsilon(text)
        except ParameterError as error:
            raise UsageError(f"--against {spec}: {error}") from None
    return value


def _read_whole(spec: str, option: str, text: str, most: int, least: int) -> int:
    refusal = UsageError(
        f"--against {spec}: {option} is {text!r}; give a whole number from {least} to {most:,}"
    )
    try:
        value = int(text)
    except ValueError:
        raise refusal from None
    if not least <= value <= most:
        raise refusal
    return value
