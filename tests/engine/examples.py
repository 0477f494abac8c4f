"""How many examples a property test of the engine runs."""

import numba

INTERPRETED = bool(numba.config.DISABLE_JIT)  # type: ignore[attr-defined]  # numba sets it as it is imported
"""Whether kernels run as plain Python, about a hundred times slower; then a few examples reach every line."""


def examples(n: int) -> int:
    return 5 if INTERPRETED else n
