"""The membership game on worker records: can draws with one worker and without be told apart?

A promise of records is about whole records, so the question is whether a worker was in the data at all. The attacker
knows every other worker, and which part of the run the worker's record is used for: a seed, or a row that fills the
tables. Each game draws the part again and again, with the worker and without, by the code that makes records. Only the
draws that can depend on the worker are made; their law is that of whole runs.

CONFIDENTIAL, all of it.

Source: docs/theory/membership.md, "The membership game" and "Exact laws".
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from engine.audit.alarm import FALSE_ALARM
from engine.audit.membership import Shown, epsilon_shown, share_right
from engine.audit.records_law import (
    delta_of_tables,
    delta_of_tries,
    epsilon_at_delta,
    most_exposed,
    table_chances,
    try_laws,
)
from engine.records.acceptance import Acceptance
from engine.records.candidates import draw_candidates
from engine.records.groups import GroupTable, prefix_codes
from engine.records.structure import Structure
from engine.records.tables import Codes, FamilyCounts, Model, model_from_counts
from engine.streams import SecretKey
from mapapp.base.progress import Report
from mapapp.kinds.records.make.plan import Plan
from mapapp.kinds.records.make.privacy_costs import SeedPlan
from mapapp.kinds.records.measure.draws import DrawnRecords, draw_key

__all__ = [
    "Game",
    "group_sizes",
    "law_rows",
    "membership_row",
    "planned_games",
    "play_games",
    "seed_scores",
    "table_scores",
]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

_ERROR: Final = 0.05
_AT_ONCE: Final = 1 << 20
_GAME_SEED: Final = 2017  # of how many tries fall on the worker's group: the same in every audit
_LARGE: Final = 40  # times the scale of the noise: a count that it never cuts at 0
_FIRST_KEY: Final = 1000  # keys of single draws are below


class Game(NamedTuple):
    """One target of the membership game.

    Attributes
    ----------
    part : {"seeds", "parameters"}
    target : str
        Which worker is attacked: "alone", "exposed", or "any".
    others : int or None
        Other seeds in the worker's group.
    with_worker, without_worker : float64[K]
        Scores of draws.
    delta_of : callable
        Exact delta at an epsilon, of the best attacker.
    n, chance_with, chance_without : int, float, float
        The scores are binomial: out of n, with these chances.
    """

    part: str
    target: str
    others: int | None
    with_worker: Floats
    without_worker: Floats
    delta_of: Callable[[float], float]
    n: int
    chance_with: float
    chance_without: float


def play_games(
    name: str, codes: Codes, plan: Plan, drawn: DrawnRecords, n_draws: int, report: Report
) -> list[Game]:
    """Play all games of a plan.

    Parameters
    ----------
    name : str
        Of the records, for the table.
    codes : int32[n, m]
        The real workers.
    plan : Plan
    drawn : DrawnRecords
        A draw of the plan: who is a seed in it, and the structure.
    n_draws : int
        Of each side, 2 or more.
    report : callable
    """
    games = []
    for number, play in enumerate(planned_games(codes, plan, drawn, n_draws)):
        report(f"playing for membership in {name}", number, 3)
        games.append(play())
    return games


def planned_games(codes: Codes, plan: Plan, drawn: DrawnRecords, n_draws: int) -> list[Callable[[], Game]]:
    """Return the games of a plan, each to be played when it is called; that of the tables comes last."""
    games: list[Callable[[], Game]] = []
    if plan.seeds is not None:
        seeds, sizes = plan.seeds, group_sizes(codes, plan, drawn)
        exposed = most_exposed(seeds.acceptance, sizes, seeds.n_tries)
        targets = ({"exposed": exposed} if exposed else {}) | ({"alone": 0} if np.any(sizes == 1) else {})
        for target, others in targets.items():
            games.append(partial(_seed_game, seeds, sizes, target, others, n_draws))
    games.append(partial(_table_game, codes, plan, drawn, n_draws))
    return games


def membership_row(game: Game, plan: Plan) -> dict[str, object]:
    """A row of the table `membership`, but for the name of the records."""
    part = next(part for part in plan.parts if part.name == game.part)
    epsilon, delta = (float(amount) for amount in part.add_remove)
    usual, sure = (
        epsilon_shown(game.with_worker, game.without_worker, delta=delta, error=error)
        for error in (_ERROR, FALSE_ALARM)
    )
    return {
        "part": game.part,
        "target": game.target,
        "others": game.others,
        "epsilon": epsilon,
        "delta": delta,
        "exact_epsilon": epsilon_at_delta(game.delta_of, delta if delta else 1e-15),
        "shown_epsilon": usual.epsilon,
        "sure_epsilon": sure.epsilon,
        "most_right": float((1 + (math.expm1(epsilon) + 2 * delta) / (math.exp(epsilon) + 1)) / 2),
        "exact_right": (1 + game.delta_of(0.0)) / 2,
        "shown_right": share_right(game.with_worker, game.without_worker),
        "draws": len(game.with_worker),
        **_event(usual),
        "is_broken": sure.epsilon > epsilon,
    }


def _event(shown: Shown) -> dict[str, object]:
    return {
        "measured_draws": shown.n_draws,
        "threshold": shown.threshold,
        "is_above": shown.is_above,
        "with_worker": shown.with_worker,
        "without_worker": shown.without_worker,
    }


def group_sizes(codes: Codes, plan: Plan, drawn: DrawnRecords) -> Ints:
    """Seeds of every group of kept attributes that has some."""
    kept = plan.kept
    seeds = codes[drawn.subset == 0][:, :kept]
    return np.unique(prefix_codes(seeds, plan.attributes.domain[:kept]), return_counts=True)[1].astype(
        np.int64
    )


def _seed_game(seeds: SeedPlan, sizes: Ints, target: str, others: int, n_draws: int) -> Game:
    n = int(sizes.sum())
    with_worker = seed_scores(seeds.acceptance, others + 1, n, seeds.n_tries, n_draws, draw_key(_FIRST_KEY))
    without = seed_scores(seeds.acceptance, others, n - 1, seeds.n_tries, n_draws, draw_key(_FIRST_KEY + 1))
    laws = try_laws(seeds.acceptance, sizes, others)
    return Game(
        part="seeds",
        target=target,
        others=others,
        with_worker=with_worker,
        without_worker=without,
        delta_of=lambda epsilon: delta_of_tries(seeds.n_tries, *laws, epsilon),
        n=seeds.n_tries,
        chance_with=laws[1].own,
        chance_without=laws[0].own,
    )


def seed_scores(
    acceptance: Acceptance, size: int, n_seeds: int, n_tries: int, n_draws: int, key: SecretKey
) -> Floats:
    """Records released from one group, in each of some runs: float64[n_draws].

    Tries whose seed is in no group but those of a few rows are left out: how many are left is binomial, and the engine
    draws those. The rows are the group's seeds and two others, in a group of their own.

    Parameters
    ----------
    acceptance : Acceptance
    size : int
        Seeds of the group, 0 or more.
    n_seeds : int
        All seeds, of which at least two are in other groups, or none but the group's.
    n_tries, n_draws : int
    key : SecretKey
    """
    n_rows = min(size + 2, n_seeds)
    rows = np.zeros((n_rows, 1), dtype=np.int32)
    rows[size:] = 1
    groups = GroupTable.of(rows, (2,))
    model = Model.of_weights(Structure(domain=(2,), parents=((),)), [np.ones((1, 2), dtype=np.int64)])
    random = np.random.default_rng([_GAME_SEED, size, n_seeds, n_tries])
    n_of_run = random.binomial(n_tries, n_rows / n_seeds, n_draws)
    total, passed = int(n_of_run.sum()), []
    for first in range(0, total, _AT_ONCE):
        candidates = draw_candidates(
            rows, groups, acceptance, model, n=min(_AT_ONCE, total - first), first=first, key=key
        )
        passed.append(candidates.number[candidates.codes[:, 0] == 0])
    numbers = np.concatenate([np.zeros(0, dtype=np.int64), *passed])
    ends = np.searchsorted(numbers, np.cumsum(n_of_run))
    return np.diff(ends, prepend=0).astype(np.float64)


def _table_game(codes: Codes, plan: Plan, drawn: DrawnRecords, n_draws: int) -> Game:
    workers = codes[drawn.subset == 1]
    structure = drawn.model.structure
    with_worker, without = table_scores(workers, structure, plan, n_draws)
    rate = float(plan.model_epsilon) / structure.n_attributes
    return Game(
        part="parameters",
        target="any",
        others=None,
        with_worker=with_worker,
        without_worker=without,
        delta_of=lambda epsilon: delta_of_tables(structure.n_attributes, rate, epsilon),
        n=structure.n_attributes,
        chance_with=table_chances(rate)[1],
        chance_without=table_chances(rate)[0],
    )


def table_scores(workers: Codes, structure: Structure, plan: Plan, n_draws: int) -> tuple[Floats, Floats]:
    """Tables whose noisy count in a worker's cell is above that of the others, in each draw: with the worker, without.

    The worker is the first of those who fill the tables. Noise is drawn cell by cell, so tables with two cells each,
    the worker's and all others, have the same law in the worker's cell.
    """
    inside = np.column_stack(
        [_same_cell(workers, structure, child) for child in range(structure.n_attributes)]
    )
    two_cells = Structure(domain=(2,) * structure.n_attributes, parents=((),) * structure.n_attributes)
    others = inside[1:].sum(axis=0)
    scores = []
    for side, rows in enumerate((inside, inside[1:])):
        counts = FamilyCounts(two_cells)
        counts.add(np.ascontiguousarray(rows, dtype=np.int32))
        score = np.empty(n_draws)
        for number in range(n_draws):
            key = draw_key(_FIRST_KEY + 2 + 2 * number + side)
            model = model_from_counts(counts, plan.model_epsilon, key)
            # Running sums of two cells each, in the order of the tables.
            sums = model.tables.sums.reshape(others.size, 2)
            score[number] = np.count_nonzero((sums[:, 1] - sums[:, 0]) // model.scale > others)
        scores.append(score)
    return scores[0], scores[1]


def _same_cell(workers: Codes, structure: Structure, child: int) -> npt.NDArray[np.bool_]:
    """Which workers are in the first one's cell of a table."""
    same: npt.NDArray[np.bool_] = workers[:, child] == workers[0, child]
    for parent, bucket in zip(structure.parents[child], structure.buckets[child], strict=True):
        column = workers[:, parent] if bucket is None else bucket[workers[:, parent]]
        same &= column == column[0]
    return same


