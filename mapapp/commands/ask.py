"""`commutemap ask`: answer a question that is asked in a sentence."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from mapapp.base.errors import UsageError
from mapapp.base.progress import show_progress
from mapapp.commands.analyze import NOT_ASKED, form_of, open_releases, output_options, write_answers
from mapapp.commands.options import Option, config_option, quiet_option
from mapapp.commands.question import errors_option

if TYPE_CHECKING:
    from mapapp.answers.release import Release
    from mapapp.question.sentence.asked import Asked


@click.command()
@click.argument("arguments", nargs=-1, required=True, metavar="RELEASE... SENTENCE")
@errors_option(10)
@click.option("--explain", is_flag=True, help="Only say what was understood; compute no answer.")
@output_options
@quiet_option
@config_option
def ask(arguments: tuple[str, ...], **options: Option) -> None:
    """Answer a question about RELEASE that is asked in plain English.

    What was understood, and what was not, is printed to standard error, with the `analyze` command that gives the same
    answer. With several releases, name a year in the sentence, or compare: "… compared with 2018".

    \b
    Examples:
      commutemap ask ri.release "Where do low-wage workers of Providence live, by town?"
      commutemap ask ri.release "Who commutes from Cranston to Warwick, over 55"
      commutemap ask ri.release "jobs within 2 miles of 41.82, -71.41 by industry" --json
      commutemap ask ri-2018.release ri-2019.release "inflow of Newport in 2019 compared with 2018"
    """
    from mapapp.answers.areas.sentence_names import why_not_understood
    from mapapp.answers.asking import asked_in

    paths, sentence = _split(arguments)
    options |= NOT_ASKED
    form = form_of(options)
    with show_progress(quiet=options["quiet"]) as report:
        opened = open_releases(paths, report)
    asked = asked_in(opened[0], sentence)
    chosen, notes = _choose_years(opened, asked)
    _explain(asked, notes, [path for path, release in zip(paths, opened, strict=True) if release in chosen])
    if asked.is_empty:
        raise UsageError(why_not_understood(opened[0].areas))
    if not options["explain"]:
        options["change"] = asked.against_year is not None and len(chosen) == 2
        write_answers(form, chosen, asked.question, options)


def _split(arguments: tuple[str, ...]) -> tuple[tuple[Path, ...], str]:
    """Return the releases, which are the leading arguments that exist as files, and the sentence."""
    paths: list[Path] = []
    for argument in arguments:
        if not _is_there(argument):
            break
        paths.append(Path(argument))
    sentence = " ".join(arguments[len(paths) :])
    if not paths:
        raise UsageError(f"{arguments[0][:60]}: there is no such release; name one before the sentence")
    if not sentence.strip():
        raise UsageError(
            'the sentence is missing; put it in quotes behind the release, such as "Who works in Newport?"'
        )
    return tuple(paths), sentence


def _is_there(argument: str) -> bool:
    try:
        return Path(argument).exists()
    except OSError:  # too long to be the name of a file
        return False


def _choose_years(opened: list[Release], asked: Asked) -> tuple[list[Release], list[str]]:
    """Return the releases of the years that a sentence names, earlier first, and notes on those that are missing."""
    notes, chosen = [], []
    have = ", ".join(map(str, sorted({release.year or 0 for release in opened})))
    for year in (asked.against_year, asked.year):
        if year is None:
            continue
        of_year = [release for release in opened if release.year == year]
        chosen += of_year[:1]
        if not of_year:
            notes.append(f"No release of {year} was given; the year is {have}.")
    if asked.against_year is not None and asked.year is None and chosen:
        chosen += [release for release in opened if release not in chosen][-1:]
    return chosen or opened, notes


def _explain(asked: Asked, notes: list[str], paths: list[Path]) -> None:
    """Print what was understood to standard error."""
    from shlex import join

    from mapapp.question.options import options_of

    if asked.understood:
        click.echo(f"understood: {' · '.join(mention.label for mention in asked.understood)}", err=True)
    for note in (*asked.notes, *notes):
        click.echo(f"note: {note}", err=True)
    for words in asked.unknown:
        click.echo(f"note: “{words[:60]}” was not understood and was left out.", err=True)
    same = None if asked.is_empty else options_of([asked.question])
    if same is not None:
        click.echo(f"same: {join(['commutemap', 'analyze', *map(str, paths), *same])}", err=True)
