"""Toy input for every stage that has kernels: calling a stage's function compiles them.

Only :mod:`engine.precompile` imports this module, and only to compile: it imports most of the engine.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from engine.accountant.paper import SynthesizerClasses
from engine.accountant.sound import certify_sound
from engine.kernels.units import WEIGHT_UNITS
from engine.mechanisms.cascade import (
    cascade_points,
    class_factors,
    count_kinds,
    deal_labels,
    draw_labels,
    sum_classes,
)
from engine.mechanisms.cleaning import clean_points
from engine.mechanisms.dirichlet_multinomial import (
    Synthesizers,
    SyntheticPoints,
    redraw_remainder,
    synthesize,
)
from engine.mechanisms.expected_noise import expected_noise
from engine.mechanisms.exponential import exponential
from engine.mechanisms.prices import law_of
from engine.parameters import PrivacyParameters
from engine.placement.placement import BlockTable, place_blocks
from engine.placement.points import CellTriangles, count_homes, place_points, sort_homes
from engine.streams import PublicSeed, SecretKey
from engine.support.coarsening import LEVEL_REMAINDER, Coarsening, coarsen
from engine.support.editing import edit_domain
from engine.support.far_states import FarSplit, pool_far_states, split_far_states
from engine.support.gravity import GravityDecay
from engine.support.row_runs import row_runs
from engine.support.support_table import SupportTable
from engine.support.tracts import OriginTracts
from engine.suppression.both_totals import TwoWayTable, suppress_two_way
from engine.suppression.cells import suppress_cells
from engine.suppression.rates import Rates
from engine.suppression.rows import suppress_rows
from engine.suppression.sampled import suppress_cells_sampled
from engine.suppression.sum_tree import SumTree, suppress_tree
from engine.suppression.unsafe import unsafe_probability_bounds

__all__ = ["TOYS"]

_N = 4  # tracts, all of them destination tracts, with one synthesizer each
_RETENTION = 1 << 27
_HALF = Fraction(1, 2)
_ONE = np.ones(1, dtype=np.int64)


def _tracts() -> OriginTracts:
    numbers = np.arange(_N)
    return OriginTracts(
        lon_deg=0.2 * numbers.astype(np.float64),
        lat_deg=np.zeros(_N),
        puma=numbers.astype(np.int32),
        superpuma=numbers.astype(np.int32),
        population=numbers + 5,
    )


def _coarsening() -> Coarsening:
    """A coarsening made without kernels, in which the only point of each destination tract is the tract itself."""
    numbers = np.arange(_N)
    return Coarsening(
        tracts=_tracts(),
        destination=numbers,
        q50_mi=5.0,
        q90_mi=10.0,
        support_ptr=np.arange(_N + 1),
        support_level=np.zeros(_N, dtype=np.int8),
        support_unit=numbers.astype(np.int32),
        support_distance_mi=np.zeros(_N),
        support_population=numbers + 5,
    )


def _support_table() -> SupportTable:
    return SupportTable(
        support_ptr=np.arange(_N + 1),
        base_weight=np.full(_N, WEIGHT_UNITS // 8),
        retention=np.full(_N, _RETENTION),
    )


def _synthesizers() -> Synthesizers:
    return Synthesizers(
        tract=np.arange(_N, dtype=np.int32),
        destination=np.arange(_N),
        segment=np.zeros(_N, dtype=np.int64),
        worker_ptr=np.arange(_N + 1),
        worker_point=np.zeros(_N, dtype=np.int32),
        min_prior_weight=np.full(_N, WEIGHT_UNITS // 8),
    )


def _draw_points() -> SyntheticPoints:
    return SyntheticPoints(synthetic_ptr=np.arange(_N + 1), synthetic_point=np.zeros(_N, dtype=np.int32))


def _count() -> None:
    column = np.ones(_N, dtype=np.int32)
    row_runs(column, column.astype(np.int8), column)


def _coarsen() -> None:
    decay = GravityDecay(scale_mi=5.0, shape=1.0)
    coarsening, _ = coarsen(_tracts(), np.arange(_N), q50_mi=5.0, q90_mi=10.0, decay=decay)
    coarsening.find(np.zeros(1, dtype=np.int32), np.zeros(1, dtype=np.int64))
    single = np.zeros(1, dtype=np.int32)
    coarsening.find_homes(single, np.array([0, 1]), single, single)


def _account() -> None:
    prior = _support_table()
    ones = np.ones(1, dtype=np.int64)
    privacy = PrivacyParameters(epsilon="9", delta="1e-6", min_retention="0.025", accountant="sound")
    classes = SynthesizerClasses(tract=0 * ones, likelihood_count=ones, published_count=ones)
    certify_sound(prior, classes, privacy, allow_unpruned=True)


def _pool() -> None:
    pools = pool_far_states(_coarsening(), 1.0)
    edited = edit_domain(PublicSeed.for_tests(), pools.pooled, np.ones(_N), np.arange(_N))
    # No states are pooled here, so that there would be nothing to split.
    split = replace(FarSplit.of(pools, edited), keeps_numbers=False)
    split_far_states(SecretKey.for_tests(), _synthesizers(), _draw_points(), split)


def _edit() -> None:
    edit_domain(PublicSeed.for_tests(), _coarsening(), np.zeros(_N), np.arange(_N), elimination=((0.0, 0.5),))


def _draw() -> None:
    synthesize(SecretKey.for_tests(), _synthesizers(), _support_table())


def _move() -> None:
    # Blocks, since cells need nothing more.
    exponential(SecretKey.for_tests(), _synthesizers(), _support_table(), epsilon=4, unit="block")


def _clean() -> None:
    units, drawn, coarsening = _synthesizers(), _draw_points(), _coarsening()
    # Blocks, since cells need nothing more.
    noise = expected_noise(units, drawn, _support_table(), epsilon=4, unit="block")
    clean_points(SecretKey.for_tests(), units, drawn, coarsening, np.ones(_N), noise, np.arange(_N))


def _cascade() -> None:
    points, units = cascade_points(_coarsening(), np.ones(_N)), _synthesizers()
    drawn = draw_labels(SecretKey.for_tests(), units, points, epsilon=4)
    factors = class_factors([sum_classes(drawn, points, count_kinds(_tracts()))])
    deal_labels(PublicSeed.for_tests(), drawn, points, factors, np.arange(_N))


def _price() -> None:
    # Two workers among several points, so that a price is searched for and helps; and more than have one.
    law_of(Fraction(4), 5, 2)
    law_of(Fraction(4), 5, 40)


def _add_remainders() -> Coarsening:
    """The same coarsening with a remainder in each destination tract; without one nothing is drawn again."""
    toy = _coarsening()
    level, unit = np.full((_N, 2), LEVEL_REMAINDER, np.int8), np.full((_N, 2), -1, np.int32)
    level[:, 0], unit[:, 0] = toy.support_level, toy.support_unit
    return replace(
        toy,
        support_ptr=2 * toy.support_ptr,
        support_level=level.ravel(),
        support_unit=unit.ravel(),
        support_distance_mi=np.zeros(2 * _N),
        support_population=np.repeat(toy.support_population, 2),
    )


def _redraw() -> None:
    weights = np.full(2 * _N, WEIGHT_UNITS)
    redraw_remainder(SecretKey.for_tests(), _synthesizers(), _draw_points(), _add_remainders(), weights)


def _place() -> None:
    blocks = BlockTable(block_ptr=np.arange(_N + 1), block_population=np.ones(_N, dtype=np.int64))
    place_blocks(SecretKey.for_tests(), _synthesizers(), _draw_points(), _coarsening(), blocks)


def _points() -> None:
    homes = np.zeros(_N, dtype=np.int32)
    cells = CellTriangles(triangle_ptr=np.zeros(2, dtype=np.int64), triangle=np.zeros((0, 7)))
    ptr = np.array([0, _N])
    place_points(SecretKey.for_tests(), np.zeros(1, np.int64), np.zeros(1, np.int64), ptr, homes, cells)
    count_homes(ptr, sort_homes(ptr, homes))


def _decide_cells() -> None:
    rates = Rates(numerator=_ONE, denominator=2 * _ONE)
    unsafe_probability_bounds(4 * _ONE, rates, _ONE, 3 * _ONE)
    suppress_cells(4 * _ONE, rates, 2 * _ONE, epsilon=_HALF, decision_delta=_HALF)
    suppress_rows(4 * _ONE, np.arange(2), rates, 2 * _ONE, epsilon=_HALF, decision_delta=_HALF)


def _decide_sums() -> None:
    # Two rates, and more people than are decided in whole numbers.
    tree = SumTree(
        parent=np.array([-1, 0, 0]),
        type_ptr=np.array([0, 0, 1, 2]),
        type_people=np.array([90, 90]),
        type_rates=Rates(numerator=np.array([1, 1]), denominator=np.array([2, 3])),
    )
    suppress_tree(tree, np.array([75, 45, 30]), epsilon=_HALF, decision_delta=_HALF)


def _decide_both_totals() -> None:
    # More people than are decided in whole numbers.
    table = TwoWayTable(
        shape=(2, 2),
        type_ptr=np.arange(5),
        type_people=np.full(4, 90),
        type_rates=Rates(numerator=np.full(4, 1), denominator=np.array([2, 3, 2, 3])),
    )
    values = np.array([75, 75, 90, 60, 45, 30, 45, 30])
    suppress_two_way(table, values, epsilon=_HALF, decision_delta=_HALF)


def _sample_cells() -> None:
    rates, key = Rates(numerator=_ONE, denominator=2 * _ONE), SecretKey.for_tests()
    suppress_cells_sampled(4 * _ONE, rates, 2 * _ONE, epsilon=_HALF, decision_delta=_HALF, key=key)


# A synthesis imports this module, and must not wait for what only an audit needs.


def _attack() -> None:
    from engine.audit.informed import DirichletMultinomial, Exponential, KeepOrRedraw, informed_attack

    shares = np.ones(_N)
    likelihoods = (
        DirichletMultinomial(),
        Exponential(epsilon=Fraction(4)),
        KeepOrRedraw(epsilon=Fraction(4)),
    )
    for likelihood in likelihoods:
        informed_attack(_synthesizers(), _draw_points(), _support_table(), shares, likelihood, epsilon=4.0)
    _look_up()


def _look_up() -> None:
    from engine.audit.tally import BeliefTally, size_classes
    from engine.audit.unit_shares import unit_shares
    from engine.audit.workplace_lookup import look_up_homes, look_up_segments

    numbers, ptr, prior = np.arange(_N), np.arange(_N + 1), np.full(_N, 0.25)
    look_up_homes(ptr, ptr, numbers, numbers, prior)
    looked_up = look_up_segments(numbers, numbers, ptr, (numbers, numbers), _N, prior)
    unit_shares(ptr, prior, np.zeros((_N, _N), np.int32), numbers + 1, numbers)
    right = looked_up.memorised.value == numbers
    BeliefTally(_N).add(looked_up.memorised.belief, right, size_classes(numbers + 1))


def _people() -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int64], int]:
    """Codes of a quasi-identifier, a sensitive attribute, and their numbers of codes."""
    return np.arange(8).reshape(-1, 1), np.arange(8) % 2, np.array([8]), 2


def _tabulate() -> None:
    from engine.audit.decomposition import Decomposition
    from engine.audit.naive_bayes import CodeCounts, NaiveBayes
    from engine.audit.workload import window_workload

    codes, sensitive, sizes, n_values = _people()
    CodeCounts(sizes, n_values).add(codes, sensitive)
    records = Decomposition.from_records(*_people())
    NaiveBayes.of(records).predict(records.lo)
    window_workload(records, 1, rng=np.random.default_rng(0))


def _grow_syntactic() -> None:
    from engine.audit.criteria import SplitRule
    from engine.audit.lookup import lookup_in_leaf
    from engine.audit.syntactic_tree import syntactic_tree

    lookup_in_leaf(syntactic_tree(*_people(), SplitRule(k=2)))


def _grow_private() -> None:
    from engine.audit.private_tree import private_tree

    rng = np.random.default_rng(0)
    private_tree(*_people(), epsilon=1, height=1, levels="uniform", rng=rng)


def _learn_records() -> None:
    from engine.records.drawing import draw_records
    from engine.records.entropy import entropy_noise
    from engine.records.expected import expected_errors
    from engine.records.splitting import split_records
    from engine.records.structure import Structure
    from engine.records.tables import learn_model
    from engine.records.topping_up import TopUp, top_up

    key, codes = SecretKey.for_tests(), np.zeros((_N, 1), dtype=np.int32)
    entropy_noise(key, 0, _HALF, 1)
    split_records(_N, [_HALF, _HALF], key=key)
    model = learn_model(codes, Structure.of_marginals([2]), epsilon=1, key=key)
    drawn = draw_records(model, _N, key=key)
    expected_errors(model, _N, runs=1)
    tries = TopUp(
        n_total=2 * _N,
        n_tried=_N,
        n_seeds=_N,
        min_plausible_seeds=1,
        threshold_epsilon=_HALF,
        forced_fail=Fraction(0),
    )
    top_up(model, drawn, 1, tries, key=key)


def _try_candidates() -> None:
    from engine.records.acceptance import Acceptance
    from engine.records.candidates import draw_candidates
    from engine.records.groups import Seeds
    from engine.records.structure import Structure
    from engine.records.tables import learn_model

    key = SecretKey.for_tests()
    acceptance = Acceptance(min_plausible_seeds=2, threshold_epsilon=1, forced_fail=_HALF)
    # Combinations of kept values are numbers of four bytes, and of eight where there are more than 2^31.
    for domain in ([2, 2], [1 << 16, 1 << 16]):
        codes, seeds = np.zeros((_N, 2), dtype=np.int32), Seeds(domain)
        seeds.add(codes)
        model = learn_model(codes, Structure.of_marginals(domain), epsilon=1, key=key)
        draw_candidates(seeds, seeds.groups(), acceptance, model, n=_N, key=key)


def _place_records() -> None:
    from engine.records.placing import RecordGround, draw_places

    tracts = _tracts()
    blocks = BlockTable(block_ptr=np.arange(_N + 1), block_population=np.arange(_N))
    ground = RecordGround(
        tracts=tracts,
        blocks=blocks,
        block_lon_deg=tracts.lon_deg,
        block_lat_deg=tracts.lat_deg,
        edges_mi=(1,),
    )
    draw_places(SecretKey.for_tests(), np.arange(_N), np.arange(_N), np.zeros(_N, dtype=np.int8), ground)


TOYS: dict[str, Callable[[], None]] = {
    "count": _count,
    "account": _account,
    "coarsen": _coarsen,
    "pool": _pool,
    "draw": _draw,
    "move": _move,
    "price": _price,
    "clean": _clean,
    "cascade": _cascade,
    "place": _place,
    "points": _points,
    "redraw": _redraw,
    "edit": _edit,
    "sums": _decide_sums,
    "both-totals": _decide_both_totals,
    "samples": _sample_cells,
    "cells": _decide_cells,
    "attack": _attack,
    "tabulate": _tabulate,
    "grow-syntactic": _grow_syntactic,
    "grow-private": _grow_private,
    "learn-records": _learn_records,
    "try-candidates": _try_candidates,
    "place-records": _place_records,
}
"""The function of each stage, by its name."""
