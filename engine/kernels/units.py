"""The whole-number units of prior weights and retention probabilities; :mod:`engine.kernels.units` exports them."""

from __future__ import annotations

from typing import Final

WEIGHT_BITS: Final = 20
WEIGHT_UNITS: Final = 1 << WEIGHT_BITS
RETENTION_BITS: Final = 32
RETENTION_UNITS: Final = 1 << RETENTION_BITS


# The whole-number units in which prior weights and retention probabilities are held, defined once.
#
# Prior weights are int64 multiples of 2^-20 of a worker; ``WEIGHT_UNITS`` of them are one worker. Retention
# probabilities are int64 multiples of 2^-32; ``RETENTION_UNITS`` of them mean "never pruned". Sampling and accounting
# use the same integers, so that the accountant certifies exactly what is drawn.
