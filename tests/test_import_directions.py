"""Who may import whom, read off the source: docs/architecture.md, "Packages and rooms"."""

import ast
import graphlib
import subprocess
import sys
from collections.abc import Collection
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = ("engine", "geodata", "mapapp", "commutemap")
ALLOWED = {
    "engine": {"engine"},
    "geodata": {"geodata"},
    "mapapp": {"engine", "geodata", "mapapp"},
    "commutemap": {"geodata", "mapapp", "commutemap"},
}
ENGINE_LIBRARIES = {"numpy", "scipy", "numba"}
JIT = (
    "engine/_jit.py",
    "engine/_numba_code.py",
    "engine/_numba_internals.py",
)
READS = ("base", "question", "answers", "drawing", "files")
ROOMS = {
    "base": (),
    "question": ("base",),
    "answers": ("base", "question"),
    "drawing": ("base", "question", "answers"),
    "files": ("base", "question", "answers", "drawing"),
    "explore": READS,
    "publishing": ("base", "question", "answers"),
    "measuring": (*READS, "publishing"),
    "workbench": (*READS, "explore", "publishing", "measuring"),
    "commands": (*READS, "explore", "publishing", "measuring", "workbench"),
}
"""Every room of mapapp, and the rooms that it may import. None of these imports goes round in a circle."""
WITH_ENGINE = ("publishing", "measuring", "workbench", "commands")
"""Rooms that may import the engine. The others serve what has been published."""


def imports_of(file: Path) -> frozenset[str]:
    """Every module a file imports, wherever in the file the import is, as dotted names."""
    return _imports_in(file.read_text(encoding="utf-8"), str(file))


@cache
def _imports_in(text: str, file: str) -> frozenset[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}: relative import; write the whole name"
            found |= {f"{node.module}.{alias.name}" for alias in node.names} | {str(node.module)}
    return frozenset(found)


def imported(names: Collection[str], module: str) -> set[str]:
    """Of some imported names, those of a module or of anything in it."""
    return {name for name in names if name == module or name.startswith(f"{module}.")}


def sources(place: Path) -> list[Path]:
    """Python files of a package, a folder or a single module; one at least."""
    files = sorted(place.rglob("*.py")) if place.is_dir() else [place]
    assert files, f"no sources in {place}"
    assert all(file.is_file() for file in files), f"{place} does not exist; correct its name in this test"
    return files


def rooms_of(root: Path) -> list[Path]:
    """Rooms of mapapp, and modules that are in no room; every room that this test names must exist."""
    places = sorted(root.joinpath("mapapp").iterdir())
    found = [
        place for place in places if place.stem != "__init__" and (place.suffix == ".py" or _is_room(place))
    ]
    missing = sorted(set(ROOMS) - {place.stem for place in found})
    assert not missing, f"{missing} do not exist in mapapp; correct this test"
    return found


def _is_room(place: Path) -> bool:
    return place.is_dir() and any(place.rglob("*.py"))


def serving_sources(root: Path) -> list[Path]:
    """Files of the rooms that serve what has been published."""
    rooms = [root / "mapapp" / room for room in ROOMS if room not in WITH_ENGINE]
    return [file for room in rooms for file in sources(room)]


def package_faults(root: Path) -> list[str]:
    """Imports across packages that the architecture does not allow."""
    faults = []
    for package in PACKAGES:
        for file in sources(root / package):
            names = imports_of(file)
            for other in set(PACKAGES) - ALLOWED[package]:
                faults += [f"{_shown(file, root)} imports {name}" for name in imported(names, other)]
    return faults


def comparison_faults(root: Path) -> list[str]:
    """Modules of the product that import the mechanisms kept for benchmarks alone."""
    comparison = root / "engine" / "comparison"
    files = [file for package in PACKAGES for file in sources(root / package)]
    return _imports(root, [file for file in files if comparison not in file.parents], ["engine.comparison"])


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


def room_faults(root: Path) -> list[str]:
    """Rooms that this test does not know, and imports from one room to another that the architecture does not allow."""
    found = rooms_of(root)
    faults = [
        f"{_shown(place, root)} is not in the table of rooms" for place in found if place.name not in ROOMS
    ]
    for room, allowed in ROOMS.items():
        forbidden = set(ROOMS) - {room, *allowed}
        faults += _imports(root, sources(root / "mapapp" / room), [f"mapapp.{name}" for name in forbidden])
    kept_out = set(ROOMS) - set(READS)
    faults += _imports(root, sources(root / "commutemap"), [f"mapapp.{name}" for name in kept_out])
    return faults + _imports(root, serving_sources(root), ["engine"])


def circle(root: Path) -> list[str]:
    """Modules of the product that import each other in a circle, first and last the same; empty without a circle.

    An import only for types counts, and so does one within a function: a reader has to follow both.
    """
    files = [file for package in PACKAGES for file in sources(root / package)]
    modules = {
        ".".join(file.relative_to(root).with_suffix("").parts).removesuffix(".__init__"): file
        for file in files
    }
    graph = {name: _modules(imports_of(file) & set(modules)) - {name} for name, file in modules.items()}
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as error:
        return list(error.args[1])
    return []


def _modules(names: frozenset[str]) -> set[str]:
    """Imported modules without the packages that they were imported from."""
    return {name for name in names if not any(other.startswith(f"{name}.") for other in names)}


def _imports(root: Path, files: list[Path], modules: list[str]) -> list[str]:
    return [
        f"{_shown(file, root)} imports {name}"
        for file in files
        for module in modules
        for name in imported(imports_of(file), module)
    ]


def _shown(file: Path, root: Path) -> str:
    return file.relative_to(root).as_posix()


