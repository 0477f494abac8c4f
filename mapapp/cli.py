"""The `commutemap` command: its group, and how every mistake becomes one line on standard error."""

from __future__ import annotations

import gc
import os
import sys
import traceback
from collections.abc import Sequence
from typing import NoReturn

import click

from engine.errors import EngineError
from geodata.errors import GeodataError
from mapapp.commands.analyze import analyze
from mapapp.commands.certify import certify
from mapapp.commands.demo import demo
from mapapp.commands.export import export
from mapapp.commands.fetch import fetch
from mapapp.commands.import_ import import_
from mapapp.commands.ledger import ledger
from mapapp.commands.report import report
from mapapp.commands.serve import serve, serve_demo
from mapapp.commands.sweep import sweep
from mapapp.commands.synthesize import synthesize
from mapapp.commands.tune import tune
from mapapp.commands.validate import validate
from mapapp.errors import UsageError
from mapapp.interrupts import answer_interrupts, exit_code, ignore_interrupts
from mapapp.publishing.ledger import LedgerError

EXIT_USER = 2
EXIT_BUG = 70  # EX_SOFTWARE of sysexits.h
EXIT_SIGNAL = 128  # and a signal's number: what a shell reports for a command that one ended


@click.group(invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="commutemap", message="%(package)s %(version)s")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=None, help="Port of the demo map (8050, or a free one)."
)
@click.pass_context
def commutemap(context: click.Context, port: int | None) -> None:
    """Turn confidential home-to-work counts into a formally private map.

    Without a command: build the demo release if there is none, serve it, print the address.

    \b
    Example, from public files to a map:
      commutemap import ri.dataset --from census-files/
      commutemap synthesize ri.dataset ri.release
      commutemap serve ri.release
    """
    if context.invoked_subcommand is None:
        serve_demo(port=port)
    elif port is not None:
        raise UsageError(f"--port {port} before a command has no meaning; write it after `serve`")


for _command in (
    demo,
    fetch,
    import_,
    synthesize,
    certify,
    ledger,
    validate,
    sweep,
    serve,
    tune,
    analyze,
    export,
    report,
):
    commutemap.add_command(_command)


def run(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code: 0 done, 2 the user can mend it, 70 a bug, more than 128 a signal."""
    try:
        result = commutemap.main(arguments, prog_name="commutemap", standalone_mode=False)
        return result if isinstance(result, int) else 0
    except click.exceptions.NoArgsIsHelpError as error:
        print(error.format_message())
        return EXIT_USER
    except click.ClickException as error:
        return _say(f"{_one_line(error.format_message())} (see `{_help_of(error)} --help`)", EXIT_USER)
    except (EngineError, GeodataError, LedgerError, UsageError) as error:
        return _say(_one_line(str(error)), EXIT_USER)
    except (KeyboardInterrupt, click.Abort) as error:
        return _say("stopped; nothing was kept", exit_code(error))
    except OSError as error:
        return _say(_one_line(_describe(error)), EXIT_USER)
    except MemoryError:
        return _say("not enough memory; close other programs or use a machine with more", EXIT_USER)
    except Exception as error:
        # Not the user's mistake. The text of an unforeseen error could carry a confidential value, so it is
        # shown only where somebody asks for it.
        if os.environ.get("COMMUTEMAP_DEBUG"):
            traceback.print_exc()
        return _say(
            f"internal error ({type(error).__name__}), a bug of this program; "
            "run again with COMMUTEMAP_DEBUG=1 for the details and report it",
            EXIT_BUG,
        )


def main() -> NoReturn:
    """Entry point of the installed command."""
    answer_interrupts()
    try:
        code = run()
        ignore_interrupts()
        sys.stdout.flush()
    except OSError as error:
        # Nothing more can be written there, and Python would try again at the end. A reader that has left (`| head`)
        # is not an error.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        is_gone = isinstance(error, BrokenPipeError)
        code = 0 if is_gone else _say(f"standard output: {_one_line(_describe(error))}", EXIT_USER)
    _leave(code)


def _leave(code: int) -> NoReturn:
    """End the process as Python does: exit functions are called, buffers written, threads waited for.

    What was imported stays to the end, because looking through it for garbage takes half a second. Where DuckDB is
    loaded it is looked through: DuckDB reports objects that are never freed.
    """
    if "duckdb" not in sys.modules:
        gc.freeze()
    sys.exit(code)


def _say(message: str, code: int) -> int:
    print(f"commutemap: {message}", file=sys.stderr)
    return code


def _one_line(text: str) -> str:
    return " ".join(text.split()).removesuffix(".")


def _describe(error: OSError) -> str:
    place = f"{error.filename}: " if error.filename else ""
    return f"{place}{error.strerror or error}"


def _help_of(error: click.ClickException) -> str:
    context = getattr(error, "ctx", None)
    return context.command_path if context is not None else "commutemap"


if __name__ == "__main__":
    main()
