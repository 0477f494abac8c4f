"""From a wheel, the program and its page work from any directory and with a read-only installation."""

import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("wheel")
    command = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--quiet",
        "--no-deps",
        "--wheel-dir",
        str(place),
        str(ROOT),
    ]
    subprocess.run(command, check=True, capture_output=True, timeout=240)
    (built,) = place.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fresh environment with the wheel, and the libraries of this one."""
    place = tmp_path_factory.mktemp("installed")
    venv.create(place, with_pip=False, symlinks=True)
    (site,) = place.glob("lib/python*/site-packages")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    libraries = [path for path in sys.path if path.endswith("site-packages")]
    # addsitedir would honour the editable install's own path file; plain lines do not.
    (site / "libraries.pth").write_text("\n".join(libraries) + "\n")
    for path in sorted(site.rglob("*"), reverse=True):
        path.chmod(0o555 if path.is_dir() else 0o444)
    return place


def python(installed: Path, code: str, cwd: Path, **environment: str) -> str:
    done = subprocess.run(
        [str(installed / "bin" / "python"), "-c", code],
        cwd=cwd,
        env={"PATH": "/usr/bin:/bin", **environment},
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_wheel_holds_the_packages_and_the_assets_and_no_tests(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert any(name.startswith("mapapp/assets/") and name.endswith(".css") for name in names)
    sheets = ("report.typ", "sheet.typ", "document.typ", "report.css")
    assert {f"mapapp/show/reports/{name}" for name in sheets} <= set(names)
    templates = {str(file.relative_to(ROOT)) for file in (ROOT / "mapapp/show/reports/templates").iterdir()}
    assert "mapapp/show/reports/templates/report.html" in templates
    assert templates <= set(names)
    assert {"engine/py.typed", "geodata/py.typed", "mapapp/py.typed", "commutemap/py.typed"} <= set(names)
    assert any(name.endswith(".dist-info/licenses/LICENSE") for name in names)
    assert not any(name.startswith(("tests/", "benchmarks/", "docs/")) for name in names)


def test_every_command_answers_from_an_empty_directory(installed: Path, tmp_path: Path) -> None:
    code = (
        "from mapapp.commands import cli; print(cli.__file__);"
        "codes = [cli.run([name, '--help']) for name in cli.commutemap.commands]; print(codes)"
    )
    output = python(installed, code, tmp_path, HOME=str(tmp_path))
    assert str(installed) in output.splitlines()[0]
    assert set(eval(output.splitlines()[-1])) == {0}


def test_demo_to_page_without_a_writable_home(installed: Path, tmp_path: Path) -> None:
    code = """
import sys
from pathlib import Path
from mapapp.commands.cli import run
assert run(["demo", "d", "--size", "small", "-q"]) == 0
assert run(["synthesize", "d", "r", "-q"]) == 0
assert run(["certify", "r"]) == 0
from mapapp.explore.server import create_app
client = create_app([Path("r")]).server.test_client()
page = client.get("/").get_data(as_text=True)
import re
links = re.findall(r'(?:src|href)="(/[^"]+)"', page)
assert any("assets" in link for link in links), links
bad = [link for link in links if client.get(link).status_code != 200]
assert not bad, bad
import commutemap
print(commutemap.__file__)
answer = commutemap.open_release("r").profile()
assert answer.to_frame().shape[0] == 9
assert answer.plot().content
assert "Workers" in answer._repr_html_()
assert run(["report", "r", "--area", "all", "-o", "report.html", "-q"]) == 0
print("served")
"""
    output = python(installed, code, tmp_path, HOME="/nonexistent")
    *_, package, served = output.splitlines()
    assert str(installed) in package
    assert served == "served"
