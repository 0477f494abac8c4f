"""Entry point of the installed command; it checks the operating system before it imports the rest."""

from __future__ import annotations

import os
import sys
from typing import Final, NoReturn

SYSTEMS: Final = {"linux": "Linux", "darwin": "macOS"}
"""Supported systems, by Python's name for them."""
EXIT_UNSUPPORTED: Final = 2
_BLAS_THREADS: Final = "OPENBLAS_NUM_THREADS"  # read when NumPy is imported


def main() -> NoReturn:
    """Run the command. On systems other than Linux and macOS, print a one-line error and exit with code 2."""
    if sys.platform not in SYSTEMS:
        print(
            f"commutemap: this system ({sys.platform}) is not supported; use {' or '.join(SYSTEMS.values())}, "
            "such as a virtual machine or the Windows Subsystem for Linux",
            file=sys.stderr,
        )
        sys.exit(EXIT_UNSUPPORTED)
    if sys.argv[1:2] in (["serve"], ["lodes"]):
        # A server's matrices are small: more threads only wait for each other, and take processor time for it.
        os.environ.setdefault(_BLAS_THREADS, "1")
    from mapapp.commands.standard_streams import prepare_streams

    prepare_streams()  # before any file is opened
    from mapapp.commands import cli

    cli.main()
