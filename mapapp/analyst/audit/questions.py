"""Questions of an attacker as arrays: where a worker lives, what the worker earns, in which industry.

For some destination tracts at a time, a question gives the true value of every worker, the value of every synthetic
worker, what attackers predict who look the worker up, and the public prior. Homes have three
values: the support point, which is what the mechanism protects, the home tract, and the home county.

Values of homes are numbered within each destination tract, because so are support points and priors:
``destination tract * n_values + value``. :attr:`QuestionPart.n_values` undoes it.

Source: docs/audit.md, "Questions".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, Literal, get_args

import numpy as np
import numpy.typing as npt
import pandas

from engine.audit.unit_shares import unit_shares
from engine.audit.workplace_lookup import Lookups, look_up_homes, look_up_segments
from geodata.store.store import Store
from mapapp.analyst.audit.audited import AuditedPart
from mapapp.kinds.base.geography import Geography, Ints

__all__ = ["QUESTIONS", "TARGETS_OF", "Areas", "Question", "QuestionPart", "Target", "ask"]

Floats = npt.NDArray[np.float64]

Question = Literal["home", "earnings", "industry"]
Target = Literal["home point", "home tract", "home county", "earnings", "industry"]
"""What is predicted; the home question has three of them."""

QUESTIONS: Final[tuple[Question, ...]] = get_args(Question)
TARGETS_OF: Final[Mapping[Question, tuple[Target, ...]]] = {
    "home": ("home point", "home tract", "home county"),
    "earnings": ("earnings",),
    "industry": ("industry",),
}

_N_BANDS: Final = 3
_MARGINS: Final = _N_BANDS * _N_BANDS


@dataclass(frozen=True, slots=True, kw_only=True)
class Areas:
    """Counties of tracts: public.

    Attributes
    ----------
    county_of_tract : int64[n_tracts]
        An elsewhere unit is a county of its own, as in the store.
    population : int64[n_tracts]
        At least 1, so that an empty tract has a prior share.
    """

    county_of_tract: Ints
    population: Ints

    @property
    def n_counties(self) -> int:
        """Number of counties, elsewhere units included."""
        return int(self.county_of_tract.max()) + 1

    @classmethod
    def read(cls, store: Store, geography: Geography) -> Areas:
        """Read them from a dataset or a release."""
        county, _ = pandas.factorize(store.table("tracts", ["county_id"])["county_id"], sort=True)
        return cls(
            county_of_tract=county.astype(np.int64), population=np.maximum(geography.tracts.population, 1)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionPart:
    """One question about the workers of some destination tracts.

    W workers, V values.

    Attributes
    ----------
    target : str
    truth : int64[W]
        True value of every worker, in the order of the synthesizers. Confidential.
    released : int64[W]
        Value of every synthetic worker.
    lookups : Lookups
        What attackers predict who look workers up: in the block and segment and then the tract; or, for earnings and
        industry, by block, the other bands and the home tract, and then without the home.
    prior : float64[V]
        Public belief in every value; those of one destination tract, or of one public margin, sum to 1.
    guess, belief : int64[W], float64[W]
        What public data alone say of each worker: the likeliest value, and its share.
    n_values : int
        Values that tell workers of all destination tracts apart are these numbers modulo `n_values`; support points
        have no such number, and 0 says so.
    """

    target: Target
    truth: Ints
    released: Ints
    lookups: Lookups
    prior: Floats
    guess: Ints
    belief: Floats
    n_values: int


def ask(target: Target, part: AuditedPart, geography: Geography, areas: Areas) -> QuestionPart:
    """Put one question about some destination tracts."""
    if target in TARGETS_OF["home"]:
        return _home(target, part, geography, areas)
    return _band(target, part, geography)


def _home(target: Target, part: AuditedPart, geography: Geography, areas: Areas) -> QuestionPart:
    inputs = part.panel.inputs
    tract = np.repeat(inputs.tract, inputs.count).astype(np.int64)
    homes = (part.panel.home_tract, geography.tract_of_block[part.home_block].astype(np.int64))
    ptr, point_of_tract = part.support.table.support_ptr, part.point_of_tract
    n_values, prior, first = 0, part.support.share, ptr
    if target == "home point":
        # Workers whose point was dropped by editing have a value of their own; naming it is no hit (run.py).
        local = [point_of_tract[tract, home] for home in homes]
        truth, released = (
            np.where(point >= 0, ptr[tract] + point, part.support.share.size) for point in local
        )
        prior = np.append(prior, 0.0)
    else:
        unit = np.arange(areas.population.size) if target == "home tract" else areas.county_of_tract
        n_values = int(unit.max()) + 1
        truth, released = (tract * n_values + unit[home] for home in homes)
        prior = unit_shares(ptr, part.support.share, point_of_tract, areas.population, unit)
        first = np.arange(ptr.size) * n_values
    truth, released = truth.astype(np.int64), released.astype(np.int64)
    best = np.array([begin + np.argmax(prior[begin:end]) for begin, end in pairwise(first)])
    # Cells of a tract come one after another.
    cell_ptr = np.searchsorted(inputs.tract, np.arange(ptr.size))
    return QuestionPart(
        target=target,
        truth=truth,
        released=released,
        lookups=look_up_homes(cell_ptr, inputs.worker_ptr, truth, released, prior),
        prior=prior,
        guess=best[tract],
        belief=prior[best][tract],
        n_values=n_values,
    )


def _band(target: Target, part: AuditedPart, geography: Geography) -> QuestionPart:
    """Earnings or industry: counts by workplace block and the other two bands are public and exact."""
    inputs = part.panel.inputs
    age, earnings, industry = inputs.segment // 9, inputs.segment // 3 % 3, inputs.segment % 3
    asked, known = (earnings, industry) if target == "earnings" else (industry, earnings)
    destination = np.repeat(np.arange(inputs.destination_ptr.size - 1), np.diff(inputs.destination_ptr))
    margin = (destination * _N_BANDS + age) * _N_BANDS + known
    prior, guess, belief = _margins(margin, asked, inputs.count)
    of_worker = np.repeat(np.arange(inputs.count.size), inputs.count)
    value = asked[of_worker]
    homes = (part.panel.home_tract, geography.tract_of_block[part.home_block].astype(np.int64))
    return QuestionPart(
        target=target,
        truth=value,
        released=value,
        lookups=look_up_segments(margin, asked, inputs.worker_ptr, homes, geography.tracts.n_tracts, prior),
        prior=prior,
        guess=guess[of_worker],
        belief=belief[of_worker],
        n_values=_N_BANDS,
    )


def _margins(margin: Ints, asked: Ints, count: Ints) -> tuple[Floats, Ints, Floats]:
    """Share of every band among all workers; the likeliest band of every synthesizer's margin, and its share."""
    table = np.bincount(margin * _N_BANDS + asked, count, (int(margin.max()) + 1) * _N_BANDS)
    table = table.reshape(-1, _N_BANDS)
    overall = table.sum(axis=0)
    # Ties go to the band that is more frequent overall, then to the lower one.
    order = np.argsort(-overall, kind="stable")
    best = order[np.argmax(table[:, order], axis=1)]
    share = table.max(axis=1) / np.maximum(table.sum(axis=1), 1)
    return overall / overall.sum(), best[margin].astype(np.int64), share[margin].astype(np.float64)
