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
JIT = ("engine/jit.py", "engine/numba_internals.py")
READS = ("base", "question", "answers", "show")
MAKES = ("base", "question", "answers", "kinds.base", "kinds.cluster")
MEASURES = (*READS, "kinds.base", "analyst.validity", "analyst.sweep", "analyst.audit")
ROOMS = {
    "base": (),
    "question": ("base",),
    "answers": ("base", "question"),
    "show": ("base", "question", "answers"),
    "kinds.*.read": ("base", "question", "answers"),
    "kinds.*.files": (*READS, "kinds.OWN.read", "kinds.OWN.page"),
    "kinds.*.page": (*READS, "explore", "kinds.OWN.read", "kinds.OWN.files"),
    "explore": (*READS, "kinds.*.read", "kinds.pages"),
    "kinds.pages": ("base", "explore", "kinds.*.page"),
    "kinds.base": ("base", "question", "answers"),
    "kinds.cluster": ("base", "kinds.base", "kinds.*.make"),
    "kinds.*.make": (*MAKES, "kinds.OWN.certificate", "kinds.OWN.choose"),
    "kinds.*.certificate": (*MAKES, "kinds.OWN.make", "kinds.OWN.choose"),
    "kinds.*.choose": (*MAKES, "kinds.OWN.make", "kinds.OWN.certificate"),
    "kinds.*.measure": (*MEASURES, "kinds.OWN.make"),
    "kinds.*.audit": (*MEASURES, "kinds.OWN.make", "kinds.OWN.measure"),
    "kinds.*.tune": (*MEASURES, "explore", "analyst.workbench", "kinds.OWN.make", "kinds.OWN.measure"),
    "analyst.attack": ("base", "kinds.tables.files"),
    "analyst.validity": (
        *MEASURES,
        "kinds.release.make",
        "kinds.release.choose",
        "kinds.release.certificate",
        "kinds.*.measure",
    ),
    "analyst.sweep": (*MEASURES, "kinds.release.make", "kinds.release.choose"),
    "analyst.audit": (*MEASURES, "kinds.release.make", "kinds.release.choose", "kinds.*.audit"),
    "analyst.workbench": (
        *MEASURES,
        "explore",
        "kinds.release.make",
        "kinds.release.choose",
        "kinds.*.measure",
        "kinds.*.tune",
    ),
    "commands": ("*",),
}
"""Every room of mapapp, and what it may import besides itself: `*` is any kind of publication, OWN its own."""
FLOORS = (
    {"base"},
    {"question"},
    {"answers"},
    {"show"},
    {"explore", "kinds.*.read", "kinds.*.files", "kinds.*.page", "kinds.pages"},
    {"kinds.base"},
    {"kinds.cluster", "kinds.*.make", "kinds.*.certificate", "kinds.*.choose"},
    {room for room in ROOMS if room.startswith("analyst.")}
    | {"kinds.*.measure", "kinds.*.audit", "kinds.*.tune"},
    {"commands"},
)
"""Rooms from the ground up: no room imports one of a higher floor."""
LATER = "commutemap/__init__.py imports mapapp.commands.functions"
"""What `commutemap` names for type checkers, and loads when it is first used: the test at run time sees to that."""
WITHOUT_ENGINE = frozenset().union(*FLOORS[:5])
"""Rooms that serve what has been published. Only those above them may import the engine."""


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


def room_of(module: str) -> str:
    """The room of a module of mapapp, as `kinds.tables.read`; empty for `mapapp` itself.

    A name may also be one that is imported from a module, so all that is known of it is what it begins with.
    """
    parts = module.split(".")[1:]
    deep = {"kinds": 2 if parts[1:2] in (["base"], ["cluster"], ["pages"]) else 3, "analyst": 2}
    return ".".join(parts[: deep.get(parts[0], 1)]) if parts else ""


def pattern_of(room: str) -> str:
    """How the table names a room: `kinds.*.read` for `kinds.tables.read`."""
    parts = room.split(".")
    return f"kinds.*.{parts[2]}" if len(parts) == 3 else room


