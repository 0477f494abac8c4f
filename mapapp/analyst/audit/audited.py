"""What is audited: a release that was drawn, or a setting drawn once in memory before anything is released.

Both give, for the workers of some destination tracts, the support points that an attacker can rebuild from public data,
the certified prior weights, and a synthetic home for every worker.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from engine.parameters import PrivacyParameters, SynthesisParameters
from engine.streams import PublicSeed, SecretKey
from geodata.store.manifest import read_manifest
from mapapp.analyst.validity.confidential_parts import AnalystData
from mapapp.analyst.validity.drawn import DrawnRelease, open_release, other_counts
from mapapp.analyst.validity.tract_workers import TractReader, TractWorkers
from mapapp.base.errors import UsageError
from mapapp.kinds.base.geography import Geography
from mapapp.kinds.base.inputs import Inputs
from mapapp.kinds.release.make.batch import draw_workers
from mapapp.kinds.release.make.certified_weights import CertifiedClasses, certify_weights
from mapapp.kinds.release.make.prior import PublicPrior
from mapapp.kinds.release.make.support import Support, build_support

__all__ = ["Audited", "AuditedPart", "audited_release", "audited_setting"]

Blocks = npt.NDArray[np.int32]


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditedPart:
    """Some destination tracts of what is audited.

    Attributes
    ----------
    panel : TractWorkers
        The real workers. Confidential.
    support : Support
    point_of_tract : int32[T, n_tracts]
        Local support point of every origin tract, -1 where editing dropped it.
    certified : CertifiedClasses
    drawn : Inputs
        What the draw reads: the workers of `panel`, in other segments where these were computed from margins.
    home_block : int32[W]
        Row of `blocks` of every synthetic home, synthesizer by synthesizer, in the order of `drawn`. Which of a
        synthesizer's workers has which synthetic home means nothing.
    """

    panel: TractWorkers
    support: Support
    point_of_tract: Blocks
    certified: CertifiedClasses
    drawn: Inputs
    home_block: Blocks


@dataclass(frozen=True, slots=True, kw_only=True)
class Audited:
    """A release, or a setting that was drawn once with the published test key.

    Attributes
    ----------
    name : str
        For tables and sentences: the release's folder name, or the setting's.
    privacy, parameters
        The promise and the shape of the synthesizers.
    epsilon_final : float or None
        The whole promise, as the certificate states it; None for a setting, and for a mechanism that promises nothing.
    delta : float or None
    is_release : bool
        False for a setting.
    """

    name: str
    privacy: PrivacyParameters
    parameters: SynthesisParameters
    epsilon_final: float | None
    delta: float | None
    is_release: bool
    _geography: Geography
    _prior: PublicPrior
    _seed: PublicSeed
    _homes: Callable[[TractWorkers, Support, CertifiedClasses], Blocks]
    _marginal: TractReader | None = None

    @property
    def has_joint_segments(self) -> bool:
        """Whether real and synthetic workers have the same joint segments; if not, compare blocks and margins alone."""
        return self._marginal is None

    def part(self, panel: TractWorkers) -> AuditedPart:
        """Rebuild the support points of some destination tracts, and read or draw their synthetic homes.

        Raises
        ------
        UsageError
            The release has other workers by workplace and segment.
        EngineError
            The setting cannot be certified.
        """
        inputs = panel.inputs if self._marginal is None else self._marginal.read(panel.position)
        support = build_support(
            self._seed,
            self._geography.tracts,
            inputs.destination_tract,
            self._prior,
            self.privacy,
            self.parameters,
        )
        certified = certify_weights(inputs, support, self.privacy, self.parameters.mechanism)
        return AuditedPart(
            panel=panel,
            support=support,
            point_of_tract=support.point_of_tract,
            certified=certified,
            drawn=inputs,
            home_block=self._homes(replace(panel, inputs=inputs), support, certified),
        )


def audited_release(data: AnalystData, path: Path) -> Audited:
    """Open a release to audit it.

    Raises
    ------
    StoreError
        It is not a release.
    UsageError
        It is worker records, or its geography or its workplaces are not those of the dataset.
    """
    if read_manifest(path).get("kind") == "records":
        raise UsageError(
            f"{path}: an audit attacks the homes of a release, and cannot read worker records; measure them with "
            f"`commutemap validate {data.store.path} {path}`"
        )
    release = open_release(data, path)
    _refuse_cascade(release.parameters, str(path))
    reader = TractReader(release.store, data.geography, release.workplaces)

    def homes(panel: TractWorkers, _support: Support, _certified: CertifiedClasses) -> Blocks:
        return _released_homes(panel, data, release, reader)

    return Audited(
        name=path.resolve().name,
        privacy=release.privacy,
        parameters=release.parameters,
        epsilon_final=release.certificate.epsilon_final.value,
        delta=release.certificate.delta.value,
        is_release=True,
        _geography=release.geography,
        _prior=release.prior,
        _seed=release.seed,
        _homes=homes,
        _marginal=_marginal_reader(data, release.parameters),
    )


def _marginal_reader(data: AnalystData, parameters: SynthesisParameters) -> TractReader | None:
    """Reads the workers with segments from margins; None if the draw has the dataset's own."""
    drawn_from = data.select_drawn_data(parameters)
    if drawn_from is data:
        return None
    return TractReader(drawn_from.store, drawn_from.geography, drawn_from.workplaces)


def _released_homes(
    panel: TractWorkers, data: AnalystData, release: DrawnRelease, reader: TractReader
) -> Blocks:
    real, drawn = panel.inputs, reader.read(panel.position)
    for name in ("destination", "segment", "count"):
        if not np.array_equal(getattr(real, name), getattr(drawn, name)):
            raise UsageError(other_counts(release.store.path, data.store))
    return drawn.worker_origin


def _refuse_cascade(parameters: SynthesisParameters, name: str) -> None:
    """Refuse what was drawn as a cascade: the attacker would have to be one on clusters."""
    if parameters.cascade:
        raise UsageError(f"{name}: drawn with --cascade on, which an audit cannot attack yet; leave it out")


def audited_setting(
    data: AnalystData, name: str, privacy: PrivacyParameters, parameters: SynthesisParameters
) -> Audited:
    """Make a setting ready to audit: its homes are drawn once with the published test key, as `synthesize --test-key`.

    Nothing is released, so nothing is spent.

    Raises
    ------
    EngineError
        The public prior cannot be made.
    """

    _refuse_cascade(parameters, name)

    def homes(panel: TractWorkers, support: Support, certified: CertifiedClasses) -> Blocks:
        weights = certified.of_synthesizers()
        drawn = draw_workers(
            SecretKey.for_tests(), panel.inputs, data.geography, support, weights, privacy, parameters
        )
        return drawn.home_block

    return Audited(
        name=name,
        privacy=privacy,
        parameters=parameters,
        epsilon_final=None,
        delta=0.0 if parameters.mechanism == "exponential" else float(privacy.delta),
        is_release=False,
        _geography=data.geography,
        _prior=data.prior(parameters),
        _seed=PublicSeed.for_tests(),
        _homes=homes,
        _marginal=_marginal_reader(data, parameters),
    )
