"""`commutemap tune`: the analyst's workbench for a confidential dataset."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import click

from mapapp.base.errors import UsageError
from mapapp.base.progress import show_progress
from mapapp.commands.declared_options import declared_options
from mapapp.commands.options import STORE, config_option
from mapapp.kinds.release.make.margin_options import ShownMargins

DEFAULT_PORT = 8051


@click.command()
@click.argument("dataset", type=STORE)
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--expose",
    is_flag=True,
    help="Allow a --host that other machines can reach. Anyone who connects can see confidential counts.",
)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=DEFAULT_PORT,
    show_default=True,
    help="Port to listen on; 0 picks a free one.",
)
@declared_options(margins=ShownMargins)
@config_option
def tune(dataset: Path, host: str, expose: bool, port: int, margins: ShownMargins) -> None:
    """Open the workbench of a confidential DATASET, to see what a setting costs before publishing.

    It starts from the setting of `synthesize` without options: the recommended preset, with radii chosen from public
    data. --segments and --workplaces hold for every release that it measures and publishes. It listens on this machine
    only and saves nothing. Do not publish what it shows: it is computed from real homes.

    \b
    Examples:
      commutemap tune ri.dataset --port 8052
      commutemap tune ri.dataset --segments age --workplaces tract
    """
    from mapapp.analyst.workbench.app import create_app, listen

    with show_progress() as report:
        app = create_app(dataset, host=host, exposed=expose, margins=margins, report=report)
    try:
        server, address = listen(app, host, port)
    except OSError as error:
        raise UsageError(
            f"cannot listen on {host}:{port} ({error.strerror}); choose another port with --port, or 0 for a free one"
        ) from error
    if expose:
        click.echo("Other machines can connect and see confidential counts.", err=True)
    with suppress(KeyboardInterrupt):  # it may arrive before the server handles it
        click.echo(f"The workbench is at {address} (confidential; stop with Ctrl-C)")
        server.run()