def may_import(room: str, other: str) -> bool:
    """Whether the table allows an import from one room to another."""
    allowed = ROOMS[pattern_of(room)]
    kind = room.split(".")[1] if pattern_of(room) != room else ""
    own = {name.replace("OWN", kind) for name in allowed}
    return other == room or allowed == ("*",) or other in own or pattern_of(other) in own


def serving_sources(root: Path) -> list[Path]:
    """Files of the rooms that serve what has been published."""
    return [
        file
        for file in sources(root / "mapapp")
        if pattern_of(room_of(_module(file, root))) in WITHOUT_ENGINE
    ]


def _module(file: Path, root: Path) -> str:
    return ".".join(file.relative_to(root).with_suffix("").parts).removesuffix(".__init__")


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
    faults, seen = [], set()
    for file in sources(root / "mapapp"):
        module = _module(file, root)
        room = room_of(module)
        if file.name == "__init__.py" and pattern_of(room) not in ROOMS:
            assert not any(name.startswith("mapapp.") for name in imports_of(file)), (
                f"{file} imports what it holds"
            )
            continue
        if pattern_of(room) not in ROOMS:
            faults.append(f"{_shown(file, root)}: {room} is not in the table of rooms")
            continue
        seen.add(pattern_of(room))
        names = _modules(imports_of(file))
        for name in sorted(
            name for name in names if name.startswith("mapapp.") and not name.endswith("__version__")
        ):
            other = room_of(name)
            if pattern_of(other) not in ROOMS or not may_import(room, other):
                faults.append(f"{_shown(file, root)} imports {name}")
    missing = sorted(set(ROOMS) - seen)
    assert not missing, f"{missing} do not exist in mapapp; correct this test"
    made = [f"mapapp.{room}" for room in ("analyst", "commands", "explore", "kinds")]
    loaded = _imports(root, sources(root / "commutemap"), made)
    return (
        faults
        + [fault for fault in loaded if not fault.startswith(LATER)]
        + _imports(root, serving_sources(root), ["engine"])
    )


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


def test_no_room_imports_one_of_a_higher_floor() -> None:
    floor = {room: number for number, rooms in enumerate(FLOORS) for room in rooms}
    assert set(floor) == set(ROOMS)
    higher = []
    for room, allowed in ROOMS.items():
        patterns = {name.replace("OWN", "*") for name in allowed if name != "*"}
        others = {"kinds.*." + name.split(".")[2] if name.count(".") == 2 else name for name in patterns}
        higher += [(room, other) for other in others if floor[other] > floor[room]]
    assert higher == []


