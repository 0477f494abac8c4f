"""Every command is documented, has an example, and docs/cli.md is what the program says."""

from pathlib import Path

import click
import pytest

from mapapp.commands.cli import commutemap
from mapapp.commands.cli_reference import reference

DOCUMENT = Path(__file__).parents[2] / "docs" / "cli.md"


def test_the_document_is_up_to_date() -> None:
    assert DOCUMENT.read_text(encoding="utf-8") == reference(commutemap), "run `make docs`"


@pytest.mark.parametrize("name", sorted(commutemap.commands))
def test_every_command_has_an_example_and_every_option_help(name: str) -> None:
    command = commutemap.commands[name]
    assert "Example" in (command.help or "")
    for parameter in command.params:
        if isinstance(parameter, click.Option):
            assert parameter.help, f"{name}: {parameter.name} has no help"
