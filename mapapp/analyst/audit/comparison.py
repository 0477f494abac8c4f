"""Releases, settings, and other schemes on one scale: error of counts, and what attackers learn.

CONFIDENTIAL, all of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas

from engine.audit.coded_tables import distinct_rows
from engine.audit.criteria import Diversity, SplitRule
from engine.audit.decomposition import MOST_COUNTS, Decomposition, Tree
from engine.audit.lookup import lookup_in_leaf, lookup_without_victim
from engine.audit.naive_bayes import NaiveBayes
from engine.audit.private_tree import private_tree
from engine.audit.syntactic_tree import syntactic_tree
from engine.audit.workload import Workload, median_relative_error, window_workload
from mapapp.analyst.audit.questions import TARGETS_OF, Areas, Question, Target
from mapapp.analyst.audit.records import CodedBlocks, CodedRecords, Records, code_records
from mapapp.analyst.audit.result import CLASSES, Attacker
from mapapp.analyst.audit.run import AuditedWorkers, audited_workers
from mapapp.analyst.audit.schemes import DEFAULT_HEIGHT, Scheme
from mapapp.analyst.audit.setting import chosen_setting
from mapapp.analyst.audit.tradeoff import compare_at_equal_error
from mapapp.analyst.validity.confidential_parts import AnalystData
from mapapp.base.progress import Report, part_of, silent
from mapapp.kinds.base.geography import Ints
from mapapp.kinds.release.make.options import ReleaseOptions

# Other schemes on the same workers: error of counts and what attackers learn, for trees and for epsilons of our own.
#
# Every scheme answers the same queries and meets the same attackers as the releases, so that leakage can be compared at
# equal error (:mod:`mapapp.analyst.audit.tradeoff`).
#
# Source: docs/audit.md, "Other schemes"; C13, section III.

COMPARED: Final[tuple[Target, ...]] = ("home tract", "home county", "earnings", "industry")
"""Questions that trees can be asked: their values mean the same everywhere."""

N_QUERIES: Final = 200
N_DRAWS: Final = 8
"""Draws of a private tree; means over them are given, with the standard deviation of the error."""

_WINDOW: Final = 0.5
_SEED: Final = 0
_DIVERSITY: Final[Mapping[str, Diversity]] = {
    "l": "recursive",
    "l-distinct": "distinct",
    "l-entropy": "entropy",
    "l-frequency": "frequency",
}


class Compared(NamedTuple):
    """What all schemes are measured on: the true workers of one question, and the queries.

    Attributes
    ----------
    target : str
    records : CodedRecords
        Confidential.
    n : int32[W]
        Workers of every worker's block and segment.
    workload : Workload
    cells : int64[M, d]
        Distinct rows of the workers' codes, in ascending order.
    cell_of : int64[W]
        Every worker's row of `cells`.
    """

    target: Target
    records: CodedRecords
    n: npt.NDArray[np.int32]
    workload: Workload
    cells: npt.NDArray[np.int64]
    cell_of: npt.NDArray[np.int64]


def draw_queries(target: Target, records: Records, blocks: CodedBlocks) -> Compared:
    """Draw the queries for one question: half windows of every attribute and, for homes, of the home units.

    Counts without a condition on homes are exact in our releases, so every query has one.

    Raises
    ------
    EngineError
        Too few queries count anyone.
    """
    true = code_records(target, records, blocks, released=False)
    workload = window_workload(
        _as_boxes(true),
        N_QUERIES,
        window=_WINDOW,
        value_window=_WINDOW if target.startswith("home") else None,
        rng=np.random.default_rng(_SEED),
    )
    return Compared(target, true, records.n, workload, *distinct_rows(true.codes, true.sizes))


def error_of_release(about: Compared, records: Records, blocks: CodedBlocks) -> float:
    """Median relative error of a release's counts on the same queries."""
    released = code_records(about.target, records, blocks, released=True)
    return _error(about.workload, _as_boxes(released))


def _as_boxes(records: CodedRecords) -> Decomposition:
    return Decomposition.from_records(records.codes, records.sensitive, records.sizes, records.n_values)


def _error(workload: Workload, boxes: Decomposition) -> float:
    answered = boxes.answer(workload.lo, workload.hi, workload.values)
    return median_relative_error(workload.true_count, answered)


