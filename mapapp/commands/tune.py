"""`commutemap tune`: the analyst's workbench over a confidential dataset."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import click

from mapapp.commands.options import STORE, config_option
from mapapp.errors import UsageError

DEFAULT_PORT = 8051


@click.command()
@click.argument("dataset", type=STORE)
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--expose",
    is_flag=True,
    help="Allow a --host that other machines can reach: whoever connects sees confidential counts.",
)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=DEFAULT_PORT,
    show_default=True,
    help="0 takes a free one.",
)
@config_option
def tune(dataset: Path, host: str, expose: bool, port: int) -> None:
    """Open the workbench of a confidential DATASET: what a setting costs, before anything is published.

    It listens on this machine only, and keeps nothing. What it shows is computed from real homes: not for publication.

    \b
    Example:
      commutemap tune ri.dataset --port 8052
    """
    from mapapp.workbench.app import create_app, listen

    app = create_app(dataset, host=host, exposed=expose)
    try:
        server, address = listen(app, host, port)
    except OSError as error:
        raise UsageError(
            f"cannot listen on {host}:{port} ({error.strerror}); choose another with --port, 0 takes a free one"
        ) from error
    if expose:
        click.echo("Other machines may connect, and see confidential counts.", err=True)
    with suppress(KeyboardInterrupt):  # which may come before the server itself has begun to handle it
        click.echo(f"The workbench is at {address} (confidential; stop with ctrl-C)")
        server.run()
