"""What `synthesize --dry-run` says: the certificate and the expected errors of a release that is not made.

Nothing is entered in the ledger, drawn or written.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt
import pandas

from engine.accountant.sound import require_fixed_count
from engine.parameters import PrivacyParameters, SynthesisParameters
from engine.placement.placement import BlockTable
from engine.precompile import ensure_compiled, stages_of
from engine.streams import PublicSeed, SecretKey
from engine.support.gravity import GravityDecay
from geodata.json_objects import JsonObject
from geodata.store.store import Store
from mapapp.answers.errors.stated_errors import stated_errors
from mapapp.answers.promise.lone_worker import stay_text, true_tract_text
from mapapp.base.progress import Report, silent
from mapapp.kinds.base.certificate import Certificate
from mapapp.kinds.base.compared_homes import Places, compare_homes
from mapapp.kinds.base.count_exposure import CountExposure, count_exposure
from mapapp.kinds.base.geography import Ints
from mapapp.kinds.base.inputs import Inputs
from mapapp.kinds.base.plain_measures import PlainMeasures, plain_measures, read_sizes
from mapapp.kinds.release.choose.public_part import (
    CONCENTRATION,
    PublicPart,
    PublicPriors,
    public_part_of,
    simulated_homes,
)
from mapapp.kinds.release.choose.setting_choice import (
    Choice,
    design_lines,
    expected_by_choice,
    expected_line,
    expected_of,
)
from mapapp.kinds.release.make.batch import ThreadRunner, draw_workers, jobs_of
from mapapp.kinds.release.make.certified_weights import certify_weights
from mapapp.kinds.release.make.ledger_forecast import LedgerForecast, ledger_forecast
from mapapp.kinds.release.make.margin_options import WHOLE_DATASET, DatasetView
from mapapp.kinds.release.make.run import (
    ReleaseSizes,
    claimed_certificate,
    prepared_source,
    promise_line,
    status_lines,
)
from mapapp.kinds.release.make.support import build_support

# The measures that a planner understands, to be expected of a setting: from public data alone.
#
# The homes are simulated from public data (`mapapp.kinds.release.choose.public_part`), placed in blocks by population,
# and drawn once with the published test key, as a release is. So nothing here depends on the confidential homes, and
# anybody with the public tables gets the same numbers. Errors of inflow and of flows are those that the pages of a
# release with these workers would state, by the same formula. How far a draw is from simulated homes would say less:
# these are more scattered than real ones, and cleaning takes noise out by the very model that they come from.

_CONFIDENTIAL: Final = (
    "CONFIDENTIAL: all of this follows from numbers of jobs that nobody has declared public "
    "(commutemap declare DATASET --counts-are-public)"
)
Setting = tuple[PrivacyParameters, SynthesisParameters]

_PLACING: Final = 20102  # any number: the same blocks in every run


def expected_plain(
    store: Store, certificate: Certificate, public: PublicPart, setting: Setting
) -> PlainMeasures:
    """Draw a setting once in place of homes simulated from public data; say what a release of that would state.

    Parameters
    ----------
    store : Store
        The dataset, with the jobs of the setting; only their places of work are read.
    certificate : dict
        The claims of the setting.
    public : PublicPart
        Of the same dataset.
    setting : tuple of PrivacyParameters, SynthesisParameters

    Raises
    ------
    EngineError
        The setting cannot be certified.
    """
    privacy, parameters = setting
    geography, priors, sample = public.geography, PublicPriors(public, parameters), public.sample
    support = build_support(
        PublicSeed.for_tests(),
        geography.tracts,
        sample.destination_tract,
        priors.of(parameters.prior),
        privacy,
        parameters,
    )
    weights = certify_weights(sample, support, privacy, parameters.mechanism).of_synthesizers()
    inputs = simulated_inputs(public, priors.gravity)
    drawn = draw_workers(SecretKey.for_tests(), inputs, geography, support, weights, privacy, parameters)
    compared = compare_homes(inputs, drawn.home_block, geography, Places.read(store))
    is_sample = sample.destination_tract.size < public.workplaces.tract.size
    plain = plain_measures([compared], is_sample=True)
    jobs = store.replace_table("jobs", pandas.DataFrame(jobs_of(drawn)))
    stated = stated_errors(jobs, certificate, read_sizes(), of_inflow=not is_sample)
    # Some simulated homes are anywhere, so their average commute says nothing about the real one.
    return replace(
        plain,
        inflow={} if stated is None else stated.inflow,
        flows={} if stated is None else stated.flows,
        real_mi=math.nan,
        drawn_mi=math.nan,
    )


def simulated_inputs(public: PublicPart, gravity: GravityDecay) -> Inputs:
    """The workers of the public sample with homes simulated from public data, in place of the confidential ones."""
    sample = public.sample
    homes = simulated_homes(public, gravity, CONCENTRATION)
    return Inputs(
        destination_tract=sample.destination_tract,
        destination=sample.destination,
        segment=sample.segment,
        tract=sample.tract,
        worker_ptr=np.append(0, np.cumsum(sample.count)).astype(np.int64),
        worker_origin=_place_in_blocks(public.geography.blocks, homes.origin_tract),
    )


def _place_in_blocks(blocks: BlockTable, home_tract: Ints) -> npt.NDArray[np.int32]:
    """A block of each home tract, drawn by population, or evenly if nobody lives there."""
    value = np.random.default_rng(_PLACING).random(home_tract.size)
    first, end = blocks.block_ptr[home_tract], blocks.block_ptr[home_tract + 1]
    below, people = blocks.block_sum[first], blocks.block_sum[end] - blocks.block_sum[first]
    by_population = np.searchsorted(blocks.block_sum, below + (value * people).astype(np.int64), "right") - 1
    any_block = first + (value * (end - first)).astype(np.int64)
    return np.where(people > 0, by_population, any_block).astype(np.int32)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What a release would be.

    Attributes
    ----------
    certificate : dict
        Its claims; the editing seed in it is for this plan alone.
    expected : dict
        Expected errors, from homes simulated from public data; empty under editing `drop`.
    plain : PlainMeasures
        What a planner would see, from the same homes; errors of inflow and flows as pages would state them.
    sizes : ReleaseSizes
    counts : CountExposure
        What follows from the numbers of workers that it would show exactly.
    ledger : LedgerForecast
    """

    certificate: Certificate
    expected: dict[str, float]
    plain: PlainMeasures
    sizes: ReleaseSizes
    counts: CountExposure
    ledger: LedgerForecast

    def to_dict(self) -> dict[str, object]:
        """Plain values for `--json`."""
        return {
            "dry_run": True,
            "certificate": self.certificate,
            "expected": self.expected,
            "expected_plain": self.plain.to_dict(),
            **self.sizes.to_dict(),
            "exact_counts": self.counts.to_dict(),
            "ledger": self.ledger.to_dict(),
        }

    def lines(self) -> list[str]:
        """Sentences for a person."""
        sizes = self.sizes
        facts = self.certificate.get("lone_worker")
        stay, tract = stay_text(facts), true_tract_text(facts)
        in_clusters = isinstance(facts, dict) and str(facts.get("case")).endswith("clusters")
        kept = "group of home areas" if in_clusters else "home area"
        lone = "there is none" if stay is None else f"keeps the true {kept} with a chance of {stay}"
        shown = "" if tract is None else f"; expected chance of the true home tract: {tract}"
        expected = expected_line(self.expected) if self.expected else "not known where points are dropped"
        return [
            *([] if self.counts.is_public else [_CONFIDENTIAL]),
            f"dry run: {sizes.n_workers:,} workers of {sizes.n_synthesizers:,} synthesizers; "
            "nothing was spent or drawn",
            f"  promise          {promise_line(self.certificate)}",
            sizes.support_line(),
            *design_lines(self.certificate),
            f"  expected error   {expected}; on homes simulated from public data:",
            *[f"    {name:<15}{text}" for name, text in self.plain.lines()],
            f"  lone worker      {lone}{shown}",
            *self.counts.lines(),
            *status_lines(self.certificate),
            f"  ledger           {self.ledger.words}",
        ]