def require_feasible(schemes: Sequence[Scheme], target: Target, records: CodedRecords) -> None:
    """Refuse schemes that cannot be made for a question, before any is made.

    Only the number of values and the sizes of the attributes matter, which are public: `records` may have no workers.

    Raises
    ------
    UsageError
    """
    for scheme in schemes:
        scheme.require_feasible(records.n_values, int(np.prod(records.sizes, dtype=object)), target)


class _Grown(NamedTuple):
    """One tree after its attackers have run; `hits` are the workers named right, by attacker."""

    error: float
    n_leaves: int
    meets_rule: bool
    hits: dict[str, npt.NDArray[np.bool_]]


def scheme_rows(scheme: Scheme, about: Compared) -> Iterator[dict[str, object]]:
    """Measure one tree scheme on one question: a row of the table `schemes` for each class of workers."""
    grown = [_measure_tree(tree, about, scheme) for tree in _trees(scheme, about.records)]
    errors = [measured.error for measured in grown]
    for name, (least, most) in CLASSES.items():
        chosen = (about.n >= least) & (about.n <= (np.iinfo(np.int32).max if most is None else most))
        yield {
            "target": about.target,
            "scheme": scheme.family,
            "parameter": scheme.value,
            "label": scheme.label,
            "n": name,
            "workers": int(chosen.sum()),
            "median_relative_error": float(np.mean(errors)),
            "error_deviation": float(np.std(errors)),
            "leaves": float(np.mean([measured.n_leaves for measured in grown])),
            "meets_rule": all(measured.meets_rule for measured in grown),
            **{
                attacker: float(np.mean([_share(measured.hits[attacker], chosen) for measured in grown]))
                for attacker in grown[0].hits
            },
        }


def _share(hit: npt.NDArray[np.bool_], chosen: npt.NDArray[np.bool_]) -> float:
    return float(hit[chosen].mean()) if chosen.any() else float("nan")


def _trees(scheme: Scheme, records: CodedRecords) -> Iterator[Tree]:
    """The tree, or draws of a private one, each made when it is asked for: a large one takes half a gigabyte."""
    people = (records.codes, records.sensitive, records.sizes, records.n_values)
    if not scheme.is_private:
        yield syntactic_tree(*people, _rule(scheme), scheme.height)
        return
    for seed in range(N_DRAWS):
        yield private_tree(
            *people,
            kind=scheme.kind,
            epsilon=scheme.value,
            height=DEFAULT_HEIGHT if scheme.height is None else scheme.height,
            levels=scheme.levels,
            rng=np.random.default_rng(seed),
        )


def _rule(scheme: Scheme) -> SplitRule:
    if scheme.name == "k":
        return SplitRule(k=int(scheme.value))
    k = scheme.k or 1
    if scheme.name.startswith("t"):
        return SplitRule(k=k, t=scheme.value, distance="ordered" if scheme.name == "t-ordered" else "equal")
    return SplitRule(k=k, diversity=_DIVERSITY[scheme.name], least=scheme.value)


def _measure_tree(tree: Tree, about: Compared, scheme: Scheme) -> _Grown:
    records, boxes = about.records, tree.decomposition
    named = {"lookup": lookup_in_leaf(tree).value}
    if not scheme.is_private:
        prior = np.bincount(boxes.entry_value, np.maximum(boxes.entry_count, 0.0), boxes.n_values)
        others = lookup_without_victim([tree.leaf_of], records.sensitive, prior.astype(np.float64))
        named["lookup_without_victim"] = others.value
    if records.n_values * int(records.sizes.sum()) <= MOST_COUNTS:
        named["naive_bayes"] = NaiveBayes.of(boxes).values(about.cells)[about.cell_of]
    hits = {attacker: value == records.sensitive for attacker, value in named.items()}
    return _Grown(_error(about.workload, boxes), boxes.n_boxes, tree.meets_rule, hits)


_STAGE: Final = "measuring other schemes"
_ATTACKERS: Final[tuple[Attacker, ...]] = ("lookup", "lookup_without_victim", "naive_bayes")


