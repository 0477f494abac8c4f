"""How exposed lone workers are expected to be under a setting, before anything is drawn, from public data alone.

Source: docs/design-search.md, "A ceiling on exposure".
"""

from __future__ import annotations

from engine.parameters import PrivacyParameters, SynthesisParameters
from engine.streams import PublicSeed
from mapapp.kinds.release.choose.public_part import PublicPart
from mapapp.kinds.release.make.certified_weights import certify_weights
from mapapp.kinds.release.make.lone_worker import lone_workers, mean_chance
from mapapp.kinds.release.make.prior import PublicPrior
from mapapp.kinds.release.make.support import build_support

__all__ = ["expected_exposure"]


def expected_exposure(
    public: PublicPart, prior: PublicPrior, privacy: PrivacyParameters, parameters: SynthesisParameters
) -> float:
    """Mean chance that a lone worker is shown in the true home tract, in the sampled destination tracts.

    What the certificate states of all tracts; for units larger than a cell, of its example. 0 without lone workers.

    Raises
    ------
    EngineError
        The setting cannot be certified.
    """
    sample = public.sample
    support = build_support(
        PublicSeed.for_tests(),
        public.geography.tracts,
        sample.destination_tract,
        prior,
        privacy,
        parameters,
    )
    certified = certify_weights(sample, support, privacy, parameters.mechanism)
    chances = lone_workers(certified, sample, support, privacy, parameters, is_sample=True)
    return mean_chance(chances.true_tract, chances.workers) or 0.0
