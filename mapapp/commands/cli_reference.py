"""docs/cli.md, which `make docs` generates from the commands."""

from __future__ import annotations

import click

HEAD = """# Command line

`make docs` generates this page from the program; a test checks that it is current.

Exit codes: 0 success; 2 an error that the user can fix, reported in one line on standard error; 70 a bug in the
program; 74 standard output cannot be written, because its reader has closed it (`| head`), its disk is full, or it was
closed: one line says so, and which files are complete; 130 stopped with Ctrl-C, 143 by SIGTERM, 129 by SIGHUP (a closed
terminal, unless `nohup` ignores it). Commands never overwrite a file. A command that fails, is stopped, or is killed
leaves no half-written file under the name it was given. A command that ends early after a dataset's ledger was charged
says what was charged.
"""


def reference(commutemap: click.Group) -> str:
    """Return the reference of all commands as Markdown."""
    context = click.Context(commutemap, info_name="commutemap", **commutemap.context_settings)
    parts = [HEAD, _section(commutemap, context)]
    for name in sorted(commutemap.commands):
        command = commutemap.commands[name]
        parts.append(_section(command, click.Context(command, info_name=name, parent=context)))
    return "\n".join(parts)


def _section(command: click.Command, context: click.Context) -> str:
    context.max_content_width = context.terminal_width = 110
    return f"## {context.command_path}\n\n```text\n{command.get_help(context).rstrip()}\n```\n"
