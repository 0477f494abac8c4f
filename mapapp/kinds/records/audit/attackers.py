"""Attackers who know all of a worker's attributes but one, and look for it in worker records.

The targets are home PUMA, earnings, industry, and with every attribute asked for, all but places of work. Somebody who
asks for the home does not know the distance, which would give it away.

CONFIDENTIAL, all of it.

Source: docs/audit.md, "Attributes of workers".
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas

from engine.audit.coded_tables import Predictions
from engine.audit.decomposition import MOST_COUNTS, Decomposition
from engine.audit.lookup import lookup, lookup_without_victim, majority
from engine.audit.naive_bayes import NaiveBayes
from engine.audit.tally import size_classes
from engine.records.drawing import draw_records
from engine.records.splitting import split_records
from engine.records.tables import Codes, learn_model
from engine.support.tracts import great_circle_mi
from mapapp.analyst.audit.outcomes import Outcomes
from mapapp.analyst.validity.confidential_parts import AnalystData
from mapapp.base.errors import UsageError
from mapapp.base.progress import Report
from mapapp.kinds.records.make.attributes import BAND, HOME_PUMA, WORK_PUMA, WORK_TRACT, RecordAttributes
from mapapp.kinds.records.make.plan import Plan
from mapapp.kinds.records.measure.draws import DrawnRecords, draw_key
from mapapp.kinds.records.measure.workers import RecordWorkers

Ints = npt.NDArray[np.int64]

_PLACES_OF_WORK: Final = (WORK_PUMA, WORK_TRACT, BAND)


class Hidden(NamedTuple):
    """An attribute that attackers look for.

    Attributes
    ----------
    place : int
        Of the attribute, in resampling order.
    known, broad, parents : tuple of int
        What is known of the victim; the same without the work tract; and what the model has the attribute depend on.
    """

    place: int
    known: tuple[int, ...]
    broad: tuple[int, ...]
    parents: tuple[int, ...]


def hidden_attributes(attributes: RecordAttributes, asked: str, plan: Plan) -> list[Hidden]:
    """Return the attributes that a question is about.

    Parameters
    ----------
    attributes : RecordAttributes
    asked : {"home", "earnings", "industry", "all"}
    plan : Plan
        For what the public structure has each attribute depend on.

    Raises
    ------
    UsageError
        The dataset lacks the attribute.
    """
    names = attributes.names
    if asked == "all":
        chosen = [name for name in names if name not in _PLACES_OF_WORK]
    else:
        wanted = HOME_PUMA if asked == "home" else asked
        chosen = [
            attribute.name
            for attribute in attributes.attributes
            if wanted in (attribute.name, *attribute.derives)
        ]
    if not chosen:
        raise UsageError(
            f"--question {asked}: the dataset's workers have no {asked}; ask for another attribute"
        )
    return [_hidden(names, name, plan) for name in chosen]


def _hidden(names: Sequence[str], name: str, plan: Plan) -> Hidden:
    place = names.index(name)
    known = tuple(
        at
        for at, attribute in enumerate(names)
        if at != place and not (name == HOME_PUMA and attribute == BAND)
    )
    return Hidden(
        place=place,
        known=known,
        broad=tuple(at for at in known if names[at] not in (WORK_TRACT, BAND)),
        parents=plan.structure.structure.parents[place],
    )


def attack_attributes(
    name: str, real: RecordWorkers, drawn: Codes, hidden: Sequence[Hidden], report: Report
) -> dict[str, pandas.DataFrame]:
    """Run the attackers on some records: the tables of :class:`mapapp.analyst.audit.outcomes.Outcomes`.

    `n` is the number of real workers who share all that is known of the victim.

    Parameters
    ----------
    name : str
    real : RecordWorkers
    drawn : int32[r, m]
    hidden : sequence of Hidden
    report : callable
    """
    by_target = []
    for number, target in enumerate(hidden):
        report(f"attacking {name}", number, len(hidden))
        outcomes = Outcomes(name, len(real.codes))
        title = real.attributes.names[target.place]
        truth = real.codes[:, target.place].astype(np.int64)
        keys = row_numbers([real.codes[:, target.known]])[0]
        size_class = size_classes(np.bincount(keys)[keys])
        for attacker, predictions in _attackers(real, drawn, target, truth):
            outcomes.add(title, attacker, predictions, truth, size_class)
        by_target.append(outcomes.tables())
    return {
        table: pandas.concat([tables[table] for tables in by_target], ignore_index=True)
        for table in by_target[0]
    }


def _attackers(
    real: RecordWorkers, drawn: Codes, target: Hidden, truth: Ints
) -> Iterator[tuple[str, Predictions]]:
    domain = real.attributes.domain
    values = drawn[:, target.place].astype(np.int64)
    # Ties go to the value that is more frequent among the records, which are public.
    prior = np.bincount(values, minlength=domain[target.place]) / max(values.size, 1)
    own, of_drawn = _keys(real.codes, drawn, (target.known, target.broad, target.parents))
    yield "majority", majority(truth, domain[target.place])
    if real.attributes.names[target.place] == HOME_PUMA:
        yield "public_prior", _near_the_workplace(real)
    if domain[target.place] * sum(domain[at] for at in target.known) <= MOST_COUNTS:
        sizes = np.array([domain[at] for at in target.known])
        boxes = Decomposition.from_records(drawn[:, target.known], values, sizes, domain[target.place])
        yield "naive_bayes", NaiveBayes.of(boxes).predict(real.codes[:, target.known])
    yield "lookup_without_victim", lookup_without_victim(own, truth, prior)
    yield "lookup", lookup(of_drawn, values, own, prior)
    yield "memorised", lookup(own, truth, own, prior)


def _keys(real: Codes, drawn: Codes, levels: Sequence[tuple[int, ...]]) -> tuple[list[Ints], list[Ints]]:
    """Keys of the real workers and of the records, from fine to coarse."""
    pairs = [row_numbers([real[:, level], drawn[:, level]]) for level in levels]
    return [own for own, _ in pairs], [of_drawn for _, of_drawn in pairs]


def row_numbers(tables: Sequence[npt.NDArray[np.integer]]) -> list[Ints]:
    """Number the rows of some tables with the same columns: equal rows have equal numbers, which have no gaps."""
    joined = np.concatenate(tables)
    number = np.zeros(len(joined), dtype=np.int64)
    for column in range(joined.shape[1]):
        # Numbers stay below the number of rows times that of the values.
        number = number * (int(joined[:, column].max(initial=0)) + 1) + joined[:, column]
        number = np.unique(number, return_inverse=True)[1].astype(np.int64)
    return np.split(number, np.cumsum([len(table) for table in tables])[:-1])


def _near_the_workplace(real: RecordWorkers) -> Predictions:
    """The PUMA that the public gravity model has most workers of the work tract live in."""
    from engine.parameters import SynthesisParameters

    data = AnalystData(real.store)
    decay = data.prior(SynthesisParameters(prior="gravity")).decay
    assert decay is not None
    tracts, places = real.attributes.geography.tracts, real.attributes
    guess, belief = np.empty(places.work_tract.size, np.int64), np.empty(places.work_tract.size)
    for number, tract in enumerate(places.work_tract):
        miles = great_circle_mi(tracts, np.array([tract]))[0]
        mass = tracts.population * np.exp(-((miles / decay.scale_mi) ** decay.shape))
        share = np.bincount(tracts.puma, mass, minlength=places.domain[places.place(HOME_PUMA)])
        guess[number], belief[number] = share.argmax(), share.max() / max(share.sum(), 1e-300)
    tract = real.codes[:, places.place(WORK_TRACT)]
    return Predictions(guess[tract], belief[tract])


# Linking rows of worker records to real workers: how many match exactly one, and whether that is more than chance.
#
# A row matches a worker if both have the same values of all attributes. Matches are bound to happen: records that are
# like the real workers are at times equal to one. Two controls say what is chance. A fresh draw of the model alone
# matches as often if seeds add nothing. And of workers who are alone with their values, those whom a draw used are
# matched as often as those whom it left out, if a match says nothing about being used.
#
# CONFIDENTIAL, all of it.
#
# Source: docs/audit.md, "Linking rows to workers".

Bools = npt.NDArray[np.bool_]

_FRESH_KEY: Final = 900
_HALF_KEY: Final = 901
_HALVES: Final = (Fraction(1, 2), Fraction(1, 2))
_FAR: Final = 3.0  # standard errors


def linkage_row(
    name: str, codes: Codes, records: Codes, plan: Plan, drawn: DrawnRecords
) -> dict[str, object]:
    """Measure one set of records: a row of the table `linkage`.

    Parameters
    ----------
    name : str
    codes : int32[n, m]
        The real workers.
    records : int32[r, m]
        The records that are audited.
    plan : Plan
    drawn : DrawnRecords
        A draw of the plan, for its model.
    """
    own, of_records = row_numbers([codes, records])
    alone = _alone(own)
    fresh = draw_records(drawn.model, len(records), key=draw_key(_FRESH_KEY))
    used, left_out, error = _half_used(codes, len(records), plan, drawn)
    return {
        "release": name,
        "workers": len(codes),
        "records": len(records),
        "alone_in_kept": float(_alone(row_numbers([codes[:, : plan.kept]])[0]).mean()) if plan.kept else None,
        "alone_in_all": float(alone.mean()),
        "rows_matching_one": matched_rows(own, of_records),
        "fresh_rows_matching_one": matched_rows(*row_numbers([codes, fresh])),
        "alone_and_matched": _share(np.isin(own[alone], of_records)),
        "used_and_matched": used,
        "left_out_and_matched": left_out,
        "standard_error": error,
        "is_beyond_chance": abs(used - left_out) > _FAR * error,
    }


def matched_rows(workers: Ints, records: Ints) -> float:
    """Share of the records that equal exactly one worker; both are numbers of rows."""
    counts = np.bincount(workers, minlength=int(records.max(initial=0)) + 1)
    return _share(counts[records] == 1)


def _alone(workers: Ints) -> Bools:
    """Which workers nobody else equals."""
    return np.asarray(np.bincount(workers)[workers] == 1)


def _share(hits: Bools) -> float:
    return float(hits.mean()) if hits.size else float("nan")


def _half_used(codes: Codes, n_records: int, plan: Plan, drawn: DrawnRecords) -> tuple[float, float, float]:
    """Of workers who are alone, shares that some row equals: of those that filled the tables, of others; and its error.

    A keyed half of the workers fills the tables, with the noise of the plan; as many records are drawn.
    """
    key = draw_key(_HALF_KEY)
    is_used = split_records(len(codes), _HALVES, key=key) == 0
    model = learn_model(
        np.ascontiguousarray(codes[is_used]), drawn.model.structure, epsilon=plan.model_epsilon, key=key
    )
    own, others = row_numbers([codes, draw_records(model, n_records, key=key)])
    alone = _alone(own)
    matched = np.isin(own, others)
    used, left_out = (_share(matched[alone & chosen]) for chosen in (is_used, ~is_used))
    both = _share(matched[alone])
    counts = [max(int((alone & chosen).sum()), 1) for chosen in (is_used, ~is_used)]
    return used, left_out, float(np.sqrt(both * (1 - both) * (1 / counts[0] + 1 / counts[1])))
