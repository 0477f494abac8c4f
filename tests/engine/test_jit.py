"""Kernels compile wherever the package is installed, and never run from a cache older than their sources."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
import pytest
from numba.core.caching import FunctionCache

from engine import jit, numba_internals
from tests.engine.examples import INTERPRETED

KERNEL = """
from engine.jit import jit

@jit
def double(value):
    return 2 * value

print(double(21), hasattr(double, "py_func"), type(getattr(double, "_cache", None)).__name__)
if hasattr(double, "py_func"):
    print(sum(double.stats.cache_hits.values()))
"""
CALLERS = """
import numpy as np
from engine.jit import jit

@jit
def twice(value):
    return 2 * value

@jit
def of_all(values, wide):
    return twice(values[0]) + twice(wide[0]) + twice(3)

found = of_all(np.array([2**30], np.int32), np.array([2**40]))
print(found == 2**31 + 2**41 + 6, len(twice.part.overloads), len(twice.overloads))
print(twice(4), len(twice.overloads))
"""
OF_TUPLES = """
import sys
from difflib import Match
from engine.jit import jit

@jit
def add(pair):
    return pair.a + pair.b

print(add(Match(40, 2, 0)), sum(add.stats.cache_hits.values()), "numba.np.linalg" in sys.modules)
from numba.core.typing.typeof import typeof_impl
print(Match in typeof_impl.registry, add(Match(1, 2, 0)), len(add.overloads))
"""
LIMITED = f"""
import os, resource
if "ROOM" in os.environ:
    resource.setrlimit(resource.RLIMIT_FSIZE, 2 * (int(os.environ["ROOM"]),))
{KERNEL}"""

if INTERPRETED:
    pytest.skip("nothing is compiled", allow_module_level=True)


def run_kernel(tmp_path: Path, kernel: str = KERNEL, **environment: str) -> list[str]:
    script = tmp_path / "kernel.py"
    script.write_text(kernel)
    command = [sys.executable, "-B", "-W", "error", str(script)]
    root = str(Path(numba_internals.__file__).parents[1])
    ran = subprocess.run(
        command,
        env=os.environ | {"PYTHONPATH": root} | environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return ran.stdout.split()


def triple(value: int) -> int:
    return 3 * value


def compiled_files(tmp_path: Path) -> list[Path]:
    return sorted((tmp_path / "__pycache__").iterdir())


def test_a_kernel_is_cached_where_it_can_be(tmp_path: Path) -> None:
    assert run_kernel(tmp_path) == ["42", "True", "KernelCache", "0"]
    files = compiled_files(tmp_path)
    assert run_kernel(tmp_path) == ["42", "True", "KernelCache", "1"]
    assert compiled_files(tmp_path) == files
    assert [file.suffix for file in files] == [".nbc"]


def test_a_kernel_from_a_file_is_called_without_getting_numba_ready_to_compile(tmp_path: Path) -> None:
    assert run_kernel(tmp_path, OF_TUPLES) == ["42", "0", "True", "True", "3", "1"]
    assert run_kernel(tmp_path, OF_TUPLES) == ["42", "1", "False", "True", "3", "1"]


def test_what_kernels_call_has_one_form_for_all_whole_numbers_and_no_file(tmp_path: Path) -> None:
    assert run_kernel(tmp_path, CALLERS) == ["True", "1", "0", "8", "1"]
    names = [file.name.split(".")[1] for file in compiled_files(tmp_path)]
    assert sorted(name.split("-")[0] for name in names) == ["of_all", "twice"]


def test_a_kernel_that_changed_is_compiled_again_and_the_old_one_dropped(tmp_path: Path) -> None:
    run_kernel(tmp_path)
    files = compiled_files(tmp_path)
    left = tmp_path / "__pycache__" / f"{files[0].name}.tmp.0123"
    for name in (left.name, "kernel.gone-1.cpython-311.nbi", "kernel.gone-1.cpython-311.1.nbc"):
        (tmp_path / "__pycache__" / name).write_bytes(b"")
    assert run_kernel(tmp_path, KERNEL.replace("2 * value", "3 * value"))[::3] == ["63", "0"]
    assert len(compiled_files(tmp_path)) == 1
    assert compiled_files(tmp_path) != files


def test_a_damaged_file_is_compiled_again(tmp_path: Path) -> None:
    run_kernel(tmp_path)
    (file,) = compiled_files(tmp_path)
    whole = file.read_bytes()
    middle = len(whole) // 2
    file.write_bytes(whole[:middle] + bytes([whole[middle] ^ 1]) + whole[middle + 1 :])
    assert run_kernel(tmp_path)[::3] == ["42", "0"]
    assert run_kernel(tmp_path)[::3] == ["42", "1"]


def test_every_cut_of_a_file_is_noticed(tmp_path: Path) -> None:
    files = numba_internals.KernelFiles(triple, tmp_path)
    files.save("int64", "for integers")
    (file,) = tmp_path.iterdir()
    whole = file.read_bytes()
    for size in range(len(whole)):
        file.write_bytes(whole[:size])
        assert files.load("int64") is None


def test_a_full_disk_stops_no_kernel_and_leaves_no_old_one(tmp_path: Path) -> None:
    run_kernel(tmp_path, LIMITED)
    changed = LIMITED.replace("2 * value", "3 * value")
    files = compiled_files(tmp_path)
    assert run_kernel(tmp_path, changed, ROOM="100")[::3] == ["63", "0"]
    assert compiled_files(tmp_path) == files
    assert run_kernel(tmp_path, changed)[::3] == ["63", "0"]
    assert run_kernel(tmp_path, changed)[::3] == ["63", "1"]


def test_compiled_forms_keep_apart_by_types_and_sources(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the order of two processes at once: neither can take the other's file for its own."""
    one, other = (numba_internals.KernelFiles(triple, tmp_path) for _ in range(2))
    one.save("int64", "for integers")
    other.save("float64", "for floats")
    for files in (one, other):
        assert files.load("int64") == "for integers"
        assert files.load("float64") == "for floats"
        assert files.load("bool") is None
    # The file of one, under the name of the other: what it says inside counts.
    at = {key: one._file(key) for key in ("int64", "float64")}
    at["int64"].replace(at["float64"])
    assert one.load("float64") is None

    monkeypatch.setattr(numba_internals, "_KERNEL_DIGEST", "of other sources")
    monkeypatch.setattr(numba_internals, "_kernel_digest", lambda: "of other sources")
    later = numba_internals.KernelFiles(triple, tmp_path)
    assert later.load("int64") is None
    later.save("int64", "from other sources")
    assert later.load("int64") == "from other sources"
    assert list(tmp_path.iterdir()) == [later._file("int64")]
    later.flush()
    assert list(tmp_path.iterdir()) == []


