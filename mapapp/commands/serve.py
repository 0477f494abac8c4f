"""`commutemap serve`, and what `commutemap` alone does: the public map of one or more releases."""

from __future__ import annotations

import socket
from pathlib import Path

import click

from mapapp.commands.options import STORE, config_option
from mapapp.errors import UsageError

DEFAULT_PORT = 8050


@click.command()
@click.argument("releases", type=STORE, nargs=-1, required=True)
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=DEFAULT_PORT,
    show_default=True,
    help="0 takes a free one.",
)
@config_option
def serve(releases: tuple[Path, ...], host: str, port: int) -> None:
    """Serve the public map of RELEASES. Datasets are refused: they hold confidential counts.

    \b
    Example:
      commutemap serve ri.release --port 8080
    """
    _serve(list(releases), host, port)


def serve_demo(*, port: int | None) -> None:
    """Build the demo release if there is none, then serve it."""
    from mapapp.demo_release import demo_release
    from mapapp.progress import shown

    with shown() as report:
        release = demo_release(report)
    _serve([release], "127.0.0.1", _free_port() if port is None else port)


def _serve(releases: list[Path], host: str, port: int) -> None:
    from mapapp.server import create_app, listen

    app = create_app(releases)
    try:
        server, address = listen(app, host, port)
    except OSError as error:
        raise UsageError(
            f"cannot listen on {host}:{port} ({error.strerror}); choose another with --port, 0 takes a free one"
        ) from error
    click.echo(f"CommuteMap is at {address} (stop with ctrl-C)")
    server.run()


def _free_port() -> int:
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", DEFAULT_PORT))
        except OSError:
            return 0
    return DEFAULT_PORT
