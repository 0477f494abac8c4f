"""The architecture of DESIGN section 3, read off the source: who may import whom."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = ("engine", "geodata", "mapapp")
ALLOWED = {"engine": {"engine"}, "geodata": {"geodata"}, "mapapp": set(PACKAGES)}
ENGINE_LIBRARIES = {"numpy", "scipy", "numba"}
SERVING = (
    "server.py",
    "edge.py",
    "listener",
    "layers.py",
    "density.py",
    "url_state.py",
    "asked.py",
    "drawn.py",
    "setup_file.py",
    "expected_error.py",
    "answer_files.py",
    "downloads",
    "exports",
    "pages",
    "callbacks",
    "queries",
    "queries.py",
    "figures",
    "pictures",
    "reports",
)


def imports_of(file: Path) -> set[str]:
    """Every module a file imports, wherever in the file the import stands, as dotted names."""
    found = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}: relative import; write the whole name"
            found |= {f"{node.module}.{alias.name}" for alias in node.names} | {str(node.module)}
    return found


def sources(package: str) -> list[Path]:
    files = sorted((ROOT / package).rglob("*.py"))
    assert files, f"no sources in {package}/"
    return files


@pytest.mark.parametrize("package", PACKAGES)
def test_packages_import_only_what_the_design_allows(package: str) -> None:
    for file in sources(package):
        ours = {name.split(".")[0] for name in imports_of(file)} & set(PACKAGES)
        assert ours <= ALLOWED[package], f"{file.relative_to(ROOT)} imports {ours - ALLOWED[package]}"


def test_the_engine_knows_no_file_format_and_no_data_frame() -> None:
    import sys

    for file in sources("engine"):
        roots = {name.split(".")[0] for name in imports_of(file)}
        foreign = {root for root in roots if root not in sys.stdlib_module_names and root != "engine"}
        assert foreign <= ENGINE_LIBRARIES, f"{file.relative_to(ROOT)} imports {foreign - ENGINE_LIBRARIES}"


def test_only_one_module_imports_the_jit() -> None:
    for package in PACKAGES:
        for file in sources(package):
            if file.relative_to(ROOT).as_posix() != "engine/_jit.py":
                names = imports_of(file)
                assert not any(name.split(".")[0] == "numba" for name in names), f"{file} imports numba"


def test_only_the_pipeline_joins_engine_and_geodata() -> None:
    """Modules with both: the pipeline and what it is made of, never anything that serves."""
    for part in SERVING:
        place = ROOT / "mapapp" / part
        files = sorted(place.rglob("*.py")) if place.is_dir() else [place] if place.exists() else []
        for file in files:
            names = imports_of(file)
            assert not any(name.startswith("engine.synthesis") for name in names), (
                f"{file} imports the synthesizer"
            )
            assert not any(name.split(".")[0] == "engine" for name in names), f"{file} imports the engine"
            assert "mapapp.pipeline" not in names, f"{file} imports the pipeline"
            assert "mapapp.ledger" not in names, f"{file} imports the ledger of a dataset"
            assert not any(name.startswith("mapapp.tune") for name in names), f"{file} imports the workbench"


def test_serving_never_opens_a_dataset() -> None:
    """At run time too: importing the server pulls in neither the engine nor the pipeline."""
    import subprocess
    import sys

    code = (
        "import sys, mapapp.server; kept_out = ('mapapp.pipeline', 'mapapp.ledger', 'mapapp.tune'); "
        "print([m for m in sys.modules if m.split('.')[0] == 'engine' or m.startswith(kept_out)])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
