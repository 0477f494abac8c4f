"""Where to find files other than code: the assets, and what the program creates or downloads on its own."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from pathlib import Path


def assets_dir() -> Path:
    """Return the directory of the style sheet, the script and the icons, which is never written.

    In a checkout it is beside the packages; in a wheel it is inside `mapapp`.

    Raises
    ------
    FileNotFoundError
        If the installation is incomplete.
    """
    package = Path(__file__).resolve().parents[1]
    for place in (package / "assets", package.parent / "assets"):
        if (place / "app.css").is_file():
            return place
    raise FileNotFoundError(f"no assets beside {package}; install commutemap again")


def cache_home() -> Path:
    """Return the folder for files that can be downloaded again, which may not exist yet.

    This is in COMMUTEMAP_HOME if set, else the user's cache folder.
    """
    named = os.environ.get("COMMUTEMAP_HOME")
    if named:
        return Path(named) / "cache"
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(base) / "commutemap"


def data_home() -> Path:
    """Return the folder for data that the program creates on its own.

    This is COMMUTEMAP_HOME if set, else the user's data folder; if that cannot be written, a temporary folder.
    """
    named = os.environ.get("COMMUTEMAP_HOME")
    base = os.environ.get("XDG_DATA_HOME") or os.path.join(os.path.expanduser("~"), ".local", "share")
    for place in [Path(named)] if named else [Path(base) / "commutemap"]:
        try:
            place.mkdir(parents=True, exist_ok=True)
            if os.access(place, os.W_OK):
                return place
        except OSError:
            continue
    temporary = Path(tempfile.mkdtemp(prefix="commutemap-"))
    atexit.register(shutil.rmtree, temporary, ignore_errors=True)
    return temporary