def test_packages_import_only_what_the_architecture_allows() -> None:
    assert package_faults(ROOT) == []


def test_the_product_imports_no_mechanism_that_is_kept_for_benchmarks() -> None:
    assert comparison_faults(ROOT) == []


def test_the_engine_knows_no_file_format_and_only_its_wrappers_import_numba() -> None:
    assert library_faults(ROOT) == []


def test_rooms_import_only_what_the_architecture_allows() -> None:
    assert room_faults(ROOT) == []


def test_the_rooms_have_an_order() -> None:
    """Each imports only rooms above it in the table, so there are no circles."""
    rooms = list(ROOMS)
    assert [
        (room, other) for room in rooms for other in ROOMS[room] if rooms.index(other) >= rooms.index(room)
    ] == []


def test_no_modules_import_each_other_in_a_circle() -> None:
    assert circle(ROOT) == []


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A small tree with every room that this test names, and no fault in it."""
    for package in PACKAGES:
        (tmp_path / package).mkdir()
        (tmp_path / package / "__init__.py").write_text('"""A package."""\n')
    for room in ROOMS:
        place = tmp_path / "mapapp" / room
        place.mkdir()
        text = (
            "from engine.synthesis import synthesize\n"
            if room in WITH_ENGINE
            else "from mapapp.base import errors\n"
        )
        (place / "run.py").write_text(text)
    return tmp_path


@pytest.mark.parametrize(
    ("file", "statement", "faults"),
    [
        ("mapapp/answers/areas.py", "from mapapp.publishing.run import run_synthesis", room_faults),
        ("mapapp/answers/areas.py", "from mapapp import publishing", room_faults),
        ("mapapp/answers/areas.py", "import mapapp.publishing.run as run", room_faults),
        ("mapapp/answers/areas.py", "def late():\n    import mapapp.workbench.app", room_faults),
        ("mapapp/answers/areas.py", "from mapapp.publishing.ledger import Ledger", room_faults),
        (
            "mapapp/explore/server.py",
            "from mapapp.publishing.certificate.certificate import build_certificate",
            room_faults,
        ),
        ("mapapp/answers/areas.py", "from mapapp.drawing import camera", room_faults),
        ("mapapp/question/fields.py", "from mapapp.answers.areas import Areas", room_faults),
        ("mapapp/publishing/run.py", "from mapapp.measuring.sweep import sweep", room_faults),
        ("mapapp/files/reports.py", "from mapapp.commands import cli", room_faults),
        ("mapapp/files/reports.py", "from commutemap import open_release", package_faults),
        ("commutemap/__init__.py", "from engine.streams import SecretKey", package_faults),
        ("commutemap/__init__.py", "from mapapp.publishing.run import run_synthesis", room_faults),
        ("commutemap/__init__.py", "from mapapp.explore import server", room_faults),
        ("mapapp/base/errors.py", "from mapapp.explore import server", room_faults),
        ("mapapp/explore/server.py", "from engine.streams import SecretKey", room_faults),
        ("mapapp/a_new_module.py", "from engine.streams import SecretKey", room_faults),
        ("geodata/store.py", "from mapapp.base.errors import UsageError", package_faults),
        ("geodata/store.py", "import engine.streams", package_faults),
        ("engine/prior.py", "from geodata import store", package_faults),
        ("engine/prior.py", "from engine.comparison.laplace import laplace_histogram", comparison_faults),
        ("mapapp/publishing/run.py", "import engine.comparison.plug_in", comparison_faults),
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


@pytest.mark.parametrize(
    "statement",
    [
        "from mapapp.answers.other import b",
        "from mapapp.answers import other",
        "if TYPE_CHECKING:\n    from mapapp.answers import other",
        "def late():\n    import mapapp.answers.other",
    ],
)
def test_a_planted_circle_is_found(tree: Path, statement: str) -> None:
    (tree / "mapapp" / "answers" / "other.py").write_text("from mapapp.answers.run import a\n")
    assert circle(tree) == []
    (tree / "mapapp" / "answers" / "run.py").write_text(f"{statement}\n")
    assert set(circle(tree)) == {"mapapp.answers.other", "mapapp.answers.run"}


def test_a_name_that_only_begins_alike_is_no_fault(tree: Path) -> None:
    (tree / "mapapp" / "answers" / "areas.py").write_text(
        "from mapapp.workbenches import x\nimport enginery\n"
    )
    assert room_faults(tree) == []


def test_a_room_that_does_not_exist_is_not_passed_over(tree: Path) -> None:
    (tree / "mapapp" / "measuring" / "run.py").unlink()
    with pytest.raises(AssertionError, match=r"'measuring'\] do not exist"):
        room_faults(tree)


def test_a_room_that_the_table_does_not_have_is_a_fault(tree: Path) -> None:
    (tree / "mapapp" / "attic").mkdir()
    (tree / "mapapp" / "attic" / "old.py").write_text("")
    assert room_faults(tree) == ["mapapp/attic is not in the table of rooms"]


def test_serving_never_loads_what_makes_releases() -> None:
    """At run time too: importing what serves, or `commutemap`, loads neither the engine nor what makes releases."""
    modules = [
        ".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        for file in (*serving_sources(ROOT), *sources(ROOT / "commutemap"))
    ]
    kept_out = tuple(f"mapapp.{room}" for room in WITH_ENGINE)
    code = (
        f"import importlib, sys; [importlib.import_module(name) for name in {modules}]; "
        f"kept_out = ('engine', *{kept_out}); "
        "print([m for m in sys.modules if any(m == name or m.startswith(name + '.') for name in kept_out)])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