def law_rows(name: str, codes: Codes, plan: Plan, drawn: DrawnRecords) -> list[dict[str, object]]:
    """Whether a draw follows the law of its mechanism: rows of the table `law`.

    Of the seeds, how many candidates passed; of the tables, how many of their large counts, which are never cut at 0,
    have noise of at most its median. Both are binomial. A number that is so far off once in 10^9 draws is a fault of
    this program.
    """
    rows = [_noise_row(codes[drawn.subset == 1], plan, drawn.model)]
    if plan.seeds is not None:
        counts = group_sizes(codes, plan, drawn)
        chance = float((counts * plan.seeds.acceptance.chances(counts)).sum() / counts.sum())
        rows.append(_law_row("candidates that passed", drawn.n_passed, plan.seeds.n_tries, chance))
    return [{"release": name, **row} for row in rows]


def _noise_row(workers: Codes, plan: Plan, model: Model) -> dict[str, object]:
    rate = float(plan.model_epsilon) / model.structure.n_attributes
    counts = FamilyCounts(model.structure)
    counts.add(np.ascontiguousarray(workers))
    noise = []
    for child in range(model.structure.n_attributes):
        cells = model.structure.cells[child]
        real, weights = counts.of_attribute(child), model.weights(child)[cells.places()]
        is_large = cells.possible & (real > _LARGE / rate)
        noise.append(np.abs(weights[is_large] // model.scale - real[is_large]))
    deviations = np.concatenate(noise)
    a = math.exp(-rate)
    # P(|z| > m) = 2 a^(m + 1) / (1 + a): the least m at which it is a half or less.
    median = max(math.ceil(math.log((1 + a) / 4) / math.log(a) - 1), 0)
    chance = 1 - 2 * a ** (median + 1) / (1 + a)
    what = f"large cells with noise of at most {median:,}"
    return _law_row(what, int(np.count_nonzero(deviations <= median)), deviations.size, chance)


def _law_row(what: str, observed: int, n: int, chance: float) -> dict[str, object]:
    from scipy.stats import binom  # here because it takes long to import

    tail = min(float(binom.cdf(observed, n, chance)), float(binom.sf(observed - 1, n, chance)))
    return {
        "what": what,
        "of": n,
        "expected": n * chance,
        "standard_error": math.sqrt(n * chance * (1 - chance)),
        "found": observed,
        "is_off": n > 0 and tail < FALSE_ALARM / 2,
    }
