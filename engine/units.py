"""The whole-number units in which prior weights and retention probabilities are held, defined once.

Prior weights are int64 multiples of 2^-20 of a worker; ``WEIGHT_UNITS`` of them are one worker. Retention
probabilities are int64 multiples of 2^-32; ``RETENTION_UNITS`` of them mean "never pruned". Sampling and accounting
use the same integers, so that the accountant certifies exactly what is drawn.
"""

from engine._kernels.units import RETENTION_BITS, RETENTION_UNITS, WEIGHT_BITS, WEIGHT_UNITS

__all__ = ["RETENTION_BITS", "RETENTION_UNITS", "WEIGHT_BITS", "WEIGHT_UNITS"]