def test_sources_edited_since_the_start_are_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = numba_internals.KernelFiles(triple, tmp_path)
    monkeypatch.setattr(numba_internals, "_kernel_digest", lambda: "of sources edited since")
    files.save("int64", "of unknown sources")
    assert list(tmp_path.iterdir()) == []


def test_a_numba_that_keeps_its_files_elsewhere_keeps_none(monkeypatch: pytest.MonkeyPatch) -> None:
    begin: Any = FunctionCache.__init__

    def without_files(self: Any, function: Callable[..., Any]) -> None:
        begin(self, function)
        del self._cache_file

    monkeypatch.setattr(FunctionCache, "__init__", without_files)
    compiled: Any = jit.jit(triple)
    assert compiled(2) == 6
    assert type(compiled._cache).__name__ == "NullCache"


def test_a_kernel_compiles_where_no_cache_can_be_kept(tmp_path: Path) -> None:
    # Numba gets only folders that do not exist, as in a read-only installation without a home folder.
    found = run_kernel(
        tmp_path, NUMBA_CACHE_LOCATOR_CLASSES="UserProvidedCacheLocator", NUMBA_CACHE_DIR="", HOME=""
    )
    assert found == ["42", "True", "NullCache", "0"]


def test_the_jit_can_be_switched_off(tmp_path: Path) -> None:
    assert run_kernel(tmp_path, NUMBA_DISABLE_JIT="1") == ["42", "False", "NoneType"]