def test_no_modules_import_each_other_in_a_circle() -> None:
    assert circle(ROOT) == []


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A small tree with every room that this test names, and no fault in it."""
    for package in PACKAGES:
        (tmp_path / package).mkdir()
        (tmp_path / package / "__init__.py").write_text('"""A package."""\n')
    for room in ROOMS:
        place = tmp_path / "mapapp" / room.replace("*", "release").replace(".", "/")
        place.mkdir(parents=True)
        text = (
            "from mapapp.base import errors\n"
            if room in WITHOUT_ENGINE
            else "from engine.mechanisms.dirichlet_multinomial import synthesize\n"
        )
        (place / "run.py").write_text(text)
    return tmp_path


@pytest.mark.parametrize(
    ("file", "statement", "faults"),
    [
        (
            "mapapp/answers/areas.py",
            "from mapapp.kinds.release.make.run import run_synthesis",
            room_faults,
        ),
        ("mapapp/answers/areas.py", "from mapapp import kinds", room_faults),
        ("mapapp/answers/areas.py", "import mapapp.kinds.release.make.run as run", room_faults),
        (
            "mapapp/answers/areas.py",
            "def late():\n    import mapapp.analyst.workbench.app",
            room_faults,
        ),
        ("mapapp/answers/areas.py", "from mapapp.kinds.base.ledger import Ledger", room_faults),
        (
            "mapapp/explore/server.py",
            "from mapapp.kinds.release.certificate.certificate import build_certificate",
            room_faults,
        ),
        ("mapapp/answers/areas.py", "from mapapp.show.content import camera", room_faults),
        ("mapapp/question/fields.py", "from mapapp.answers.areas.areas import Areas", room_faults),
        ("mapapp/kinds/release/make/run.py", "from mapapp.analyst.sweep.sweep import sweep", room_faults),
        ("mapapp/show/reports.py", "from mapapp.commands import cli", room_faults),
        ("mapapp/kinds/release/read/run.py", "from mapapp.kinds.release.make import run", room_faults),
        ("mapapp/kinds/release/page/run.py", "from mapapp.kinds.records.read import run", room_faults),
        ("mapapp/kinds/release/make/run.py", "from mapapp.kinds.records.make.run import run", room_faults),
        ("mapapp/kinds/release/make/run.py", "from mapapp.kinds import records", room_faults),
        ("mapapp/kinds/release/files/run.py", "from engine.streams import SecretKey", room_faults),
        ("mapapp/kinds/base/run.py", "from mapapp.kinds.release.make import run", room_faults),
        ("mapapp/analyst/audit/run.py", "from mapapp.analyst.workbench import run", room_faults),
        ("mapapp/answers/__init__.py", "from mapapp.kinds.base.ledger import Ledger", room_faults),
        ("mapapp/show/reports.py", "from commutemap import open_release", package_faults),
        ("commutemap/__init__.py", "from engine.streams import SecretKey", package_faults),
        ("commutemap/__init__.py", "from mapapp.kinds.release.make.run import run_synthesis", room_faults),
        ("commutemap/__init__.py", "from mapapp.explore import server", room_faults),
        ("commutemap/__init__.py", "from mapapp.commands import synthesize", room_faults),
        ("mapapp/base/errors.py", "from mapapp.explore import server", room_faults),
        ("mapapp/explore/server.py", "from engine.streams import SecretKey", room_faults),
        ("mapapp/a_new_module.py", "from engine.streams import SecretKey", room_faults),
        ("geodata/store/store.py", "from mapapp.base.errors import UsageError", package_faults),
        ("geodata/store/store.py", "import engine.streams", package_faults),
        ("engine/support/prior.py", "from geodata.store.store import store", package_faults),
        (
            "engine/support/prior.py",
            "from engine.comparison.laplace import laplace_histogram",
            comparison_faults,
        ),
        ("mapapp/kinds/release/make/run.py", "import engine.comparison.plug_in", comparison_faults),
        ("engine/support/prior.py", "import pandas as pd", library_faults),
        ("geodata/geography/cells.py", "from numba.core import types", library_faults),
        ("engine/support/prior.py", "from numba import njit", library_faults),
    ],
)
def test_a_planted_fault_is_found(tree: Path, file: str, statement: str, faults: object) -> None:
    assert callable(faults)
    assert faults(tree) == []
    (tree / file).parent.mkdir(parents=True, exist_ok=True)
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
    (tree / "mapapp" / "answers" / "areas.py").write_text("from mapapplication import x\nimport enginery\n")
    assert room_faults(tree) == []


def test_a_room_that_does_not_exist_is_not_passed_over(tree: Path) -> None:
    (tree / "mapapp" / "analyst" / "sweep" / "run.py").unlink()
    with pytest.raises(AssertionError, match=r"'analyst.sweep'\] do not exist"):
        room_faults(tree)


def test_a_room_that_the_table_does_not_have_is_a_fault(tree: Path) -> None:
    (tree / "mapapp" / "attic").mkdir()
    (tree / "mapapp" / "attic" / "old.py").write_text("")
    assert room_faults(tree) == ["mapapp/attic/old.py: attic is not in the table of rooms"]


def test_serving_never_loads_what_makes_releases() -> None:
    """At run time too: importing what serves, or `commutemap`, loads neither the engine nor what makes releases."""
    modules = [
        ".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        for file in (*serving_sources(ROOT), *sources(ROOT / "commutemap"))
    ]
    makes = [
        file
        for file in sources(ROOT / "mapapp")
        if file not in serving_sources(ROOT) and file.name != "__init__.py"
    ]
    kept_out = {_module(file, ROOT) for file in makes} | {"engine"}
    code = (
        f"import importlib, sys; [importlib.import_module(name) for name in {modules}]; "
        f"print(sorted({kept_out} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
