"""One setting of worker records drawn in memory, and other ways to make records of the same workers.

CONFIDENTIAL. Everything is drawn once with the published test key, as `commutemap records --test-key` draws; nothing is
released, so nothing is spent.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt
import pandas

from engine.parameters import LARGEST_EPSILON, PrivacyParameters, SynthesisParameters
from engine.precompile import RECORD_STAGES, ensure_compiled
from engine.records.drawing import draw_records
from engine.records.structure import Structure
from engine.records.tables import learn_model
from geodata.store.store import Store
from geodata.workers.schema import WorkerSchema
from mapapp.analyst.audit.audited import audited_setting
from mapapp.analyst.validity.confidential_parts import AnalystData
from mapapp.base.progress import Report, part_of
from mapapp.kinds.records.make.attributes import RecordAttribute, RecordAttributes, attributes_over
from mapapp.kinds.records.make.choice import Choice
from mapapp.kinds.records.make.plan import Plan
from mapapp.kinds.records.make.workers import read_codes
from mapapp.kinds.records.measure.draws import DrawnRecords, draw_key, draw_plan
from mapapp.kinds.records.measure.workers import RecordWorkers

__all__ = ["DrawnFlows", "DrawnVariants", "draw_flows", "draw_variants", "seedless_choice"]

Codes = npt.NDArray[np.int32]


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawnVariants:
    """Records of one setting, and of others, all with the attributes of the workers.

    Attributes
    ----------
    seeded : DrawnRecords or None
        What the setting would release; None if it keeps nothing.
    seedless : int32[n, m]
        Of the model of everybody, with the same epsilon and kind of structure.
    marginals : int32[n, m]
        Every attribute by itself, with the same epsilon.
    """

    seeded: DrawnRecords | None
    seedless: Codes
    marginals: Codes


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawnFlows:
    """Workers of a release of flows: their jobs are exact, and their homes are drawn.

    Attributes
    ----------
    attributes : tuple of RecordAttribute
        The seven attributes that follow from `jobs`, or fewer.
    real, drawn : int32[n, 7]
    """

    attributes: tuple[RecordAttribute, ...]
    real: Codes
    drawn: Codes


def seedless_choice(plan: Plan) -> Choice:
    """The setting without seeds that is compared with a plan: the same epsilon and kind of structure."""
    learned = plan.choice.structure == "learned"
    return Choice(
        epsilon=min(plan.add_remove.epsilon, Fraction(LARGEST_EPSILON)),
        delta=plan.choice.delta if learned else None,
        structure=plan.choice.structure,
        anyway=plan.choice.anyway,
        n_records=plan.choice.n_records,
    )


def draw_variants(workers: RecordWorkers, plan: Plan, *, threads: int, report: Report) -> DrawnVariants:
    """Draw a setting and those beside it.

    Parameters
    ----------
    workers : RecordWorkers
    plan : Plan
        Of these workers, with top-up.
    threads : int
        Nothing depends on it.
    report : callable
        Called with (stage, done, total); what it raises cancels.

    Raises
    ------
    UsageError
        As :func:`mapapp.kinds.records.measure.draws.draw_plan`.
    """
    key = draw_key(0)
    codes = workers.read(part_of(report, 0, 5))
    ensure_compiled(lambda: report("compiling the kernels of records (once)", 1, 5), RECORD_STAGES)
    seeded = None
    if plan.seeds is not None:
        seeded = draw_plan(workers, plan, key, part_of(report, 2, 5, stage="drawing from seeds"))
    seedless_plan = plan if plan.seeds is None else workers.plan(seedless_choice(plan))
    seedless = draw_plan(
        workers, seedless_plan, key, part_of(report, 3, 5, stage="drawing without seeds")
    ).codes
    report("drawing marginals", 4, 5)
    structure = Structure.of_marginals(workers.attributes.domain)
    marginals = learn_model(codes, structure, epsilon=seedless_plan.model_epsilon, key=key, threads=threads)
    return DrawnVariants(
        seeded=seeded,
        seedless=seedless,
        marginals=draw_records(marginals, plan.n_total, key=key, threads=threads),
    )


def draw_flows(
    data: AnalystData, privacy: PrivacyParameters, parameters: SynthesisParameters, report: Report
) -> DrawnFlows:
    """Draw all workers of a release of flows once.

    Raises
    ------
    EngineError
        The setting cannot be certified.
    """
    flows = audited_setting(data, "flows", privacy, parameters)
    parts = []
    for panel in data.panels(report=report):
        part = flows.part(panel)
        of_worker = np.repeat(np.arange(part.drawn.count.size), part.drawn.count)
        segment = part.drawn.segment[of_worker]
        parts.append(
            {
                "destination_index": part.drawn.destination[of_worker],
                "origin_index": part.home_block,
                "age": segment // 9 + 1,
                "earnings": segment // 3 % 3 + 1,
                "industry": segment % 3 + 1,
            }
        )
    columns = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    n_workers = len(columns["age"])
    report("counting flows", n_workers, n_workers)
    jobs = pandas.DataFrame(columns)
    jobs = jobs.groupby(list(columns), as_index=False).size().rename(columns={"size": "count"})
    missing = [str(name) for name in data.store.manifest.get("missing_attributes", ())]
    attributes = attributes_over(data.store, WorkerSchema(), missing=missing)
    real, drawn = (
        _read_flows(store, attributes, n_workers, report)
        for store in (data.store, data.store.replace_table("jobs", jobs))
    )
    return DrawnFlows(attributes=attributes.attributes, real=real, drawn=drawn)


def _read_flows(store: Store, attributes: RecordAttributes, n_workers: int, report: Report) -> Codes:
    parts = []
    for codes in read_codes(store, attributes, table="jobs"):
        report("counting flows", n_workers, n_workers)
        parts.append(codes)
    return np.concatenate(parts)
