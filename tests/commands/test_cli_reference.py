"""Every command has an example, and every option has help: `make docs` makes its page from these."""

import click
import pytest

from mapapp.commands.cli import commutemap


@pytest.mark.parametrize("name", sorted(commutemap.commands))
def test_every_command_has_an_example_and_every_option_help(name: str) -> None:
    command = commutemap.commands[name]
    assert "Example" in (command.help or "")
    for parameter in command.params:
        if isinstance(parameter, click.Option):
            assert parameter.help, f"{name}: {parameter.name} has no help"
