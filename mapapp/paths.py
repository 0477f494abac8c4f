"""Where files lie that are not code: those that come with the program, and those it makes unasked."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from pathlib import Path


def assets_dir() -> Path:
    """Directory of the style sheet, the script and the icons; only ever read.

    It is beside the packages in a checkout, and inside `mapapp` in a wheel.

    Raises
    ------
    FileNotFoundError
        When the installation is incomplete.
    """
    package = Path(__file__).resolve().parent
    for place in (package / "assets", package.parent / "assets"):
        if (place / "app.css").is_file():
            return place
    raise FileNotFoundError(f"no assets beside {package}; install commutemap again")


def data_home() -> Path:
    """Folder for what the program makes unasked: COMMUTEMAP_HOME, else the user's data folder, else a passing one."""
    named = os.environ.get("COMMUTEMAP_HOME")
    base = os.environ.get("XDG_DATA_HOME") or os.path.join(os.path.expanduser("~"), ".local", "share")
    for place in [Path(named)] if named else [Path(base) / "commutemap"]:
        try:
            place.mkdir(parents=True, exist_ok=True)
            if os.access(place, os.W_OK):
                return place
        except OSError:
            continue
    passing = Path(tempfile.mkdtemp(prefix="commutemap-"))
    atexit.register(shutil.rmtree, passing, ignore_errors=True)
    return passing
