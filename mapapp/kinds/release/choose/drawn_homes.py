"""Homes compared with those of one draw with the published test key: what a setting would do, before a release is made.

The draw goes the whole way of a release, cleaning and placing in blocks included, and stays in memory.
"""

from __future__ import annotations

from engine.parameters import PrivacyParameters, SynthesisParameters
from engine.streams import SecretKey
from mapapp.kinds.base.compared_homes import ComparedHomes, Places, compare_homes
from mapapp.kinds.base.geography import Geography
from mapapp.kinds.base.inputs import Inputs
from mapapp.kinds.release.make.batch import draw_workers
from mapapp.kinds.release.make.certified_weights import CertifiedClasses
from mapapp.kinds.release.make.support import Support

__all__ = ["drawn_homes"]


def drawn_homes(
    inputs: Inputs,
    geography: Geography,
    places: Places,
    support: Support,
    certified: CertifiedClasses,
    privacy: PrivacyParameters,
    parameters: SynthesisParameters,
) -> ComparedHomes:
    """Draw the workers of some destination tracts once, and compare their homes with those in `inputs`."""
    drawn = draw_workers(
        SecretKey.for_tests(),
        inputs,
        geography,
        support,
        certified.of_synthesizers(),
        privacy,
        parameters,
    )
    return compare_homes(inputs, drawn.home_block, geography, places)