def require_schemes(data: AnalystData, schemes: Sequence[Scheme], questions: Sequence[Question]) -> None:
    """Refuse schemes that cannot be made for the questions, from public data alone and before any attacker runs.

    Raises
    ------
    UsageError
        l is above the number of values, or a tree or a grid would be too large.
    """
    blocks = CodedBlocks.read(data, Areas.read(data.store, data.geography))
    for target in _targets(questions):
        require_feasible(schemes, target, code_records(target, Records.none(), blocks, released=False))


def _targets(questions: Sequence[Question]) -> list[Target]:
    return [target for question in questions for target in TARGETS_OF[question] if target in COMPARED]


def comparison_tables(
    data: AnalystData,
    audits: Sequence[AuditedWorkers],
    schemes: Sequence[Scheme],
    questions: Sequence[Question],
    *,
    tracts: Ints | None = None,
    report: Report = silent,
) -> dict[str, pandas.DataFrame]:
    """Measure schemes beside audited releases.

    Parameters
    ----------
    data : AnalystData
    audits : sequence of AuditedWorkers
        Releases and settings; each that has records is a marked point.
    schemes : sequence of Scheme
    questions : sequence of str
    tracts : int64[T], optional
        The same as for `audits`; all by default.
    report : callable
        Called with (stage, done, total) before every scheme, and before every part of a scheme that is a release; what
        it raises cancels.

    Returns
    -------
    dict of str to DataFrame
        `schemes` and `tradeoff`; none if nothing has records.

    Raises
    ------
    UsageError, EngineError
        A scheme cannot be made for a question.
    """
    areas = Areas.read(data.store, data.geography)
    blocks = CodedBlocks.read(data, areas)
    marked = [audited for audited in audits if audited.records is not None]
    if not marked:
        return {}
    records = _records(marked[0])
    asked = [draw_queries(target, records, blocks) for target in _targets(questions)]
    for about in asked:
        require_feasible(schemes, about.target, about.records)
    rows = [
        row
        for audited in marked
        for row in _release_rows(audited, "release", audited.facts["name"], asked, blocks)
    ]
    for number, scheme in enumerate(schemes):
        within = part_of(report, number, len(schemes), stage=_STAGE)
        within(_STAGE, 0, 1)
        if scheme.is_tree:
            rows += [row for about in asked for row in scheme_rows(scheme, about)]
        else:
            drawn = _draw_at_epsilon(data, scheme, questions, tracts, within)
            rows += _release_rows(drawn, scheme.family, scheme.label, asked, blocks)
    report(_STAGE, 1, 1)
    table = pandas.DataFrame(rows)
    return {"schemes": table, "tradeoff": compare_at_equal_error(table)}


def _draw_at_epsilon(
    data: AnalystData, scheme: Scheme, questions: Sequence[Question], tracts: Ints | None, report: Report
) -> AuditedWorkers:
    """Draw the recommended preset at another epsilon, its radii chosen anew from public data."""
    options = ReleaseOptions(preset="recommended", epsilon=str(Fraction(str(scheme.value))))
    setting = chosen_setting(data, scheme.label, options)
    return audited_workers(data, setting, questions, tracts=tracts, keeps_records=True, report=report)


def _records(audited: AuditedWorkers) -> Records:
    assert audited.records is not None, "audited without keeps_records"
    return audited.records


def _release_rows(
    audited: AuditedWorkers, scheme: str, label: str, asked: Sequence[Compared], blocks: CodedBlocks
) -> Iterator[dict[str, object]]:
    """Rows of one release: its own attackers, and its error on the common queries."""
    accuracy = audited.tables["attackers"].set_index(["target", "attacker", "n"])["accuracy"]
    for about in asked:
        error = error_of_release(about, _records(audited), blocks)
        for n, (least, most) in CLASSES.items():
            chosen = about.n >= least
            if most is not None:
                chosen &= about.n <= most
            yield {
                "target": about.target,
                "scheme": scheme,
                "parameter": audited.facts["epsilon_final"],
                "label": label,
                "n": n,
                "workers": int(chosen.sum()),
                "median_relative_error": error,
                "error_deviation": 0.0,
                "leaves": float("nan"),
                "meets_rule": True,
                **{
                    attacker: float(accuracy[about.target, attacker, n])
                    for attacker in _ATTACKERS
                    if (about.target, attacker, n) in accuracy.index
                },
            }
