"""`commutemap attack`: what a published table with suppressed cells gives away."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from mapapp.commands.options import json_option, print_result, quiet_option
from mapapp.commands.whole_file import whole_file
from mapapp.errors import UsageError
from mapapp.progress import show_progress

if TYPE_CHECKING:
    from engine.suppression.ordinary import Rule
    from engine.suppression.tables_given import GivenTable

_FILE: Final = click.Path(path_type=Path, dir_okay=False)
_RANGE: Final = re.compile(r"(\d{1,12})\.\.(\d{1,12})")


@click.command()
@click.argument("table", type=_FILE)
@click.option(
    "--rule",
    "rule_text",
    default=None,
    metavar="LOW..HIGH",
    help="The values that the publisher suppresses, such as 0..5.",
)
@click.option(
    "--complementary",
    type=click.Choice(["fewest", "none"]),
    default="fewest",
    show_default=True,
    help="Whether the publisher also suppresses the fewest further cells so that totals do not give those values away.",
)
@click.option(
    "--ties",
    type=click.Choice(["any", "first"]),
    default="any",
    show_default=True,
    help="How the publisher chooses among equally few cells: in an unknown way, or the first choice row by row.",
)
@click.option(
    "--know",
    multiple=True,
    metavar="ROW,COLUMN=NUMBER",
    help="Something else that is known about a cell; <= and >= work, too. Repeat it for several cells.",
)
@click.option(
    "--people",
    "people_path",
    type=_FILE,
    default=None,
    metavar="FILE.csv",
    help="How many people each cell has, as a table with the same labels: no count can be larger.",
)
@click.option(
    "--csv",
    "csv_path",
    type=_FILE,
    default=None,
    metavar="FILE.csv",
    help="Also write one line per suppressed cell to a new file.",
)
@click.option(
    "--seconds",
    type=click.IntRange(min=1, max=86_400),
    default=60.0,
    show_default=True,
    help="Time for tables that are too large to list, for totals and again for the rule.",
)
@json_option
@quiet_option
def attack(
    table: Path,
    rule_text: str | None,
    complementary: str,
    ties: str,
    know: tuple[str, ...],
    people_path: Path | None,
    csv_path: Path | None,
    seconds: int,
    as_json: bool,
    quiet: bool,
) -> None:
    """Say what follows from a published TABLE in which some cells are suppressed.

    TABLE is a CSV file. Its first row and first column are labels, a suppressed cell is *, and a row or column of
    totals is labeled Total. The output has the values that each suppressed cell can have, first from totals alone, then
    with the rule that chose the cells, and how they follow. Nothing is written unless you ask for it. docs/attack.md
    explains the method. The exit code is 2 if no table agrees with the totals, or none gets these stars by the rule.

    \b
    Examples:
      commutemap attack table.csv
      commutemap attack table.csv --rule 0..5
      commutemap attack table.csv --rule 0..5 --know "not blue,brown=100"
    """
    from engine.suppression.attack import attack_table
    from engine.suppression.tables_given import ContradictionError
    from geodata.store import refuse_existing
    from mapapp.measuring.attack.files import attack_result, write_attack_csv
    from mapapp.measuring.attack.words import attack_lines

    rule = _rule(rule_text, complementary, ties)
    if csv_path is not None:
        refuse_existing(csv_path)
    given = _given(table, know, people_path)
    try:
        with show_progress(quiet=quiet) as report:
            found = attack_table(given, rule, seconds=seconds, progress=report)
    except ContradictionError as error:
        raise UsageError(f"{table}: {error}") from error
    if csv_path is not None:
        with whole_file(csv_path, binary=False) as stream:
            write_attack_csv(found, stream)
    print_result(attack_result(found, str(table)), attack_lines(found, str(table)), as_json=as_json)


def _rule(text: str | None, complementary: str, ties: str) -> Rule | None:
    from engine.suppression.ordinary import Rule

    if text is None:
        if complementary != "fewest" or ties != "any":
            raise UsageError(
                "--complementary and --ties belong to a rule; add --rule LOW..HIGH, such as --rule 0..5"
            )
        return None
    found = _RANGE.fullmatch(text.strip())
    if found is None:
        raise UsageError(f"--rule {text!r}: give LOW..HIGH with whole numbers, such as 0..5")
    return Rule(
        low=int(found[1]),
        high=int(found[2]),
        complementary="none" if complementary == "none" else "fewest",
        ties="first" if ties == "first" else "any",
    )


def _given(table: Path, know: tuple[str, ...], people_path: Path | None) -> GivenTable:
    from mapapp.measuring.attack.knowledge import with_knowledge
    from mapapp.measuring.attack.table_file import read_people, read_table

    given = read_table(table)
    if people_path is not None:
        given = given.with_most(read_people(people_path, given))
    return with_knowledge(given, know)