def plan_synthesis(
    dataset_path: Path,
    privacy: PrivacyParameters,
    parameters: SynthesisParameters,
    *,
    view: DatasetView = WHOLE_DATASET,
    design: Choice | None = None,
    beside: Sequence[Path] = (),
    test_key: bool = False,
    threads: int | None = None,
    report: Report = silent,
) -> Plan:
    """Certify a release without making it; arguments as of :func:`mapapp.kinds.release.make.run.run_synthesis`.

    Raises
    ------
    EngineError, GeodataError, LedgerError, UsageError
        As there.
    """
    require_fixed_count(privacy, parameters)
    may_cascade = parameters.cascade or (design is not None and design.cascade)
    needed = replace(parameters, cascade=True) if may_cascade else parameters
    stages = stages_of(needed, design.mechanisms if design is not None else ())
    ensure_compiled(lambda: report("compiling kernels (once)", 0, 0), stages)
    seed = PublicSeed.for_tests() if test_key else PublicSeed.fresh()
    dataset, source, facts = prepared_source(
        dataset_path,
        seed,
        privacy,
        parameters,
        view=view,
        design=design,
        for_release=not test_key,
        report=report,
        threads=threads or os.cpu_count() or 1,
    )
    certified = ThreadRunner(source, threads=threads or os.cpu_count() or 1, report=report).certify()
    certificate: JsonObject = claimed_certificate(dataset, source, certified, facts, is_test=test_key)
    public = public_part_of(source.store, source.geography, source.workplaces)
    setting = (source.privacy, source.parameters)
    return Plan(
        certificate=certificate,
        expected=expected_of(public, *setting) if facts is None else expected_by_choice(facts),
        plain=expected_plain(source.store, certificate, public, setting),
        sizes=ReleaseSizes.of(source.workplaces, certified),
        counts=count_exposure(source.store, source.geography, source.workplaces),
        ledger=ledger_forecast(dataset, certificate, beside),
    )
