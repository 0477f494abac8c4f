"""A command imports its own module and what it needs, and nothing of the other commands."""

from __future__ import annotations

import subprocess
import sys

import pytest

from mapapp.commands.cli import COMMANDS, CommandTable

UNUSED = ("dash", "geopandas", "matplotlib", "mapapp.question.fields", "scipy.optimize", "scipy.special")
CODE = f"""
import sys
from mapapp.commands import cli

cli.run(["synthesize", "--help"])
import mapapp.kinds.release.make.run, mapapp.kinds.release.make.settings
names = [f"mapapp.commands.{{name}}" for name in cli.COMMANDS if name != "synthesize"]
print([name for name in (*names, *{UNUSED}) if name in sys.modules])
"""


def test_a_synthesis_starts_without_what_other_commands_need() -> None:
    output = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=True).stdout
    assert output.splitlines()[-1] == "[]"


def test_an_import_starts_without_what_a_synthesis_compiles() -> None:
    loaded = "mapapp.commands.cli, mapapp.commands.import_, geodata.importing.importing"
    code = f"import sys, {loaded}; print('numba' in sys.modules)"
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert output == "False\n"


def test_a_table_of_commands_is_a_mapping() -> None:
    table = CommandTable(["import", "demo"])
    assert list(table) == ["import", "demo"]
    assert table["import"] is COMMANDS["import"]
    assert table["import"].name == "import"
    table["again"] = table["demo"]
    assert len(table) == 3
    del table["again"]
    assert "again" not in table
    with pytest.raises(KeyError):
        table["again"]
