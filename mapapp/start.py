"""Entry point of the installed command; it checks the operating system before it imports the rest."""

from __future__ import annotations

import sys
from typing import Final, NoReturn

SYSTEMS: Final = {"linux": "Linux", "darwin": "macOS"}
"""Supported systems, by Python's name for them."""
EXIT_UNSUPPORTED: Final = 2


def main() -> NoReturn:
    """Run the command. On systems other than Linux and macOS, print a one-line error and exit with code 2."""
    if sys.platform not in SYSTEMS:
        print(
            f"commutemap: this system ({sys.platform}) is not supported; use {' or '.join(SYSTEMS.values())}, "
            "such as a virtual machine or the Windows Subsystem for Linux",
            file=sys.stderr,
        )
        sys.exit(EXIT_UNSUPPORTED)
    from mapapp import cli

    cli.main()
