"""One setting of worker records measured beside other ways to make records of the same workers.

CONFIDENTIAL, all of it. Distances are total variation distances from the real workers, as
:mod:`mapapp.kinds.records.measure.validity` has them, of one draw with the published test key.

The variants, in the order of the tables:

seeded
    What the setting would release. Not if it keeps nothing.
passed
    Of it, the candidates that passed: the release without the top-up. Not if none passed.
seedless
    Records of the model of everybody, with the same epsilon.
marginals
    Every attribute by itself, with the same epsilon.
flows
    Workers of a release of flows: their jobs are exact, and their homes are drawn.
resample
    The real workers resampled with replacement: the noise floor.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final

import numpy as np
import numpy.typing as npt
import pandas

from mapapp.analyst.validity.compared_workers import ratio
from mapapp.base.progress import Report, part_of, silent
from mapapp.kinds.records.make.attributes import BAND, HOME_PUMA, WORK_PUMA, RecordAttributes
from mapapp.kinds.records.make.plan import Plan
from mapapp.kinds.records.measure.drawn import DrawnFlows, DrawnVariants
from mapapp.kinds.records.measure.draws import DrawnRecords
from mapapp.kinds.records.measure.validity import TableDistances, distance_tables, measure_tables
from mapapp.kinds.records.measure.workers import RecordWorkers

__all__ = ["VARIANTS", "ComparedRecords", "compare_records", "lost_commutes"]

Codes = npt.NDArray[np.int32]
Floats = npt.NDArray[np.float64]
Squares = tuple[pandas.DataFrame, pandas.DataFrame]

VARIANTS: Final = ("seeded", "passed", "seedless", "marginals", "flows", "resample")
_OF_RECORDS: Final = ("seeded", "passed", "seedless", "marginals")


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedRecords:
    """What drawing one setting beside others has found.

    Attributes
    ----------
    plan : Plan
        The setting.
    n_passed : int
        Tries that passed; 0 without seeds.
    margins : DataFrame
        attributes, n_cells, and for each variant its distance.
    tables : DataFrame
        variant, n_attributes (1 to 3), attributes, distance: of every table of one to three attributes. Without flows
        if the workers have attributes that flows lack.
    squares : dict of str to (DataFrame, DataFrame)
        The tables `attributes` and `pairs` of the variants seeded and seedless.
    lost : DataFrame or None
        As :func:`lost_commutes`; None without seeds.
    """

    plan: Plan
    n_passed: int
    margins: pandas.DataFrame
    tables: pandas.DataFrame
    squares: dict[str, Squares]
    lost: pandas.DataFrame | None


def compare_records(
    workers: RecordWorkers, plan: Plan, drawn: DrawnVariants, flows: DrawnFlows, *, report: Report = silent
) -> ComparedRecords:
    """Measure what was drawn.

    Parameters
    ----------
    workers : RecordWorkers
    plan : Plan
        The setting that `drawn` is of.
    drawn : DrawnVariants
    flows : DrawnFlows
    report : callable
        Called with (stage, done, total); what it raises cancels.
    """
    attributes = workers.attributes
    variants = dict(_variants(drawn))
    n_parts = 2 * len(variants) + 1
    margins, tables, squares = dict[str, list[float]](), list[pandas.DataFrame](), dict[str, Squares]()
    for number, (name, codes) in enumerate(variants.items()):
        of_pairs, of_triples = (part_of(report, 2 * number + half, n_parts) for half in (0, 1))
        distances = TableDistances(attributes.attributes, workers.codes, codes)
        measured = distance_tables(attributes.attributes, distances, of_pairs)
        triples = list(combinations(attributes.names, 3))
        of_three = [both for _, _, both in measure_tables(triples, distances, of_triples)]
        margins[name] = measured["combinations"]["distance"].tolist()
        tables.append(_long(name, measured, triples, [both["distance"] for both in of_three], "distance"))
        if name in ("seeded", "seedless"):
            squares[name] = measured["attributes"], measured["pairs"]
        if name == "seedless":  # the largest variant; its noise floor is a resample of as many workers
            floors = [both["noise_floor"] for both in of_three]
            margins["resample"] = measured["combinations"]["noise_floor"].tolist()
            tables.append(_long("resample", measured, triples, floors, "noise_floor"))
            listed = measured["combinations"][["attributes", "n_cells"]]
    of_flows = TableDistances(flows.attributes, flows.real, flows.drawn)
    names = [text.split(" x ") for text in listed["attributes"]]
    margins["flows"] = [
        of_flows.of(combination)[0] if of_flows.has(combination) else math.nan for combination in names
    ]
    if {attribute.name for attribute in flows.attributes} == set(attributes.names):
        part = part_of(report, n_parts - 1, n_parts)
        tables.append(_of_flows(of_flows, attributes.names, part))
    return ComparedRecords(
        plan=plan,
        n_passed=0 if drawn.seeded is None else drawn.seeded.n_passed,
        margins=listed.assign(**{name: margins[name] for name in VARIANTS if name in margins}),
        tables=pandas.concat(tables, ignore_index=True),
        squares=squares,
        lost=_lost(workers, plan, drawn),
    )


def _variants(drawn: DrawnVariants) -> Iterator[tuple[str, Codes]]:
    if drawn.seeded is not None:
        yield "seeded", drawn.seeded.codes
        if drawn.seeded.n_passed:
            yield "passed", drawn.seeded.passed
    yield "seedless", drawn.seedless
    yield "marginals", drawn.marginals


def _long(
    variant: str,
    measured: Mapping[str, pandas.DataFrame],
    triples: Sequence[tuple[str, ...]],
    of_three: list[float],
    column: str,
) -> pandas.DataFrame:
    """One row for each table of one to three attributes."""
    singles, pairs = measured["attributes"], measured["pairs"]
    names = [
        *singles["attribute"],
        *(pairs["first"] + " x " + pairs["second"]),
        *(" x ".join(triple) for triple in triples),
    ]
    sizes = np.repeat([1, 2, 3], [len(singles), len(pairs), len(triples)])
    distance = [*singles[column], *pairs[column], *of_three]
    return pandas.DataFrame(
        {"variant": variant, "n_attributes": sizes, "attributes": names, "distance": distance}
    )


def _of_flows(distances: TableDistances, names: tuple[str, ...], report: Report) -> pandas.DataFrame:
    listed = [combination for size in (1, 2, 3) for combination in combinations(names, size)]
    measured = [both["distance"] for _, _, both in measure_tables(listed, distances, report)]
    return pandas.DataFrame(
        {
            "variant": "flows",
            "n_attributes": [len(combination) for combination in listed],
            "attributes": [" x ".join(combination) for combination in listed],
            "distance": measured,
        }
    )


def _lost(workers: RecordWorkers, plan: Plan, drawn: DrawnVariants) -> pandas.DataFrame | None:
    if plan.seeds is None or drawn.seeded is None:
        return None
    return lost_commutes(workers.attributes, workers.codes, drawn.seeded, plan.seeds.n_tries)


def lost_commutes(
    attributes: RecordAttributes, real: Codes, drawn: DrawnRecords, n_tries: int
) -> pandas.DataFrame:
    """Real workers whose commutes are missing in records, without and with the top-up.

    A group of workers should have its share of the tries; what it has less is missing, forced failures included. With
    the top-up it should have its share of all records.

    Parameters
    ----------
    attributes : RecordAttributes
    real : int32[n, m]
    drawn : DrawnRecords
        With top-up.
    n_tries : int

    Returns
    -------
    DataFrame
        by ("band" or "pair"), name, share of the real workers, and `passed` and `topped_up`: the share of its workers
        that is missing, below 0 where there are too many. A band is a row. Pairs of PUMAs are two rows: "short", the
        sum over pairs that have too few; and "absent", the workers whose pair no record has.
    """
    sides = ((drawn.passed, n_tries), (drawn.codes, len(drawn.codes)))
    band = attributes.place(BAND)
    labels = attributes.attributes[band].labels
    own = np.bincount(real[:, band], minlength=len(labels)) / len(real)
    shares = [np.bincount(codes[:, band], minlength=len(labels)) / n for codes, n in sides]
    bands = pandas.DataFrame({"by": "band", "name": labels, "share": own})
    for name, shown in zip(("passed", "topped_up"), shares, strict=True):
        bands[name] = 1 - ratio(shown, own)
    pairs = pandas.DataFrame({"by": "pair", "name": ["short", "absent"], "share": 1.0})
    real_pairs = _pair_shares(attributes, real, len(real))
    for name, (codes, n) in zip(("passed", "topped_up"), sides, strict=True):
        shown = _pair_shares(attributes, codes, n)
        short = float(np.maximum(real_pairs - shown, 0).sum())
        pairs[name] = [short, float(real_pairs[shown == 0].sum())]
    return pandas.concat([bands[own > 0], pairs], ignore_index=True)


def _pair_shares(attributes: RecordAttributes, codes: Codes, n: int) -> Floats:
    """Records between each pair of PUMAs, divided by a number."""
    work, home = attributes.place(WORK_PUMA), attributes.place(HOME_PUMA)
    n_works, n_homes = attributes.domain[work], attributes.domain[home]
    pair = codes[:, work].astype(np.int64) * n_homes + codes[:, home]
    return np.bincount(pair, minlength=n_works * n_homes) / n
