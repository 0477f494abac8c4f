"""The help of all commands as one page, which `make docs` writes."""

from __future__ import annotations

import click


def reference(commutemap: click.Group) -> str:
    """Return the reference of all commands as Markdown."""
    context = click.Context(commutemap, info_name="commutemap", **commutemap.context_settings)
    parts = ["# Command line\n", _section(commutemap, context)]
    for name in sorted(commutemap.commands):
        command = commutemap.commands[name]
        parts.append(_section(command, click.Context(command, info_name=name, parent=context)))
    return "\n".join(parts)


def _section(command: click.Command, context: click.Context) -> str:
    context.max_content_width = context.terminal_width = 110
    return f"## {context.command_path}\n\n```text\n{command.get_help(context).rstrip()}\n```\n"
