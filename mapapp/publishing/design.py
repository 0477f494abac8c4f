"""Choosing a setting from public data: radii, retention, strength and prior together, at a given promise.

The promise is given; what is chosen is how to keep it with the least expected divergence. No confidential count takes
part: the column of homes is not even read. Tables of homes are made from the public prior, and every setting is
certified and measured on them in closed form (`mapapp.publishing.expected_validity`). So the choice costs no privacy,
and anybody with the release can repeat it.

A prior always looks good on homes drawn from itself. Hence the homes are not. Where there are flows, a fifth follow the
gravity prior instead. Three in a hundred are anywhere, by population alone: P10 reports 3 to 7 % of workers where its
prior had nothing, and without them eliminating far points would look free. And every workplace draws a distribution of
its own around that (a Pólya urn: worker j lives where an earlier one does with probability j / (j + 25)).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Final, TypedDict

import numpy as np
import numpy.typing as npt

from engine.errors import CertificateError, EngineError, ParameterError
from engine.gravity import GravityDecay, decay_at
from engine.parameters import Number, Prior, PrivacyParameters, SynthesisParameters
from engine.streams import PublicSeed
from engine.tracts import great_circle_mi
from geodata.schema import N_SEGMENTS
from geodata.store import Store
from mapapp.progress import Report, silent
from mapapp.publishing.certificate.terms import Certificate, CertificateCheck
from mapapp.publishing.expected_validity import (
    Expected,
    HomeTracts,
    WorkplaceCounts,
    expected_validity,
    grid_around,
)
from mapapp.publishing.geography import Geography, Ints, Workplaces, read_geography, read_workplaces
from mapapp.publishing.inputs import segment_of
from mapapp.publishing.prior import PublicPrior, public_prior

Floats = npt.NDArray[np.float64]

WHOLE_EARTH_MI = 12_500.0
"""No two places are farther apart: as a radius, nothing is coarsened."""

TRACT_RADII_MI = (
    0.0,
    1.0,
    2.0,
    4.0,
    6.0,
    8.0,
    10.0,
    12.0,
    15.0,
    20.0,
    25.0,
    30.0,
    40.0,
    60.0,
    100.0,
    WHOLE_EARTH_MI,
)
PUMA_RADII_MI = (4.0, 10.0, 15.0, 20.0, 25.0, 30.0, 40.0, 50.0, 60.0, 80.0, 100.0, 150.0, WHOLE_EARTH_MI)
MIN_RETENTIONS = ("1", "0.3", "0.1", "0.025", "0.01")
RETENTION_SCALES = (0.0, 1.0, 3.0, 10.0)
STRENGTHS = (0.0, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)

_PUBLIC_COLUMNS = ["destination_index", "age", "earnings", "industry", "count"]
_STARTS_MI = ((10.0, 25.0), (25.0, 40.0))
_MOST_TRACTS = 256
_LEAST_TRACTS = 48
_MOST_PAIRS = 2_000_000  # of destination and origin tracts, between the two numbers above
_MOST_NEAR = 4096  # tracts near a workplace on average; beyond, the points outnumber any count of workers
_MOST_ROUNDS = 4
_CONCENTRATION = 25.0
_SHARE_OF_FLOWS = 0.8
_SHARE_ANYWHERE = 0.03
_GENERATOR = 20100  # any number: the same homes in every run
_EXPECTED: Final = ("expected_kl_all", "expected_kl_small")
_ROUNDED: Final = ("settings_tried", *_EXPECTED)
_SAME = 1e-3  # relative; they are stated to four digits
_WORTH_IT = 0.995  # a setting replaces a simpler one only if it is better by this much


class DesignFacts(TypedDict):
    """How a setting was chosen, for the certificate."""

    priors: list[Prior]
    objective: str
    homes: str
    concentration: float
    share_anywhere: float
    tracts_looked_at: int
    settings_tried: int
    expected_kl_all: float
    expected_kl_small: float


@dataclass(frozen=True, slots=True, kw_only=True)
class PublicPart:
    """What the choice is made from: the public part of a dataset, or of a release.

    Attributes
    ----------
    geography : Geography
        Tracts, blocks and public flows.
    workplaces : Workplaces
        All destination tracts and their workers.
    sample : WorkplaceCounts
        Synthesizers of 48 to 256 destination tracts, evenly spaced in their order.
    """

    geography: Geography
    workplaces: Workplaces
    sample: WorkplaceCounts


def read_public_part(store: Store) -> PublicPart:
    """Read geography, flows, and workers by workplace and segment; of the homes, nothing.

    Raises
    ------
    StoreError
        When the store holds no jobs.
    """
    geography = read_geography(store)
    workplaces = read_workplaces(store, geography)
    n_tracts = workplaces.tract.size
    size = min(n_tracts, max(_LEAST_TRACTS, min(_MOST_TRACTS, _MOST_PAIRS // geography.tracts.n_tracts)))
    chosen = workplaces.tract[np.linspace(0, n_tracts - 1, size).round().astype(np.int64)]
    return PublicPart(
        geography=geography, workplaces=workplaces, sample=_counts(store, geography, np.unique(chosen))
    )


def _counts(store: Store, geography: Geography, destination_tract: Ints) -> WorkplaceCounts:
    """Workers by workplace and segment in some destination tracts."""
    is_chosen = np.zeros(geography.tracts.n_tracts, dtype=np.bool_)
    is_chosen[destination_tract] = True
    found, workers = [], []
    for part in store.batches("jobs", _PUBLIC_COLUMNS):
        destination = part["destination_index"].to_numpy().astype(np.int64)
        mine = is_chosen[geography.tract_of_block[destination]]
        columns = {name: part[name].to_numpy()[mine] for name in _PUBLIC_COLUMNS}
        found.append(destination[mine] * N_SEGMENTS + segment_of(columns))
        workers.append(columns["count"])
    synthesizer, of = np.unique(np.concatenate(found), return_inverse=True)
    destination = synthesizer // N_SEGMENTS
    tract = np.searchsorted(destination_tract, geography.tract_of_block[destination])
    return WorkplaceCounts(
        destination_tract=destination_tract,
        destination=destination,
        tract=tract.astype(np.int32),
        count=np.bincount(of, np.concatenate(workers)).astype(np.int64),
    )


def design_parameters(
    public: PublicPart,
    epsilon_final: Number,
    delta: Number,
    *,
    base: SynthesisParameters | None = None,
    priors: Iterable[Prior] | None = None,
    concentration: float = _CONCENTRATION,
    report: Report = silent,
) -> tuple[PrivacyParameters, SynthesisParameters, DesignFacts]:
    """Search for the setting with the least expected divergence under the sound accountant.

    What is minimised: half the mean KL over all destinations, half that over small ones (1 to 9 workers), each
    weighted by workers; over all alone where none is small. One choice is changed at a time, each value of it tried,
    until none gets better.

    Parameters
    ----------
    public : PublicPart
        From :func:`read_public_part`.
    epsilon_final, delta : Fraction, str, int or float
        The promise.
    base : SynthesisParameters, optional
        Everything that is not searched is taken from here: percentiles, editing, placement.
    priors : iterable of {"gravity", "flows", "uniform"}, optional
        Which priors may be chosen; gravity by default, and flows where the dataset has them.
    concentration : float
        How many workers of a workplace it takes for its own past to weigh as much as the public distribution;
        infinite for homes drawn from that distribution alone.
    report : callable
        Progress.

    Returns
    -------
    privacy : PrivacyParameters
        With the chosen min_retention.
    parameters : SynthesisParameters
        With the chosen radii, strength, retention_scale and prior.
    facts : dict
        How they were chosen, for the certificate.

    Raises
    ------
    ParameterError
        The promise or `base` is not valid.
    CertificateError
        Nothing that was tried can be certified at this promise.

    Source: docs/method.md, sections 2, 3, 5b, 6 and 10.
    """
    shape = base or SynthesisParameters()
    priors_of = _Priors(public, shape)
    allowed = tuple(priors) if priors is not None else priors_of.allowed
    if not allowed or not concentration > 0:
        raise ParameterError(
            f"priors are {allowed}, concentration {concentration}: give a prior, and more than 0"
        )
    promise = PrivacyParameters(epsilon=epsilon_final, delta=delta, accountant="sound")
    homes = simulated_homes(public, priors_of.gravity, concentration)
    distance_mi = great_circle_mi(public.geography.tracts, public.sample.destination_tract)
    too_wide = {r for r in TRACT_RADII_MI if (distance_mi < r).sum(axis=1).mean() > _MOST_NEAR}
    search = _Search(public, homes, promise, shape, priors_of, too_wide, report)
    best = min((search.descend(start, allowed) for start in _starts(allowed[0])), key=search.objective)
    found = search.measured[best]
    if found is None:
        raise CertificateError(
            f"no setting holds at epsilon_final {float(promise.epsilon):g}, delta {float(promise.delta):g}; raise "
            "epsilon_final"
        )
    facts: DesignFacts = {
        "priors": list(allowed),
        "objective": "half KL over all destinations, half over those of 1 to 9 workers",
        "homes": f"simulated from public {'gravity' if public.geography.flows.empty else 'flows and gravity'}",
        "concentration": concentration,
        "share_anywhere": _SHARE_ANYWHERE,
        "tracts_looked_at": int(public.sample.destination_tract.size),
        "settings_tried": len(search.measured),
        "expected_kl_all": float(f"{found.kl_all:.4g}"),
        "expected_kl_small": float(f"{found.kl_small:.4g}"),
    }
    return *search.parameters(best), facts


def design_lines(certificate: Certificate) -> list[str]:
    """A line about how the setting was chosen; empty if the analyst gave it."""
    facts = certificate["construction"].get("design")
    if facts is None:
        return []
    privacy, chosen = (certificate["parameters"][part] for part in ("privacy", "synthesis"))
    return [
        f"  design           {_described(privacy, chosen)}; chosen from public data out of {facts['settings_tried']} "
        f"settings, KL to be expected {facts['expected_kl_all']:.3g}, small workplaces {facts['expected_kl_small']:.3g}"
    ]


def check_design(release: Store, certificate: Certificate) -> CertificateCheck:
    """Choose the setting again from the release alone: it was chosen from public data if the same one comes out."""
    stated, parameters = certificate["construction"]["design"], certificate["parameters"]
    promise = PrivacyParameters.from_dict(parameters["privacy"])
    found = design_parameters(
        read_public_part(release),
        promise.epsilon,
        promise.delta,
        base=SynthesisParameters.from_dict(parameters["synthesis"]),
        priors=stated["priors"],
    )
    again, chosen, facts = found[0].to_dict(), found[1].to_dict(), found[2]
    same = again == parameters["privacy"] and chosen == parameters["synthesis"] and set(stated) == set(facts)
    # Another machine may round differently, and so skip a setting that this one tries.
    same = same and all(stated[name] == fact for name, fact in facts.items() if name not in _ROUNDED)
    expected = {name: facts[name] for name in _EXPECTED}
    if same and all(abs(kl - stated[name]) <= _SAME * kl for name, kl in expected.items()):
        return CertificateCheck(
            "design", True, "the same setting is chosen again from the release's public tables"
        )
    return CertificateCheck(
        "design",
        False,
        f"stated: {_described(parameters['privacy'], parameters['synthesis'])}; from the release's public tables: "
        f"{_described(again, chosen)}; expected KL {stated.get('expected_kl_all')} and {facts['expected_kl_all']}",
    )


def _described(privacy: Certificate, parameters: Certificate) -> str:
    return (
        f"radii {parameters['tract_radius_mi']:g} and {parameters['puma_radius_mi']:g} mi, "
        f"{parameters['prior']} prior of strength {parameters['strength']:g}, "
        f"min-retention {privacy['min_retention']}, retention-scale {parameters['retention_scale']:g}"
    )


@dataclass(frozen=True, slots=True)
class _Setting:
    """What is searched, simplest first where two are as good."""

    prior: Prior
    tract_radius_mi: float
    puma_radius_mi: float
    min_retention: str = "1"
    retention_scale: float = 0.0
    strength: float = 0.0


def _starts(prior: Prior) -> list[_Setting]:
    return [_Setting(prior, *radii) for radii in _STARTS_MI]


class _Search:
    """Coordinate descent over settings, each measured once."""

    def __init__(
        self,
        public: PublicPart,
        homes: HomeTracts,
        promise: PrivacyParameters,
        shape: SynthesisParameters,
        priors: _Priors,
        too_wide: set[float],
        report: Report,
    ) -> None:
        self.measured: dict[_Setting, Expected | None] = {}
        self._public, self._homes, self._shape, self._report = public, homes, shape, report
        self._promise, self._priors, self._too_wide = promise, priors, too_wide

    def parameters(self, setting: _Setting) -> tuple[PrivacyParameters, SynthesisParameters]:
        """The setting as the engine takes it."""
        privacy = PrivacyParameters(
            epsilon=self._promise.epsilon,
            delta=self._promise.delta,
            min_retention=setting.min_retention,
            accountant="sound",
        )
        parameters = replace(
            self._shape,
            prior=setting.prior,
            tract_radius_mi=setting.tract_radius_mi,
            puma_radius_mi=setting.puma_radius_mi,
            strength=setting.strength,
            retention_scale=setting.retention_scale,
        )
        return privacy, parameters

    def objective(self, setting: _Setting) -> float:
        """What is minimised; infinite where the setting cannot be certified."""
        if setting.tract_radius_mi in self._too_wide:
            return np.inf
        if setting not in self.measured:
            self._report("choosing a setting from public data", len(self.measured), 0)
            try:
                self.measured[setting] = self._measure(setting)
            except EngineError:
                self.measured[setting] = None
        found = self.measured[setting]
        if found is None:
            return np.inf
        return (found.kl_all + found.kl_small) / 2 if found.is_small.any() else found.kl_all

    def _measure(self, setting: _Setting) -> Expected:
        return expected_validity(
            PublicSeed.for_tests(),
            self._public.geography.tracts,
            self._priors.of(setting.prior),
            self._public.sample,
            self._homes,
            *self.parameters(setting),
        )

    def descend(self, setting: _Setting, priors: tuple[Prior, ...]) -> _Setting:
        """Change one choice at a time, as long as that helps."""
        steps: tuple[Callable[[_Setting], list[_Setting]], ...] = (
            _tract_radii,
            _puma_radii,
            lambda at: [replace(at, prior=prior) for prior in priors],
            lambda at: [replace(at, min_retention=least) for least in MIN_RETENTIONS],
            lambda at: [replace(at, retention_scale=scale) for scale in RETENTION_SCALES],
            lambda at: [replace(at, strength=strength) for strength in STRENGTHS],
        )
        for _ in range(_MOST_ROUNDS):
            before = setting
            for step in steps:
                setting = self._best([setting, *step(setting)])
            if setting == before:
                break
        return setting

    def _best(self, settings: list[_Setting]) -> _Setting:
        """The first unless another is worth the change."""
        best = min(settings, key=self.objective)
        return best if self.objective(best) < _WORTH_IT * self.objective(settings[0]) else settings[0]


def _tract_radii(at: _Setting) -> list[_Setting]:
    return [
        replace(at, tract_radius_mi=radius, puma_radius_mi=max(radius, at.puma_radius_mi))
        for radius in TRACT_RADII_MI
    ]


def _puma_radii(at: _Setting) -> list[_Setting]:
    return [replace(at, puma_radius_mi=r) for r in PUMA_RADII_MI if r >= at.tract_radius_mi]


class _Priors:
    """The public priors of one dataset, each fitted once."""

    def __init__(self, public: PublicPart, shape: SynthesisParameters) -> None:
        self._public, self._shape = public, shape
        self._made: dict[Prior, PublicPrior] = {}

    @property
    def allowed(self) -> tuple[Prior, ...]:
        """Those that the dataset has."""
        return ("gravity",) if self._public.geography.flows.empty else ("gravity", "flows")

    @property
    def gravity(self) -> GravityDecay:
        """The gravity model's decay."""
        decay = self.of("gravity").decay
        assert decay is not None
        return decay

    def of(self, prior: Prior) -> PublicPrior:
        """One of them."""
        if prior not in self._made:
            self._made[prior] = public_prior(
                self._public.geography, self._public.workplaces, replace(self._shape, prior=prior)
            )
        return self._made[prior]


