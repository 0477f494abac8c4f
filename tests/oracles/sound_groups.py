"""The sound bound of one class, redone from the weights that a certificate lists, at the kept mass that it states."""

import math
from collections.abc import Iterable

from engine.accountant.kernels import sound as kernels
from engine.accountant.sound import SoundAccounting, SoundBound, WeightGroup, groups_of_points
from engine.accountant.sound_bound import effective_groups, lowered_exponential, tail_space
from engine.errors import CertificateError
from engine.kernels.units import WEIGHT_UNITS
from engine.parameters import Number

_MARGIN = 1e-12


def groups_of(accounting: SoundAccounting, position: int) -> list[WeightGroup]:
    """Weights and retentions of one class of an accounting."""
    prior, tract = accounting.prior, int(accounting.tract[position])
    points = slice(int(prior.support_ptr[tract]), int(prior.support_ptr[tract + 1]))
    return groups_of_points(
        prior.base_weight[points],
        prior.retention[points],
        int(accounting.min_weight[position]),
        prune=bool(accounting.prune[position]),
    )


def sound_bound_of_groups(
    n: int, m: int, groups: Iterable[WeightGroup], epsilon_final: Number, mass_low: int, chernoff_rate: float
) -> SoundBound:
    """Recompute a bound from the weights that a certificate lists, at the kept mass that it states.

    Parameters
    ----------
    n, m : int
        Likelihood count and published count.
    groups : iterable of WeightGroup
        Weights and retentions, in units.
    epsilon_final : Fraction, str, int or float
        The promise.
    mass_low, chernoff_rate : int, float
        As stated.

    Returns
    -------
    SoundBound

    Raises
    ------
    CertificateError
        The groups are not valid weights, or the kept mass and the rate are not valid.
    """
    listed, kappa = effective_groups(n, m, groups)
    if not 0 <= mass_low <= kernels.prior_mass(listed)[1] or not 0 <= chernoff_rate < math.inf:
        raise CertificateError(f"kept mass {mass_low} and rate {chernoff_rate} do not fit the weights")
    e = lowered_exponential(epsilon_final)
    lost = float(kernels.mass_term(listed, mass_low, float(chernoff_rate)))
    mass = mass_low / WEIGHT_UNITS
    empty, occupied = kernels.failure_terms(n, m, listed, e, kappa, mass, math.inf, tail_space())
    delta = min((lost + empty + occupied) * (1.0 + _MARGIN), 1.0)
    rate = float(chernoff_rate) if lost > 0 else 0.0
    return SoundBound(kappa, mass_low, rate, lost, float(empty), float(occupied), delta)
