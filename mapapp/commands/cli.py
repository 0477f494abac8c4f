"""The `commutemap` command; an error that a user can fix is reported in one line on standard error."""

from __future__ import annotations

import gc
import os
import sys
import traceback
from collections.abc import Iterable, Iterator, MutableMapping, Sequence
from importlib import import_module
from keyword import iskeyword
from typing import NoReturn, cast

import click

from engine.errors import EngineError
from geodata.errors import GeodataError
from geodata.store.atomic_writes import forget_kept, kept_charges, kept_places
from geodata.text import escape_to_utf8, is_utf8
from mapapp.base.errors import LedgerError, UsageError
from mapapp.base.interrupts import exit_code, ignore_interrupts, raise_on_interrupt
from mapapp.commands.standard_streams import OutputError, drop_output, prepare_streams

# The commands by name. Each is imported when it is first used, so that one command does not wait for all others.


class CommandTable(MutableMapping[str, click.Command]):
    """Commands that have a module of their own in this package, named after them.

    Parameters
    ----------
    names : iterable of str
        A name that is a keyword of Python, such as `import`, has an underscore after it in the module.
    """

    def __init__(self, names: Iterable[str]) -> None:
        self._commands: dict[str, click.Command | None] = dict.fromkeys(names)

    def __getitem__(self, name: str) -> click.Command:
        command = self._commands[name]
        if command is None:
            place = f"{name}_" if iskeyword(name) else name
            command = cast("click.Command", getattr(import_module(f"{__package__}.{place}"), place))
            self._commands[name] = command
        return command

    def __setitem__(self, name: str, command: click.Command) -> None:
        self._commands[name] = command

    def __delitem__(self, name: str) -> None:
        del self._commands[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._commands)

    def __len__(self) -> int:
        return len(self._commands)


EXIT_USER = 2
EXIT_BUG = 70  # EX_SOFTWARE in sysexits.h
EXIT_OUTPUT = 74  # EX_IOERR: standard output cannot be written, whatever else the result is
EXIT_SIGNAL = 128  # plus the signal number, as a shell reports a command ended by a signal

COMMANDS = CommandTable(
    (
        "lodes",
        "demo",
        "fetch",
        "import",
        "declare",
        "synthesize",
        "table",
        "records",
        "certify",
        "ledger",
        "justify",
        "validate",
        "sweep",
        "audit",
        "attack",
        "serve",
        "tune",
        "analyze",
        "ask",
        "export",
        "catalog",
        "report",
    )
)


@click.group(
    commands=COMMANDS,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(package_name="commutemap", message="%(package)s %(version)s")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=None,
    help="Port of the demo map.  [default: (8050, or any free port)]",
)
@click.pass_context
def commutemap(context: click.Context, port: int | None) -> None:
    """Turn confidential home-to-work counts into a formally private map.

    Without a command, build the demo release unless it exists, serve it, and print its address. Its release with the
    other preset is built meanwhile; then the map can switch between the two and compare them.

    \b
    Example, a map of what the Census Bureau has published:
      commutemap lodes ri --year 2023

    \b
    Example, from files of counts to a release:
      commutemap import ri.dataset --from census-files/
      commutemap synthesize ri.dataset ri.release
      commutemap serve ri.release
    """
    if context.invoked_subcommand is None:
        from mapapp.commands.serve import serve_demo

        serve_demo(port=port)
    elif port is not None:
        raise UsageError(f"--port {port} is before the command; put it after `serve`")


def run(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code: 0 success, 2 a user error, 70 a bug, above 128 a signal.

    Raises
    ------
    OutputError
        Standard output cannot be written.
    """
    forget_kept()
    try:
        _refuse_other_text(sys.argv[1:] if arguments is None else arguments)
        result = commutemap.main(arguments, prog_name="commutemap", standalone_mode=False)
        return result if isinstance(result, int) else 0
    except click.exceptions.NoArgsIsHelpError as error:
        print(error.format_message())
        return EXIT_USER
    except click.ClickException as error:
        return _report(f"{_one_line(error.format_message())} (see `{_help_of(error)} --help`)", EXIT_USER)
    except (EngineError, GeodataError, LedgerError, UsageError) as error:
        return _report(_one_line(str(error)), EXIT_USER)
    except (KeyboardInterrupt, click.Abort) as error:
        places = kept_places()
        return _report(
            f"stopped{f' after writing {places}' if places else '; nothing was kept'}", exit_code(error)
        )
    except OSError as error:
        return _report(_one_line(_describe(error)), EXIT_USER)
    except OutputError:
        raise
    except MemoryError:
        return _report("not enough memory; close other programs or use a machine with more", EXIT_USER)
    except Exception as error:
        # The text of an unexpected error could contain a confidential value, so it is shown only on request.
        if os.environ.get("COMMUTEMAP_DEBUG"):
            traceback.print_exc()
        return _report(
            f"internal error ({type(error).__name__}): this is a bug in commutemap; "
            "run again with COMMUTEMAP_DEBUG=1 to see the details, and report them",
            EXIT_BUG,
        )


def main() -> NoReturn:
    """Entry point of the installed command."""
    prepare_streams()
    raise_on_interrupt()
    try:
        code = run()
        ignore_interrupts()
        sys.stdout.flush()
    except OutputError as error:
        drop_output()
        places = kept_places()
        written = f"; written: {places}" if places else ""
        code = _report(f"standard output cannot be written ({error}){written}", EXIT_OUTPUT)
    _finish(code)


def _finish(code: int) -> NoReturn:
    """Exit as Python does: call exit functions, flush buffers, wait for threads.

    Skip the final garbage collection, which takes half a second.
    """
    gc.freeze()
    sys.exit(code)


def _report(message: str, code: int) -> int:
    """Say in one line why the command ends, and what a ledger was charged before."""
    print(f"commutemap: {message}{kept_charges()}", file=sys.stderr)
    return code


def _refuse_other_text(arguments: Sequence[str]) -> None:
    """Refuse arguments that are not UTF-8 before anything is spent: what is written and printed could not hold them."""
    wrong = next((argument for argument in arguments if not is_utf8(argument)), None)
    if wrong is not None:
        raise UsageError(f"{escape_to_utf8(wrong)}: not UTF-8; give every name and title in UTF-8")


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
