"""What the package says of itself: license, citation, typing, and the systems it runs on."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
START = """
import sys
sys.platform = "win32"
for name in ("fcntl", "resource"):
    sys.modules[name] = None
import mapapp.commands.start
mapapp.commands.start.main()
"""


def test_the_license_is_the_declared_one() -> None:
    text = (ROOT / "LICENSE").read_text(encoding="utf-8")
    assert PROJECT["license"] == "MIT"
    assert PROJECT["license-files"] == ["LICENSE"]
    assert text.startswith("MIT License\n\nCopyright (c) 2026 CommuteMap contributors\n")
    assert "[MIT](LICENSE)" in (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_citation_is_of_this_version_and_names_the_papers() -> None:
    yaml = pytest.importorskip("yaml")
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert {"cff-version", "message", "title", "authors"} <= set(cited), "CFF 1.2.0 requires these"
    assert cited["cff-version"] == "1.2.0"
    assert cited["version"] == PROJECT["version"]
    assert cited["license"] == PROJECT["license"]
    assert [author["name"] for author in cited["authors"]] == ["CommuteMap contributors"]
    for reference in cited["references"]:
        assert {"type", "title", "authors"} <= set(reference), "CFF 1.2.0 requires these of a reference"
        assert all(set(author) == {"family-names", "given-names"} for author in reference["authors"])
    assert [reference["year"] for reference in cited["references"]] == [2008, 2010]


@pytest.mark.parametrize("package", ["engine", "geodata", "mapapp"])
def test_each_package_is_typed(package: str) -> None:
    assert (ROOT / package / "py.typed").is_file()


def test_the_supported_systems_are_stated_alike() -> None:
    from mapapp.commands.start import SYSTEMS

    assert list(SYSTEMS.values()) == ["Linux", "macOS"]
    stated = {entry.rsplit(" :: ", 1)[-1] for entry in PROJECT["classifiers"] if "Operating System" in entry}
    assert {name.lower() for name in stated} == {name.lower() for name in SYSTEMS.values()}
    assert "Linux or macOS" in (ROOT / "README.md").read_text(encoding="utf-8")


def test_another_system_is_refused_in_one_line_before_anything_else_is_imported() -> None:
    done = subprocess.run(
        [sys.executable, "-c", START], capture_output=True, text=True, cwd=ROOT, timeout=60, check=False
    )
    assert done.returncode == 2
    assert done.stdout == ""
    assert re.fullmatch(
        r"commutemap: this system \(win32\) is not supported; use Linux or macOS[^\n]*\n", done.stderr
    )


def test_the_installed_command_starts_with_that_check() -> None:
    assert PROJECT["scripts"] == {"commutemap": "mapapp.commands.start:main"}
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            "import sys; sys.argv[1:] = ['--version']; from mapapp.commands.start import main; main()",
        ],
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=120,
        check=True,
    )
    assert done.stdout.startswith("commutemap ")
