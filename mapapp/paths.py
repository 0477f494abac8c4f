"""Where the files that are not code lie: beside the packages in a checkout, inside `mapapp` in a wheel."""

from __future__ import annotations

from pathlib import Path


def assets_dir() -> Path:
    """Directory of the style sheet, the script and the icons; only ever read.

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
