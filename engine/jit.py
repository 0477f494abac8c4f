"""How every kernel of the engine is compiled: the flags, and the fallback for untested versions of numba.

Fast-math is off, so that floating-point sums are evaluated as written. The GIL is released, so that threads over
ranges of synthesizers run at the same time.

`engine.numba_internals` makes kernels compile and start several times faster, and keeps them in files. It was tested
with numba 0.65.1 to 0.68.1. With any other version plain `numba.njit` compiles kernels in each process, because
numba's own cache does not notice changes in a kernel that another file calls. The results are the same.
"""

import logging
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any, Final, TypeVar

import numba

__all__ = ["jit", "kernels_mark", "lean_jit", "leave_mark"]

_Function = TypeVar("_Function", bound=Callable[..., object])

KNOWN_FROM: Final = (0, 65)
KNOWN_BELOW: Final = (0, 69)
"""Versions of numba whose internals were tested; the same range as in pyproject.toml."""
_FLAGS: Final[dict[str, Any]] = {
    "nogil": True,
    "fastmath": False,
    "error_model": "numpy",
}


def _is_known(version: str) -> bool:
    numbers = tuple(int(part) for part in version.split(".")[:2] if part.isdecimal())
    return KNOWN_FROM <= numbers < KNOWN_BELOW


def _internals() -> ModuleType | None:
    """The module that uses numba's internals; None if this version was not tested."""
    try:
        if _is_known(numba.__version__):
            from engine import numba_internals

            return numba_internals
    except (ImportError, AttributeError, TypeError):  # a patched or incomplete numba
        pass
    logging.getLogger("commutemap").warning(
        "numba %s is not a version this program was tested with (%s to below %s): kernels are compiled in every run",
        numba.__version__,
        ".".join(map(str, KNOWN_FROM)),
        ".".join(map(str, KNOWN_BELOW)),
    )
    return None


_INTERNALS: Final = _internals()


def jit(function: _Function) -> _Function:
    """Compile a kernel: GIL released, fast-math off, kept in a file if possible.

    If neither the installation nor the user's cache directory is writable, the kernel is compiled in each process
    instead. With ``NUMBA_DISABLE_JIT=1`` the function is returned unchanged.

    Parameters
    ----------
    function : callable
        A function in numba's nopython subset.

    Returns
    -------
    callable
        The compiled function, called like the original.
    """
    return _compile(function, _FLAGS)


def lean_jit(function: _Function) -> _Function:
    """Compile a kernel that makes no arrays except views as :func:`jit` does, but without reference counts.

    Python must not call a kernel that returns a view: nothing would keep the array of the view alive.

    Otherwise numba counts, atomically, a reference to each array that a kernel passes to another or takes a
    view of. That costs ten times as much as a random draw, and threads that share the arrays wait for each other.
    """
    return _compile(function, _FLAGS if _INTERNALS is None else _FLAGS | {"_nrt": False})


def kernels_mark(kernel: Callable[..., object], what: str) -> Path | None:
    """Path of the file that marks `what` as compiled, for these sources, this numba and this processor.

    It lies beside the compiled kernels. None if `kernel` is not kept in files.
    """
    mark: Path | None = None if _INTERNALS is None else _INTERNALS.kernels_mark(kernel, what)
    return mark


def leave_mark(mark: Path) -> None:
    """Create the file that :func:`kernels_mark` names, and delete the marks of other sources (OSError)."""
    mark.touch()
    sources = mark.name.split(".")[1]
    for stale_mark in mark.parent.glob("compiled.*.mark"):
        if f".{sources}." not in stale_mark.name:
            stale_mark.unlink(missing_ok=True)


def _compile(function: _Function, flags: dict[str, Any]) -> _Function:
    if numba.config.DISABLE_JIT:  # type: ignore[attr-defined]  # numba sets it as it is imported
        return function
    compiled: Any = (
        numba.njit(**flags)(function) if _INTERNALS is None else _INTERNALS.compile_kernel(function, flags)
    )
    return compiled  # type: ignore[no-any-return]  # numba returns a function of the same type
