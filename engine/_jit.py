"""How every kernel of the engine is compiled: the flags, and what to do with a numba whose internals are not known.

Fast-math is off, so that floating-point sums mean what they say; the GIL is released, so that threads over ranges of
synthesizers run at the same time.

`engine._numba_internals` makes kernels compile and start several times faster, and keeps them in files. It was tested
with numba 0.65.1 to 0.68.1. With any other version kernels are compiled by plain `numba.njit`, afresh in each process:
numba's own cache does not notice a changed kernel that another file calls. They draw the same.
"""

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, TypeVar

import numba

__all__ = ["jit", "kernels_mark", "lean_jit", "leave_mark"]

_Function = TypeVar("_Function", bound=Callable[..., Any])

KNOWN_FROM: Final = (0, 65)
KNOWN_BELOW: Final = (0, 69)
"""Versions of numba whose internals are known, as pyproject.toml bounds it."""
_FLAGS: Final[dict[str, Any]] = {
    "nogil": True,
    "fastmath": False,
    "error_model": "numpy",
}


def _is_known(version: str) -> bool:
    numbers = tuple(int(part) for part in version.split(".")[:2] if part.isdecimal())
    return KNOWN_FROM <= numbers < KNOWN_BELOW


def _internals() -> Any:
    """The module that uses numba's internals; None if they are not as known."""
    try:
        if _is_known(numba.__version__):
            from engine import _numba_internals

            return _numba_internals
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

    Where neither the installation nor the user's cache directory can be written, the kernel is compiled
    afresh in each process instead. With ``NUMBA_DISABLE_JIT=1`` the function comes back as it is.

    Parameters
    ----------
    function : callable
        A function in numba's nopython subset.

    Returns
    -------
    callable
        The compiled function, called as the original is.
    """
    return _compiled(function, _FLAGS)


def lean_jit(function: _Function) -> _Function:
    """Compile, as :func:`jit` does, a kernel that makes no array but views: its arrays are not counted.

    Numba otherwise counts a reference, atomically, to each array that a kernel hands to another or cuts a
    view from. That costs ten times a random draw, and threads that share the arrays wait for each other.
    """
    return _compiled(function, _FLAGS if _INTERNALS is None else _FLAGS | {"_nrt": False})


def kernels_mark(kernel: Callable[..., Any], what: str) -> Path | None:
    """Name of the file that says that `what` has been compiled, for these sources, this numba and this processor.

    It lies beside the compiled kernels. None if `kernel` is kept in no file.
    """
    mark: Path | None = None if _INTERNALS is None else _INTERNALS.kernels_mark(kernel, what)
    return mark


def leave_mark(mark: Path) -> None:
    """Make the file that :func:`kernels_mark` names, and drop what was left for other sources (OSError)."""
    mark.touch()
    sources = mark.name.split(".")[1]
    for other in mark.parent.glob("compiled.*.mark"):
        if f".{sources}." not in other.name:
            other.unlink(missing_ok=True)


def _compiled(function: _Function, flags: dict[str, Any]) -> _Function:
    if numba.config.DISABLE_JIT:  # type: ignore[attr-defined]
        return function
    compiled: Any = (
        numba.njit(**flags)(function) if _INTERNALS is None else _INTERNALS.compile_kernel(function, flags)
    )
    return compiled  # type: ignore[no-any-return]