def test_fast_math_is_off_and_the_gil_is_released() -> None:
    from engine.mechanisms.kernels.urn import synthesize_range

    compiled: Any = synthesize_range
    assert compiled.targetoptions["nogil"] is True
    assert compiled.targetoptions["fastmath"] is False


def test_the_cache_depends_on_every_kernel_source() -> None:
    from engine.mechanisms.kernels import urn

    compiled: Any = urn.synthesize_range
    files = compiled._cache._cache_file
    assert type(files) is numba_internals.KernelFiles
    assert files._sources == numba_internals._sources(Path(urn.__file__), numba_internals._kernel_digest())


def test_without_readable_sources_nothing_is_cached(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(numba_internals, "_KERNEL_DIGEST", "")
    compiled: Any = jit.jit(triple)
    assert compiled(2) == 6
    assert type(compiled._cache).__name__ == "NullCache"


UNKNOWN = {
    "version": "import numba; numba.__version__ = '0.99.1'",
    "missing name": "import numba.core.codegen as codegen; del codegen.JITCodeLibrary",
}
"""Ways in which a numba may not be as known."""


@pytest.mark.parametrize("way", UNKNOWN)
def test_with_an_unknown_numba_kernels_compile_plainly(tmp_path: Path, way: str) -> None:
    """They call each other as before, are kept in no file, and one line says why they compile in every run."""
    code = f"{UNKNOWN[way]}\n{CALLERS.split('found =')[0]}"
    script = tmp_path / "kernel.py"
    script.write_text(
        f"{code}\nfound = of_all(np.array([2**30], np.int32), np.array([2**40]))\n"
        "print(found == 2**31 + 2**41 + 6, type(twice).__name__)\n"
    )
    ran = subprocess.run(
        [sys.executable, "-B", "-W", "error", str(script)],
        env=os.environ | {"PYTHONPATH": str(Path(jit.__file__).parents[1])},
        capture_output=True,
        text=True,
        check=True,
    )
    assert ran.stdout.split() == ["True", "CPUDispatcher"]
    assert len(ran.stderr.splitlines()) == 1
    assert "not a version this program was tested with" in ran.stderr
    assert not (tmp_path / "__pycache__").exists()


def test_with_an_unknown_numba_a_synthesis_draws_the_same() -> None:
    """Worlds in processes of their own: the pinned draw and a whole release, compiled plainly."""
    from tests.engine.test_synthesis import PINNED, world_digest

    code = (
        f"{UNKNOWN['version']}\n"
        "from engine import jit as _jit\n"
        "assert _jit._INTERNALS is None\n"
        "from tests.engine.test_synthesis import pinned_digest, world_digest\n"
        "print(pinned_digest(), world_digest())"
    )
    root = Path(jit.__file__).parents[1]
    ran = subprocess.run(
        [sys.executable, "-c", code],
        cwd=root,
        env=os.environ | {"PYTHONPATH": str(root)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert ran.stdout.split() == [PINNED, world_digest()]


def test_the_known_versions_are_those_that_the_package_allows() -> None:
    """pyproject.toml and the guard name the same bounds, and the version that the tests run is within them."""
    text = (Path(jit.__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8")
    first, last = (".".join(map(str, bound)) for bound in (jit.KNOWN_FROM, jit.KNOWN_BELOW))
    assert f'"numba>={first},<{last}"' in text
    assert jit._is_known(numba.__version__)
    assert jit._INTERNALS is numba_internals
    for version in ("0.64.0", "0.69.0", "1.0.0", "0.70.0dev0", "unknown", "0"):
        assert not jit._is_known(version)
