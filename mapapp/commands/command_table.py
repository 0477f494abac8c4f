"""The commands by name. Each is imported when it is first used, so that one command does not wait for all others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, MutableMapping
from importlib import import_module
from keyword import iskeyword
from typing import cast

import click


class CommandTable(MutableMapping[str, click.Command]):
    """Commands that have a module of their own in this package, named after them.

    Parameters
    ----------
    names : iterable of str
        A name that is a keyword of Python, such as `import`, has an underscore after it in the module.
    """

    def __init__(self, names: Iterable[str]) -> None:
        self._commands: dict[str, click.Command | None] = dict.fromkeys(names)

    def __getitem__(self, name: str) -> click.Command:
        command = self._commands[name]
        if command is None:
            place = f"{name}_" if iskeyword(name) else name
            command = cast("click.Command", getattr(import_module(f"{__package__}.{place}"), place))
            self._commands[name] = command
        return command

    def __setitem__(self, name: str, command: click.Command) -> None:
        self._commands[name] = command

    def __delitem__(self, name: str) -> None:
        del self._commands[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._commands)

    def __len__(self) -> int:
        return len(self._commands)
