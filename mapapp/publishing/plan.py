"""What `synthesize --dry-run` says: the certificate and the expected errors of a release that is not made.

Nothing is entered in the ledger, drawn or written.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from engine.parameters import PrivacyParameters, SynthesisParameters
from engine.precompile import ensure_compiled, stages_of
from engine.sound import require_fixed_count
from engine.streams import PublicSeed
from geodata.json_objects import JsonObject
from mapapp.answers.lone_worker_words import stay_text, true_tract_text
from mapapp.base.progress import Report, silent
from mapapp.publishing.batch_workers import ThreadRunner
from mapapp.publishing.certificate.terms import Certificate
from mapapp.publishing.chosen_setting import (
    Choice,
    design_lines,
    expected_by_choice,
    expected_line,
    expected_of,
)
from mapapp.publishing.compared_homes import Places
from mapapp.publishing.expected_homes import expected_plain
from mapapp.publishing.plain_measures import PlainMeasures
from mapapp.publishing.public_part import public_part_of
from mapapp.publishing.release_sizes import ReleaseSizes
from mapapp.publishing.run import claimed_certificate, prepared_source, promise_line

__all__ = ["Plan", "plan_synthesis"]


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
        What a planner would see, from the same homes.
    sizes : ReleaseSizes
    """

    certificate: Certificate
    expected: dict[str, float]
    plain: PlainMeasures
    sizes: ReleaseSizes

    def to_dict(self) -> dict[str, object]:
        """Plain values for `--json`."""
        return {
            "dry_run": True,
            "certificate": self.certificate,
            "expected": self.expected,
            "expected_plain": self.plain.to_dict(),
            **self.sizes.to_dict(),
        }

    def lines(self) -> list[str]:
        """Sentences for a person."""
        sizes = self.sizes
        facts = self.certificate.get("lone_worker")
        stay, tract = stay_text(facts), true_tract_text(facts)
        lone = "there is none" if stay is None else f"keeps the true home area with a chance of {stay}"
        shown = "" if tract is None else f"; expected chance of the true home tract: {tract}"
        expected = expected_line(self.expected) if self.expected else "not known where points are dropped"
        return [
            f"dry run: {sizes.n_workers:,} workers of {sizes.n_synthesizers:,} synthesizers; "
            "nothing was spent or drawn",
            f"  promise          {promise_line(self.certificate)}",
            sizes.support_line(),
            *design_lines(self.certificate),
            f"  expected error   {expected}; on homes simulated from public data:",
            *[f"    {name:<15}{text}" for name, text in self.plain.lines()],
            f"  lone worker      {lone}{shown}",
            f"  status           {self.certificate['status']}",
        ]


def plan_synthesis(
    dataset_path: Path,
    privacy: PrivacyParameters,
    parameters: SynthesisParameters,
    *,
    last_release: Path | None = None,
    design: Choice | None = None,
    test_key: bool = False,
    threads: int | None = None,
    report: Report = silent,
) -> Plan:
    """Certify a release without making it; arguments as of :func:`mapapp.publishing.run.run_synthesis`.

    Raises
    ------
    EngineError, GeodataError, LedgerError, UsageError
        As there.
    """
    require_fixed_count(privacy, parameters)
    stages = stages_of(parameters, design.mechanisms if design is not None else ())
    ensure_compiled(lambda: report("compiling kernels (once)", 0, 0), stages)
    seed = PublicSeed.for_tests() if test_key else PublicSeed.fresh()
    dataset, source, facts = prepared_source(
        dataset_path,
        seed,
        privacy,
        parameters,
        last_release=last_release,
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
        plain=expected_plain(public, Places.read(dataset), *setting),
        sizes=ReleaseSizes.of(source.workplaces, certified),
    )
