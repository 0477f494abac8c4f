"""`commutemap attack`: what published tables with suppressed cells give away."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from mapapp.base.errors import UsageError
from mapapp.base.progress import show_progress
from mapapp.base.whole_files import whole_file
from mapapp.commands.options import Option, json_option, print_result, quiet_option

if TYPE_CHECKING:
    from engine.suppression.attack.linked_tables import LinkedTables
    from engine.suppression.attack.ordinary import Rule
    from mapapp.analyst.attack.cell_text import Conventions
    from mapapp.analyst.attack.subtotals import How

_FILE: Final = click.Path(path_type=Path, dir_okay=False)
_RANGE: Final = re.compile(r"(\d{1,12})\.\.(\d{1,12})")


@click.command()
@click.argument("tables", type=_FILE, nargs=-1, required=True)
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
    help="Something else that is known about a cell; <= and >= work, too. Repeat it for several cells. Of several "
    "tables, begin with the name of one: TABLE:ROW,COLUMN=NUMBER.",
)
@click.option(
    "--link",
    "links",
    multiple=True,
    metavar="CELL=CELLS",
    help="How several tables are linked, such as 'a:North,low = b:North,low + b:North,middle', where a and b are the "
    "names of the files. TABLE:ROW links a row in all columns that the tables share, TABLE:,COLUMN a column. By "
    "default, cells with the same labels in two tables are one number. Repeat it for more links.",
)
@click.option(
    "--people",
    "people_paths",
    type=_FILE,
    multiple=True,
    metavar="FILE.csv",
    help="How many people each cell has, as a table with the same labels: no count can be larger. Repeat it for "
    "several tables, in their order.",
)
@click.option(
    "--mark",
    "marks",
    multiple=True,
    metavar="TEXT",
    help="Another text of a suppressed cell, such as -. Marks that mean nothing else, such as (D), c, x, and .., are "
    "known. Repeat it for more.",
)
@click.option("--zero", "zeros", multiple=True, metavar="TEXT", help="Another text of zero, such as -.")
@click.option(
    "--shown",
    "shown_flags",
    multiple=True,
    metavar="TEXT",
    help="A flag, in a column of flags after a column of counts, of a count that is as published, such as e.",
)
@click.option(
    "--range",
    "ranges",
    multiple=True,
    metavar="TEXT=LOW..HIGH",
    help="The values that a mark stands for, such as A=1..9. Cells such as 1-9 and <5 are ranges by themselves.",
)
@click.option(
    "--thousands",
    type=click.Choice([",", ".", "'", "space"]),
    default=None,
    help="What separates thousands, where it could also begin a fraction, such as in 1.234.",
)
@click.option(
    "--rounded",
    default="",
    metavar="NUMBER",
    help="Counts and totals are each rounded to the nearest multiple of this, such as 5; random:5 if up or down "
    "at random.",
)
@click.option(
    "--subtotals",
    default=None,
    metavar="HOW",
    help="Which rows are sums of others: indent, code (a code that begins with another is a part), level=COLUMN or "
    "parent=COLUMN (a column of the table says), or none. By default, indentation and codes are believed if the "
    "numbers bear them out.",
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
    tables: tuple[Path, ...],
    rule_text: str | None,
    complementary: str,
    ties: str,
    csv_path: Path | None,
    seconds: int,
    as_json: bool,
    quiet: bool,
    **options: Option,
) -> None:
    """Say what follows from published TABLES in which some cells are suppressed.

    Each of TABLES is a CSV file. Its first row and first column are labels, a suppressed cell is *, and a row or column
    of totals is labeled Total. The output has the values that each suppressed cell can have, first from totals alone,
    then with the rule that chose the cells, and how they follow. Several tables that share cells or totals are attacked
    together. Nothing is written unless you ask for it. docs/attack.md explains the method. The exit code is 2 if no
    table agrees with the totals, if tables contradict each other, or if none gets these stars by the rule.

    \b
    Examples:
      commutemap attack table.csv
      commutemap attack table.csv --rule 0..5
      commutemap attack table.csv --rule 0..5 --know "not blue,brown=100"
      commutemap attack by-industry.csv by-age.csv --rule 0..5
      commutemap attack by-sector.csv --subtotals indent
      commutemap attack towns.csv counties.csv --link "counties:Kent = towns:Warwick + towns:Coventry"
    """
    from engine.suppression.attack.attack import attack_linked
    from engine.suppression.tables_given import ContradictionError
    from geodata.store.store import refuse_existing
    from mapapp.analyst.attack.files import attack_result, linked_result, write_attack_csv
    from mapapp.analyst.attack.subtotals import how_of
    from mapapp.analyst.attack.words import attack_lines

    rule = _rule(rule_text, complementary, ties)
    if csv_path is not None:
        refuse_existing(csv_path)
    titles = [str(path) for path in tables]
    conventions = _conventions(options)
    linked = _read_tables(
        tables,
        options["know"],
        options["links"],
        options["people_paths"],
        conventions=conventions,
        how=how_of(options["subtotals"]),
    )
    if rule is not None and conventions.subtotals:
        raise UsageError(
            f"--rule {rule_text}: rows are sums of others, and the rule is for tables with one row of totals; leave it "
            "out"
        )
    if rule is not None and conventions.has_ranges:
        raise UsageError(
            f"--rule {rule_text}: the tables have ranges or rounded counts, which no rule for stars explains; "
            "leave it out"
        )
    try:
        with show_progress(quiet=quiet) as report:
            attacks = attack_linked(linked, rule, seconds=seconds, progress=report)
    except ContradictionError as error:
        raise UsageError(f"{' and '.join(titles)}: {error}") from error
    if csv_path is not None:
        with whole_file(csv_path, binary=False) as stream:
            write_attack_csv(attacks, stream)
    is_one = len(titles) == 1
    result = attack_result(attacks[0], titles[0]) if is_one else linked_result(attacks, titles)
    result["read_as"] = conventions.read_as()
    result["subtotals"] = conventions.subtotals
    lines = attack_lines(attacks, titles, _how_linked(linked, options["links"]))
    print_result(result, [*conventions.lines(), *lines], as_json=as_json)


def _rule(text: str | None, complementary: str, ties: str) -> Rule | None:
    from engine.suppression.attack.ordinary import Rule

    if text is None:
        if complementary != "fewest" or ties != "any":
            raise UsageError(
                "--complementary and --ties belong to a rule; add --rule LOW..HIGH, such as --rule 0..5"
            )
        return None
    match = _RANGE.fullmatch(text.strip())
    if match is None:
        raise UsageError(f"--rule {text!r}: give LOW..HIGH with whole numbers, such as 0..5")
    return Rule(
        low=int(match[1]),
        high=int(match[2]),
        complementary="none" if complementary == "none" else "fewest",
        ties="first" if ties == "first" else "any",
    )


def _conventions(options: dict[str, Option]) -> Conventions:
    from mapapp.analyst.attack.cell_text import conventions_of

    return conventions_of(
        options["marks"],
        options["zeros"],
        options["ranges"],
        options["thousands"] or "",
        options["rounded"],
        options["shown_flags"],
    )


def _read_tables(
    paths: tuple[Path, ...],
    know: tuple[str, ...],
    links: tuple[str, ...],
    people_paths: tuple[Path, ...],
    *,
    conventions: Conventions,
    how: How,
) -> LinkedTables:
    from engine.suppression.attack.linked_tables import Link, LinkedTables
    from engine.suppression.tables_given import GivenTable
    from mapapp.analyst.attack.labels import (
        add_knowledge_to_tables,
        link_as_said,
        link_by_labels,
        table_names,
    )
    from mapapp.analyst.attack.table_file import read_people, read_table

    repeated = next((path for path in paths if paths.count(path) > 1), None)
    if repeated is not None:
        raise UsageError(f"{repeated}: given twice; give each table once")
    if len(people_paths) > len(paths):
        raise UsageError(f"--people {people_paths[-1]}: give one for each table at most")
    if links and len(paths) == 1:
        raise UsageError(f"--link {links[0]!r}: a link joins two tables; give another table")
    tables, sums = list[GivenTable](), list[Link]()
    for number, path in enumerate(paths):
        table, subtotals = read_table(path, conventions, how)
        tables.append(table)
        if subtotals is not None:
            sums += subtotals.links(number, table.values.shape[1])
            conventions.subtotals.append(subtotals.words)
    for number, path in enumerate(people_paths):
        tables[number] = tables[number].add_limits(read_people(path, tables[number]))
    names = table_names(paths)
    tables = add_knowledge_to_tables(tables, names, know)
    if len(tables) == 1:
        linked = LinkedTables.of(tables[0])
    else:
        linked = link_as_said(tables, names, links) if links else link_by_labels(tables, names)
    return replace(linked, links=(*linked.links, *sums))


def _how_linked(linked: LinkedTables, said: tuple[str, ...]) -> str:
    """How several tables are linked, in a sentence."""
    if len(linked.tables) == 1:
        return ""
    between = [link for link in linked.links if not link.is_within_one_table]
    n, example = len(between), linked.link_name(between[0])
    if said:
        return f"Linked as you say: {n:,} {'equation' if n == 1 else 'equations'}, such as {example}."
    return (
        f"Linked by labels: {n:,} {'number is' if n == 1 else 'numbers are'} taken to be the same where row and column "
        f"labels are, such as {example}. If that is wrong, say with --link what is."
    )
