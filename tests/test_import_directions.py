"""Who may import whom, read off the source: docs/contributing.md, "Where things are"."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = ("engine", "geodata", "mapapp")
ALLOWED = {"engine": {"engine"}, "geodata": {"geodata"}, "mapapp": set(PACKAGES)}
ENGINE_LIBRARIES = {"numpy", "scipy", "numba"}
JIT = ("engine/_jit.py", "engine/_numba_internals.py")
MAKING = (
    "certificate.py",
    "certificate_check.py",
    "certificate_mechanism.py",
    "certificate_sound.py",
    "certificate_terms.py",
    "cli.py",
    "cli_reference.py",
    "commands",
    "demo_release.py",
    "ledger.py",
    "mechanisms.py",
    "pipeline",
    "start.py",
    "tune",
)
"""Rooms of mapapp that make releases, or run what does. All others serve releases, and import none of these."""


def imports_of(file: Path) -> set[str]:
    """Every module a file imports, wherever in the file the import is, as dotted names."""
    found = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}: relative import; write the whole name"
            found |= {f"{node.module}.{alias.name}" for alias in node.names} | {str(node.module)}
    return found


def imported(names: set[str], module: str) -> set[str]:
    """Of some imported names, those of a module or of anything in it."""
    return {name for name in names if name == module or name.startswith(f"{module}.")}


def sources(place: Path) -> list[Path]:
    """Python files of a package, a folder or a single module; one at least."""
    files = sorted(place.rglob("*.py")) if place.is_dir() else [place]
    assert files, f"no sources in {place}"
    assert all(file.is_file() for file in files), f"{place} does not exist; correct its name in this test"
    return files


def serving_sources(root: Path) -> list[Path]:
    """Files of mapapp outside the rooms that make releases. Every room named in this test must exist."""
    making = {file for room in MAKING for file in sources(root / "mapapp" / room)}
    return [file for file in sources(root / "mapapp") if file not in making]


def package_faults(root: Path) -> list[str]:
    """Imports across packages that the architecture does not allow."""
    faults = []
    for package in PACKAGES:
        for file in sources(root / package):
            names = imports_of(file)
            for other in set(PACKAGES) - ALLOWED[package]:
                faults += [f"{_shown(file, root)} imports {name}" for name in imported(names, other)]
    return faults


def library_faults(root: Path) -> list[str]:
    """Libraries that the engine must not know, and numba outside the two modules that wrap it."""
    faults = []
    for file in sources(root / "engine"):
        roots = {name.split(".")[0] for name in imports_of(file)} - {"engine", *sys.stdlib_module_names}
        faults += [f"{_shown(file, root)} imports {name}" for name in roots - ENGINE_LIBRARIES]
    for package in PACKAGES:
        for file in sources(root / package):
            if _shown(file, root) not in JIT:
                faults += [
                    f"{_shown(file, root)} imports {name}" for name in imported(imports_of(file), "numba")
                ]
    return faults


def serving_faults(root: Path) -> list[str]:
    """Imports of the engine, or of a room that makes releases, by anything else in mapapp."""
    kept_out = ("engine", *(f"mapapp.{room.removesuffix('.py')}" for room in MAKING))
    return [
        f"{_shown(file, root)} imports {name}"
        for file in serving_sources(root)
        for module in kept_out
        for name in imported(imports_of(file), module)
    ]


def _shown(file: Path, root: Path) -> str:
    return file.relative_to(root).as_posix()


def test_packages_import_only_what_the_architecture_allows() -> None:
    assert package_faults(ROOT) == []


def test_the_engine_knows_no_file_format_and_only_its_wrappers_import_numba() -> None:
    assert library_faults(ROOT) == []


def test_serving_code_imports_neither_the_engine_nor_what_makes_releases() -> None:
    assert serving_faults(ROOT) == []


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A small tree with every room that this test names, and no fault in it."""
    for package in PACKAGES:
        (tmp_path / package).mkdir()
        (tmp_path / package / "__init__.py").write_text('"""A package."""\n')
    for room in MAKING:
        place = tmp_path / "mapapp" / room
        if room.endswith(".py"):
            place.write_text("import engine\n")
        else:
            place.mkdir()
            (place / "run.py").write_text("from engine.synthesis import synthesize\n")
    (tmp_path / "mapapp" / "queries").mkdir()
    return tmp_path


@pytest.mark.parametrize(
    ("file", "statement", "faults"),
    [
        ("mapapp/queries/areas.py", "from mapapp.pipeline.run import run_synthesis", serving_faults),
        ("mapapp/queries/areas.py", "from mapapp import pipeline", serving_faults),
        ("mapapp/queries/areas.py", "import mapapp.pipeline.run as run", serving_faults),
        ("mapapp/queries/areas.py", "def late():\n    import mapapp.tune.app", serving_faults),
        ("mapapp/queries/areas.py", "from mapapp.ledger import Ledger", serving_faults),
        ("mapapp/server.py", "from mapapp.certificate import check_certificate", serving_faults),
        ("mapapp/a_new_module.py", "from engine.streams import SecretKey", serving_faults),
        ("geodata/store.py", "from mapapp.errors import UsageError", package_faults),
        ("geodata/store.py", "import engine.streams", package_faults),
        ("engine/prior.py", "from geodata import store", package_faults),
        ("engine/prior.py", "import pandas as pd", library_faults),
        ("geodata/cells.py", "from numba.core import types", library_faults),
        ("engine/prior.py", "from numba import njit", library_faults),
    ],
)
def test_a_planted_fault_is_found(tree: Path, file: str, statement: str, faults: object) -> None:
    assert callable(faults)
    assert faults(tree) == []
    (tree / file).write_text(f"{statement}\n")
    assert any(file in fault for fault in faults(tree))


def test_a_name_that_only_begins_alike_is_no_fault(tree: Path) -> None:
    (tree / "mapapp" / "queries" / "areas.py").write_text("from mapapp.tuned import x\nimport enginery\n")
    assert serving_faults(tree) == []


def test_a_room_that_does_not_exist_is_not_passed_over(tree: Path) -> None:
    (tree / "mapapp" / "ledger.py").unlink()
    with pytest.raises(AssertionError, match=r"ledger\.py does not exist"):
        serving_faults(tree)


def test_serving_never_loads_what_makes_releases() -> None:
    """At run time too: importing everything that serves loads neither the engine nor a room that makes releases."""
    modules = [
        ".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        for file in serving_sources(ROOT)
    ]
    kept_out = tuple(f"mapapp.{room.removesuffix('.py')}" for room in MAKING)
    code = (
        f"import importlib, sys; [importlib.import_module(name) for name in {modules}]; "
        f"kept_out = ('engine', *{kept_out}); "
        "print([m for m in sys.modules if any(m == name or m.startswith(name + '.') for name in kept_out)])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
