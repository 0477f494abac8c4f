"""The whole-number units of prior weights and retention probabilities; :mod:`engine.units` exports them."""

from typing import Final

__all__ = ["RETENTION_BITS", "RETENTION_UNITS", "WEIGHT_BITS", "WEIGHT_UNITS"]

WEIGHT_BITS: Final = 20
WEIGHT_UNITS: Final = 1 << WEIGHT_BITS
RETENTION_BITS: Final = 32
RETENTION_UNITS: Final = 1 << RETENTION_BITS
