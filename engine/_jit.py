"""The one place that knows numba: flags, cache, and what to do where no cache can be kept.

Every kernel of the engine is compiled by :func:`jit`. Fast-math is off, so that floating-point sums mean
what they say; the GIL is released, so that threads over ranges of synthesizers run at the same time.
"""

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numba
from numba.core import config

__all__ = ["jit", "lean_jit"]

_Function = TypeVar("_Function", bound=Callable[..., Any])

_FLAGS: dict[str, Any] = {"nopython": True, "nogil": True, "fastmath": False, "error_model": "numpy"}


def _kernel_digest() -> str:
    """Digest of every kernel source.

    Numba renews a cached function when its own file changes, but not when a function it calls changes in
    another file. A stale stream or urn would be a privacy fault, so the digest is made part of the stamp.
    """
    digest = hashlib.sha256()
    package = Path(__file__).parent
    for source in sorted((*package.glob("_jit.py"), *package.glob("_kernels/*.py"))):
        digest.update(source.read_bytes())
    return digest.hexdigest()


def _stamp_cache(dispatcher: Any) -> None:
    """Make the cache of one compiled function depend on the sources of all kernels."""
    cache_file = dispatcher._cache._cache_file
    cache_file._source_stamp = (cache_file._source_stamp, _KERNEL_DIGEST)


def jit(function: _Function) -> _Function:
    """Compile a kernel: cached, GIL released, fast-math off.

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
    return _compile(function, _FLAGS)


def lean_jit(function: _Function) -> _Function:
    """Compile, as :func:`jit` does, a kernel that makes no array but views: its arrays are not counted.

    Numba otherwise counts a reference, atomically, to each array that a kernel hands to another or cuts a
    view from. That costs ten times a random draw, and threads that share the arrays wait for each other.
    """
    return _compile(function, _FLAGS | {"_nrt": False})


def _compile(function: _Function, flags: dict[str, Any]) -> _Function:
    if config.DISABLE_JIT:  # type: ignore[attr-defined]
        return function
    if not _KERNEL_DIGEST:
        return numba.jit(**flags)(function)  # type: ignore[no-any-return]
    try:
        dispatcher = numba.jit(cache=True, **flags)(function)
        _stamp_cache(dispatcher)
    except (RuntimeError, OSError, AttributeError):
        # No directory can hold a cache (RuntimeError), or this numba keeps its stamp elsewhere
        # (AttributeError): no cache is better than one that can be stale.
        dispatcher = numba.jit(**flags)(function)
    return dispatcher  # type: ignore[no-any-return]


try:
    _KERNEL_DIGEST = _kernel_digest()
except OSError:
    _KERNEL_DIGEST = ""  # sources cannot be read (zipped installation): compile without a cache
