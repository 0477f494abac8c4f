"""A setting chosen from public data: what may be chosen, the choice by mechanism, its lines, and its check."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final, NamedTuple

import msgspec

from engine.parameters import Mechanism, Prior, PrivacyParameters, SynthesisParameters, Unit
from geodata.json_objects import JsonMapping, JsonObject
from geodata.store.store import Store
from mapapp.answers.claims import as_json
from mapapp.answers.release_claims import ParameterClaims
from mapapp.base.progress import Report, silent
from mapapp.kinds.base.certificate import Certificate, CertificateCheck
from mapapp.kinds.release.certificate.exponential import read_privacy
from mapapp.kinds.release.choose.cascade_choice import CascadeFacts, choose_cascade
from mapapp.kinds.release.choose.design_by_reader_errors import (
    COMPARED_MECHANISMS,
    DrawnDesignFacts,
    design_by_drawing,
    expected_misplaced,
)
from mapapp.kinds.release.choose.design_by_validity import DesignFacts, design_parameters, expected_divergence
from mapapp.kinds.release.choose.public_part import PublicPart, read_public_part
from mapapp.kinds.release.make.options import USUAL_MECHANISM

__all__ = [
    "Choice",
    "check_design",
    "choose_setting",
    "design_lines",
    "expected_by_choice",
    "expected_line",
    "expected_of",
    "exposure_line",
]

_SAME: Final = 1e-3  # relative; expected values are stated to four digits
_EQUAL: Final = 1.02  # of an earlier choice; 2% more would have ended its search


class Choice(NamedTuple):
    """What may be chosen besides numbers.

    Attributes
    ----------
    priors : tuple of str
        For the Dirichlet-multinomial alone; empty for all that the dataset has.
    units : tuple of str
        For mechanisms that take units.
    mechanisms : tuple of str
        Empty for the one in the parameters.
    cleaning : bool
        Whether cleaning may be left out.
    most_exposed : float or None
        Ceiling on the expected chance that a lone worker is shown in the true home tract.
    cascade : bool
        Whether the cascade is to be chosen or left out, and nothing else.
    """

    priors: tuple[Prior, ...] = ()
    units: tuple[Unit, ...] = ("cell",)
    mechanisms: tuple[Mechanism, ...] = ()
    cleaning: bool = False
    most_exposed: float | None = None
    cascade: bool = False


def choose_setting(
    public: PublicPart,
    privacy: PrivacyParameters,
    parameters: SynthesisParameters,
    choice: Choice,
    *,
    report: Report = silent,
    threads: int = 1,
) -> tuple[PrivacyParameters, SynthesisParameters, DesignFacts | DrawnDesignFacts | CascadeFacts]:
    """Choose what a mechanism leaves open at the promise of `privacy`; everything else is as in `parameters`.

    Where several mechanisms are compared, `parameters` are those of the exponential mechanism. The choice does not
    depend on the number of threads.

    Raises
    ------
    EngineError
        As :func:`mapapp.kinds.release.choose.design_by_validity.design_parameters` and
        :func:`mapapp.kinds.release.choose.design_by_reader_errors.design_by_drawing`.
    """
    if choice.cascade:
        return (privacy, *choose_cascade(public, privacy, parameters, report))
    if choice.mechanisms or parameters.mechanism == "exponential":
        return design_by_drawing(
            public,
            privacy.epsilon,
            base=parameters,
            units=choice.units,
            mechanisms=choice.mechanisms,
            delta=privacy.delta,
            cleaning=choice.cleaning,
            most_exposed=choice.most_exposed,
            report=report,
            threads=threads,
        )
    return design_parameters(
        public,
        privacy.epsilon,
        privacy.delta,
        base=parameters,
        priors=choice.priors or None,
        most_exposed=choice.most_exposed,
        report=report,
    )


def expected_of(
    public: PublicPart, privacy: PrivacyParameters, parameters: SynthesisParameters
) -> dict[str, float]:
    """Expected errors of a setting, from homes simulated from public data; empty under editing `drop`.

    The share of misplaced workers for the exponential mechanism, divergences for the Dirichlet-multinomial; names as in
    the facts of a choice.
    """
    if parameters.mechanism == "exponential":
        return {"expected_misplaced": expected_misplaced(public, privacy, parameters)}
    if parameters.editing != "drop":
        kl_all, kl_small = expected_divergence(public, privacy, parameters)
        return {"expected_kl_all": kl_all, "expected_kl_small": kl_small}
    return {}


def expected_by_choice(facts: JsonMapping) -> dict[str, float]:
    """Expected errors of a chosen setting, which its search has found already; names as of :func:`expected_of`."""
    names = ("expected_misplaced", "expected_kl_all", "expected_kl_small")
    return {name: facts[name] for name in names if name in facts}


def design_lines(certificate: Certificate) -> list[str]:
    """A line about how the setting was chosen; empty if the analyst gave it."""
    facts = certificate["construction"].get("design")
    if facts is None:
        return []
    mechanism = ""
    if "mechanisms" in facts:
        mechanism = f"{certificate['parameters']['synthesis'].get('mechanism', USUAL_MECHANISM)}, "
    lines = [
        f"  design           {mechanism}{_describe_setting(certificate['parameters'])}; chosen from public data out of "
        f"{facts['settings_tried']} settings, {expected_line(facts)}"
    ]
    if facts.get("most_exposed") is not None:
        lines.append(f"  exposure         {exposure_line(facts)}")
    if facts.get("runner_up"):
        lines.append(f"  runner-up        {_runner_up(facts)}")
    if "expected_misplaced_if_cleaned" in facts:
        lines.append(
            "  cleaning         left out: in homes simulated from public data, it would misplace more of all workers"
        )
    return lines


def _runner_up(facts: JsonMapping) -> str:
    share = facts["expected_misplaced_of_runner_up"]
    said = f"{facts['runner_up']}: {share:.1%} misplaced"
    if (
        share < facts["expected_misplaced"]
    ):  # among settings that cannot be told apart, the simplest is chosen
        said += ", which is no clear difference"
    return said


def expected_line(facts: JsonMapping) -> str:
    """What is to be expected of the chosen setting, in a few words."""
    if "expected_misplaced" in facts:
        return f"about {facts['expected_misplaced']:.1%} of workers misplaced"
    return (
        f"KL to be expected {facts['expected_kl_all']:.3g}, small workplaces {facts['expected_kl_small']:.3g}"
    )


def exposure_line(facts: JsonMapping) -> str:
    """What was asked and found of a ceiling on exposure, in a few words."""
    shown = (
        f"a lone worker is expected in the true home tract with a chance of {facts['expected_exposed']:.1%}"
    )
    if facts["meets_most_exposed"]:
        return f"{shown}, at most {facts['most_exposed']:.1%} as asked"
    return f"{shown}: no setting keeps to {facts['most_exposed']:.1%}, so the least exposed one was taken"


class _StatedChoice(msgspec.Struct, frozen=True, kw_only=True):
    """What was to be chosen, and how close it was, in the design of a certificate; earlier ones say less."""

    priors: tuple[Prior, ...] = ()
    units: tuple[Unit, ...] = ("cell",)
    mechanisms: tuple[str, ...] = ()
    most_exposed: float | None = None
    clean: bool = False
    delta: str = "1e-6"
    settings_tried: int = 0
    least: str = ""
    runner_up: str | None = None
    cascade: str | None = None


def check_design(release: Store, parameters: ParameterClaims, stated: JsonObject) -> CertificateCheck:
    """Choose the setting again from the release alone: it was chosen from public data if the same one comes out."""
    wanted = msgspec.convert(stated, _StatedChoice)
    given, privacy = SynthesisParameters.from_dict(parameters.synthesis), read_privacy(parameters)
    left = [name for name in wanted.mechanisms if name not in COMPARED_MECHANISMS]
    choice = Choice(
        priors=wanted.priors,
        units=wanted.units,
        mechanisms=tuple(mechanism for mechanism in COMPARED_MECHANISMS if mechanism in wanted.mechanisms),
        cleaning="expected_misplaced_if_cleaned" in stated,
        most_exposed=wanted.most_exposed,
        cascade=wanted.cascade is not None,
    )
    if choice.cleaning:
        given = replace(given, clean=True)
    if choice.mechanisms:
        # What mechanisms other than the chosen one would have used is stated with the choice.
        given = replace(given, mechanism="exponential", clean=wanted.clean)
        privacy = PrivacyParameters(epsilon=privacy.epsilon, delta=wanted.delta, accountant="sound")
    public = read_public_part(release, choice.units)
    chosen = choose_setting(public, privacy, given, choice)
    if left:
        return _check_earlier_choice(public, parameters, stated, chosen[2], left)
    again = {"privacy": chosen[0].stated(chosen[1].mechanism), "synthesis": chosen[1].to_dict()}
    facts: JsonMapping = {**chosen[2]}
    if "most_exposed" not in stated:  # from before there were ceilings
        facts = {name: fact for name, fact in facts.items() if name != "most_exposed"}
    expected = [name for name in facts if name.startswith("expected_")]
    same = again == as_json(parameters) and set(stated) == set(facts)
    # Another machine may round differently, and so skip a setting that this one tries.
    rounded = ("settings_tried", "least", "runner_up", *expected)
    same = same and all(stated[name] == fact for name, fact in facts.items() if name not in rounded)
    if same and all(_is_near(facts[name], stated[name]) for name in expected):
        return CertificateCheck(
            "design", True, "the same setting is chosen again from the release's public tables"
        )
    values = ", ".join(f"{name} {stated.get(name)} and {facts[name]}" for name in expected)
    return CertificateCheck(
        "design",
        False,
        f"stated: {_describe_setting(as_json(parameters))}; "
        f"from the release's public tables: {_describe_setting(again)}; {values}",
    )


def _check_earlier_choice(
    public: PublicPart,
    parameters: ParameterClaims,
    stated: JsonObject,
    facts: JsonMapping,
    left: Sequence[str],
) -> CertificateCheck:
    """Check a choice in which mechanisms took part that have left, which decided how the search began.

    `facts` are those of the choice among the mechanisms that remain. Radii near the minimum are about equally good, so
    the stated setting may differ, but what it is expected to misplace must be as stated, and hardly more.
    """
    share = expected_misplaced(
        public, read_privacy(parameters), SynthesisParameters.from_dict(parameters.synthesis)
    )
    good = _is_near(share, stated["expected_misplaced"]) and share <= _EQUAL * facts["expected_misplaced"]
    detail = (
        f"expected_misplaced {stated['expected_misplaced']} and {share:.4g}; without {', '.join(left)}, which only "
        f"version 0.1 can compare, {facts['expected_misplaced']}"
    )
    return CertificateCheck("design", good, detail)


def _is_near(value: float | None, stated: object) -> bool:
    if value is None or not isinstance(stated, int | float):
        return value is stated
    return abs(value - stated) <= _SAME * value


def _describe_setting(parameters: JsonMapping) -> str:
    privacy, synthesis = parameters["privacy"], parameters["synthesis"]
    near, far = (
        synthesis[name if name in synthesis else published]
        for name, published in (("tract_radius_mi", "q50_mi"), ("puma_radius_mi", "q90_mi"))
    )
    radii = f"radii {near:g} and {far:g} mi"
    if "unit" in synthesis:
        return f"{radii}, unit {synthesis['unit']}{', a cascade' * bool(synthesis.get('cascade'))}"
    return (
        f"{radii}, {synthesis['prior']} prior of strength {synthesis['strength']:g}, "
        f"min-retention {privacy['min_retention']}, retention-scale {synthesis['retention_scale']:g}"
    )
