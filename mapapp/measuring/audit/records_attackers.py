"""Attackers who know all of a worker's attributes but one, and look for it in worker records.

The targets are home PUMA, earnings, industry, and with every attribute asked for, all but places of work. Somebody who
asks for the home does not know the distance, which would give it away.

CONFIDENTIAL, all of it.

Source: docs/audit.md, "Attributes of workers".
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas

from engine.audit.decomposition import MOST_COUNTS, Decomposition
from engine.audit.lookup import lookup, lookup_without_victim, majority
from engine.audit.naive_bayes import NaiveBayes
from engine.audit.predictions import Predictions
from engine.audit.tally import size_classes
from engine.records.tables import Codes
from engine.tracts import great_circle_mi
from mapapp.base.errors import UsageError
from mapapp.base.progress import Report
from mapapp.measuring.analyst import AnalystData
from mapapp.measuring.audit.outcomes import Outcomes
from mapapp.measuring.record_workers import RecordWorkers
from mapapp.publishing.records.attributes import BAND, HOME_PUMA, WORK_PUMA, WORK_TRACT, RecordAttributes
from mapapp.publishing.records.plan import Plan

__all__ = ["Hidden", "attack_attributes", "hidden_attributes", "row_numbers"]

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
        chosen = [each.name for each in attributes.attributes if wanted in (each.name, *each.derives)]
    if not chosen:
        raise UsageError(
            f"--question {asked}: the dataset's workers have no {asked}; ask for another attribute"
        )
    return [_hidden(names, name, plan) for name in chosen]


def _hidden(names: Sequence[str], name: str, plan: Plan) -> Hidden:
    place = names.index(name)
    known = tuple(
        at for at, other in enumerate(names) if at != place and not (name == HOME_PUMA and other == BAND)
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
    """Run the attackers on some records: the tables of :class:`mapapp.measuring.audit.outcomes.Outcomes`.

    `n` is the number of real workers who share all that is known of the victim.

    Parameters
    ----------
    name : str
    real : RecordWorkers
    drawn : int32[r, m]
    hidden : sequence of Hidden
    report : callable
    """
    found = []
    for number, target in enumerate(hidden):
        report(f"attacking {name}", number, len(hidden))
        outcomes = Outcomes(name, len(real.codes))
        title = real.attributes.names[target.place]
        truth = real.codes[:, target.place].astype(np.int64)
        keys = row_numbers([real.codes[:, target.known]])[0]
        size_class = size_classes(np.bincount(keys)[keys])
        for attacker, predictions in _attackers(real, drawn, target, truth):
            outcomes.add(title, attacker, predictions, truth, size_class)
        found.append(outcomes.tables())
    return {table: pandas.concat([each[table] for each in found], ignore_index=True) for table in found[0]}


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
    return [own for own, _ in pairs], [other for _, other in pairs]


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