def simulated_homes(public: PublicPart, decay: GravityDecay, concentration: float) -> HomeTracts:
    """A home tract for every worker of the sample, from public data and a fixed seed.

    Parameters
    ----------
    public : PublicPart
    decay : GravityDecay
        Of the gravity model.
    concentration : float
        As in :func:`design_parameters`.
    """
    sample = public.sample
    mass = public_distribution(public, decay)
    draw = np.random.default_rng(_GENERATOR)
    tract = np.repeat(sample.tract, sample.count)
    value = draw.random(tract.size)
    home = np.empty(tract.size, dtype=np.int64)
    # Blocks are sorted by tract, so workers come sorted by both.
    for position in range(sample.destination_tract.size):
        mine = slice(*np.searchsorted(tract, (position, position + 1)))
        below = np.cumsum(mass[position])
        home[mine] = np.searchsorted(below, value[mine] * below[-1], side="right")
    home = np.minimum(home, mass.shape[1] - 1)
    destination = np.repeat(sample.destination, sample.count)
    first = np.searchsorted(destination, destination)
    earlier = np.arange(destination.size) - first
    copies = draw.random(destination.size) * (concentration + earlier) < earlier
    source = first + (draw.random(destination.size) * earlier).astype(np.int64)
    for worker in np.flatnonzero(copies):
        home[worker] = home[source[worker]]
    return HomeTracts(
        cell=grid_around(public.geography.tracts, sample.destination_tract)[1], origin_tract=home
    )


def public_distribution(public: PublicPart, decay: GravityDecay) -> Floats:
    """Where the workers of each destination tract live by public data: float64[T, n_tracts], rows sum to 1."""
    tracts, at = public.geography.tracts, public.sample.destination_tract
    mass = _by_row(tracts.population * decay_at(great_circle_mi(tracts, at), decay))
    flows = public.geography.flows
    flows = flows[flows["destination_tract_index"].isin(at)]
    if not flows.empty:
        row = np.searchsorted(at, flows["destination_tract_index"].to_numpy(np.int64))
        flow = np.zeros_like(mass)
        np.add.at(flow, (row, flows["origin_tract_index"].to_numpy(np.int64)), flows["weight"].to_numpy())
        known = flow.any(axis=1)
        mass[known] = _SHARE_OF_FLOWS * _by_row(flow[known]) + (1 - _SHARE_OF_FLOWS) * mass[known]
    anywhere = tracts.population / tracts.population.sum()
    return np.asarray((1 - _SHARE_ANYWHERE) * mass + _SHARE_ANYWHERE * anywhere)


def _by_row(mass: Floats) -> Floats:
    return np.asarray(mass / mass.sum(axis=1, keepdims=True))
