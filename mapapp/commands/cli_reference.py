"""docs/cli.md, written from the commands themselves by `make docs`."""

from __future__ import annotations

import click

HEAD = """# Command line

Written by `make docs` from the program itself; a test compares the two.

Exit codes: 0 done; 2 something the user can mend, said in one line on standard error; 70 a bug of the program;
130 stopped with ctrl-C, 143 by SIGTERM, 129 by SIGHUP (a closed terminal, unless `nohup` ignores it). Nothing is ever
overwritten, and a command that fails, is stopped or is killed leaves nothing half-written under the name it was given.
"""


def reference(commutemap: click.Group) -> str:
    """The reference of all commands as Markdown."""
    context = click.Context(commutemap, info_name="commutemap", **commutemap.context_settings)
    parts = [HEAD, _section(commutemap, context)]
    for name in sorted(commutemap.commands):
        command = commutemap.commands[name]
        parts.append(_section(command, click.Context(command, info_name=name, parent=context)))
    return "\n".join(parts)


def _section(command: click.Command, context: click.Context) -> str:
    context.max_content_width = context.terminal_width = 110
    return f"## {context.command_path}\n\n```text\n{command.get_help(context).rstrip()}\n```\n"
