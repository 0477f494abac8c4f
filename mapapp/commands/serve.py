"""`commutemap serve`, and `commutemap` without a command: serve the public map of releases and tables."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, Unpack

import click

import mapapp
from mapapp.answers.release_names import preset_words
from mapapp.base.errors import UsageError
from mapapp.base.paths import data_home
from mapapp.commands.options import STORE, config_option
from mapapp.commands.standard_streams import OutputError
from mapapp.explore.background import run_in_background
from mapapp.explore.listener.limits import DEFAULT_LIMITS, Limits
from mapapp.explore.listener.proxies import TrustedProxies
from mapapp.explore.processes import MOST_PROCESSES
from mapapp.kinds.release.make.options import DEFAULT_PRESET, PRESETS, Preset

if TYPE_CHECKING:
    from dash import Dash

    from mapapp.explore.web_app import ListenOptions
    from mapapp.kinds.release.make.demo import Demo


# Make a publication in a process of its own, behind a server that is running already.


def build_behind(
    arguments: Sequence[str], *, done: Callable[[], object], failed: Callable[[str], object]
) -> None:
    """Start a command that makes a publication of the demo; it ends with this process.

    The confidential dataset and the key are in the memory of the other process only.

    Parameters
    ----------
    arguments : sequence of str
        The command and its arguments.
    done : callable
        Called on another thread when the publication has been made.
    failed : callable
        Called instead, with what the command said, if it ended otherwise; not called when this process ends first.
    """
    path = (str(Path(mapapp.__file__).parents[1]), os.environ.get("PYTHONPATH"))
    process = subprocess.Popen(
        [sys.executable, "-m", "mapapp.commands.cli", *arguments, "--quiet"],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, path))},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,  # Ctrl-C reaches the server alone, which then ends this process
    )
    stopping = threading.Event()

    def follow() -> None:
        _, said = process.communicate()
        if stopping.is_set():
            return
        if process.returncode == 0:
            done()
        else:
            failed(" ".join(said.split()).removeprefix("commutemap: ") or f"exit code {process.returncode}")

    def stop() -> None:
        stopping.set()
        process.terminate()

    run_in_background(follow, stop=stop)


DEFAULT_PORT = 8050
_HOST_NAME: Final = re.compile(r"[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\]")
_ORIGIN: Final = re.compile(
    r"https?://(?:\*\.)?(?:[a-z0-9_-]+(?:\.[a-z0-9_-]+)*|\[[0-9a-f:.]+\])(?::\d{1,5})?"
)
_PREFIX: Final = re.compile(r"/(?:[A-Za-z0-9_-][A-Za-z0-9._-]*/)*")


@click.command()
@click.argument("publications", type=STORE, nargs=-1, required=True)
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=DEFAULT_PORT,
    show_default=True,
    help="Port to listen on; 0 picks a free one.",
)
@click.option(
    "--prefix",
    default="/",
    show_default=True,
    callback=lambda _context, _option, text: _prefix(text),
    help="URL path of the map, such as /map/.",
)
@click.option(
    "--host-name",
    "host_names",
    multiple=True,
    metavar="NAME",
    callback=lambda _context, _option, names: tuple(_host_name(name) for name in names),
    help="Refuse requests for any other host name. Repeatable.  [default: any name]",
)
@click.option(
    "--trusted-proxy",
    "trusted_proxies",
    multiple=True,
    metavar="ADDRESS",
    callback=lambda _context, _option, texts: TrustedProxies(texts) and texts,
    help="IP address or network of a reverse proxy whose X-Forwarded headers are trusted. Repeatable.",
)
@click.option(
    "--embed-from",
    "embed_from",
    multiple=True,
    metavar="ORIGIN",
    callback=lambda _context, _option, texts: tuple(_origin(text) for text in texts),
    help="Site that may show the map in a frame, such as https://www.example.org. Repeatable.  [default: none]",
)
@click.option(
    "--connections-per-address",
    type=click.IntRange(min=1),
    default=DEFAULT_LIMITS.connections_per_address,
    show_default=True,
    help="Maximum open connections per client address; behind a trusted proxy, maximum simultaneous requests.",
)
@click.option(
    "--processes",
    type=click.IntRange(1, MOST_PROCESSES),
    default=1,
    show_default=True,
    help="Processes that compute answers. With more than one, another process listens, and shares answers among them.",
)
@config_option
def serve(
    publications: tuple[Path, ...],
    host: str,
    port: int,
    prefix: str,
    connections_per_address: int,
    processes: int,
    embed_from: tuple[str, ...],
    host_names: tuple[str, ...],
    trusted_proxies: tuple[str, ...],
) -> None:
    """Serve the public map of PUBLICATIONS: releases, worker records, and tables with suppressed cells.

    Datasets are refused because they contain confidential counts. A table, or worker records, of the same jobs as a
    release are named: the promise of the table does not account for the release, and beside it whole records are not
    protected.

    \b
    Examples:
      commutemap serve ri.release --port 8080
      commutemap serve ri.release --processes 4
      commutemap serve ri.release --prefix /map/ --trusted-proxy 127.0.0.1
      commutemap serve ri.release towns.table
      commutemap serve ri.records
    """
    limits = Limits(connections_per_address=connections_per_address)
    _serve(
        list(publications),
        host,
        port,
        prefix,
        embed_from,
        processes,
        limits=limits,
        host_names=host_names,
        trusted_proxies=trusted_proxies,
    )


def serve_publications(publications: Sequence[Path], *, port: int | None) -> None:
    """Serve publications on this machine alone; without a port, on the default one or any free one."""
    _serve(list(publications), "127.0.0.1", _free_port() if port is None else port, "/", (), 1)


def serve_demo(*, port: int | None) -> None:
    """Serve the demo with the default preset as soon as it is made, and add the others, which are made meanwhile."""
    from mapapp.base.progress import show_progress
    from mapapp.explore.server import create_app
    from mapapp.kinds.release.make.demo import Demo

    demo = Demo(data_home())
    with show_progress() as report:
        first = demo.make(DEFAULT_PRESET, report)
    others = [_Other("published counts", demo.published, ["demo", str(demo.published), "--published"])]
    others += [_other_release(demo, preset) for preset in PRESETS if preset != DEFAULT_PRESET]
    missing = [publication for publication in others if not publication.path.exists()]
    made = [publication.path for publication in others if publication.path.exists()]
    app = create_app([first, *made], awaited=[publication.named for publication in missing])

    def make_others() -> None:
        for publication in missing:
            _make_behind(app, publication)

    _listen(app, "127.0.0.1", _free_port() if port is None else port, meanwhile=make_others)


@dataclass(frozen=True, slots=True)
class _Other:
    """A publication of the demo that is made behind the map: a few words for it, its place, and what makes it."""

    named: str
    path: Path
    command: Sequence[str]


def _other_release(demo: Demo, preset: Preset) -> _Other:
    """A release on one thread, so that the server keeps the other processors."""
    path = demo.release(preset)
    command = ["synthesize", str(demo.dataset), str(path), "--preset", preset, "--threads", "1"]
    return _Other(preset_words(preset), path, command)


def _make_behind(app: Dash, publication: _Other) -> None:
    """Make a publication of the demo behind the server, which then serves it, too."""
    from mapapp.explore.server import add_release, await_no_more

    named = f"The demo with the {publication.named}"

    def done() -> None:
        add_release(app, publication.path, awaited=publication.named)
        _say(f"{named} is ready: choose it under Release, or compare the two")

    def failed(reason: str) -> None:
        await_no_more(app, publication.named)
        _say(f"{named} could not be made ({reason}); the map goes on without it")

    _say(f"{named} is being made behind the map, to compare with")
    build_behind(publication.command, done=done, failed=failed)


def _say(line: str) -> None:
    """Print a line whole, whatever another thread prints; the map goes on if nobody reads it any more."""
    with suppress(OutputError):
        sys.stdout.write(f"{line}\n")
        sys.stdout.flush()


def _serve(
    publications: list[Path],
    host: str,
    port: int,
    prefix: str,
    embed_from: Sequence[str],
    processes: int,
    **options: Unpack[ListenOptions],
) -> None:
    from mapapp.base.memory import keep_some_freed_memory
    from mapapp.explore.server import beside_lines, create_app

    keep_some_freed_memory()
    app = create_app(publications, prefix, embed_from=embed_from, processes=processes)
    for line in beside_lines(app):
        click.echo(line)
    _listen(app, host, port, **options)


def _listen(
    app: Dash,
    host: str,
    port: int,
    *,
    meanwhile: Callable[[], object] = lambda: None,
    **options: Unpack[ListenOptions],
) -> None:
    """Serve an app until it is stopped; `meanwhile` is called once its address is printed."""
    from mapapp.explore.server import listen

    try:
        server, address = listen(app, host, port, **options)
    except OSError as error:
        raise UsageError(
            f"cannot listen on {host}:{port} ({error.strerror}); choose another port with --port, or 0 for a free one"
        ) from error
    with suppress(KeyboardInterrupt):  # it may arrive before the server handles it
        click.echo(f"CommuteMap is at {address} (stop with Ctrl-C)")
        meanwhile()
        server.run()


def _prefix(text: str) -> str:
    """Return a prefix with a slash at both ends."""
    whole = f"/{text.strip('/')}/".replace("//", "/")
    if not _PREFIX.fullmatch(whole):
        raise UsageError(
            f"--prefix {text!r} is not a path; use letters, digits, '-', '_', '.' and '/', such as /map/"
        )
    return whole


def _host_name(text: str) -> str:
    if not _HOST_NAME.fullmatch(text):
        raise UsageError(
            f"--host-name {text!r} is not a host name; give it without scheme, port, and path, such as maps.example.org"
        )
    return text


def _origin(text: str) -> str:
    """Return the origin of a site in lowercase, as browsers compare it."""
    if not _ORIGIN.fullmatch(text.lower()):
        raise UsageError(
            f"--embed-from {text!r} is not the origin of a site; give scheme and host without a path, "
            "such as https://www.example.org"
        )
    return text.lower()


def _free_port() -> int:
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", DEFAULT_PORT))
        except OSError:
            return 0
    return DEFAULT_PORT
