"""What ordinary suppression gives away on real tables: `python -m benchmarks.ordinary_tables [--dataset ri.dataset]`.

One table of industry by earnings (3 x 3) per town and per tract of work, with all totals and the numbers of people
public. It counts the workers who live in the same town, or outside the state. Counts of 1 to 5 are primary, and the
fewest further cells are suppressed. Then every table is attacked: all tables that agree with it are listed, and the
suppressor is run again on each. docs/replications/rhode-island.md, "What ordinary suppression gives away" explains the
columns.

Rhode Island's LODES data are public, so these counts may be shown. Those of a confidential dataset may not.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.special import gammaln, xlog1py, xlogy

from benchmarks import rhode_island
from benchmarks.replications import line, table
from engine.suppression.attack.consistent import list_consistent
from engine.suppression.attack.ordinary import Layout, OrdinarySuppressor, Rule
from engine.suppression.attack.rule_check import agrees_with_rule, stars_of
from engine.suppression.tables_given import SUPPRESSED, GivenTable
from geodata.store.store import open_store

SMALLEST = ("--dataset", "{dataset}", "--towns", "county_id")
SHAPE = (3, 3)
"""Industries and groups of earnings."""
BELIEF_MOVED = 0.5
BLOCK_COLUMNS = ("tract_id", "state_id")

Counts = npt.NDArray[np.int64]


class Unit(NamedTuple):
    """What the attack on one unit's table finds, for each suppressed cell before and after the rule is used."""

    n_primary: int
    n_complementary: int
    share_left: float
    small: tuple[int, int]
    exact: tuple[int, int]
    exact_primary: tuple[int, int]
    mode_right: tuple[int, int]
    moved: tuple[int, int]


def argument_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    rhode_island.add_dataset_options(parser)
    parser.add_argument("--towns", default="layer_ctycsub", help="column of blocks that names towns")
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    chosen = argument_parser().parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        store = open_store(rhode_island.given_or_imported(chosen, Path(folder)), "dataset")
        workers = workers_of(
            store.table("jobs"), store.table("blocks", [*BLOCK_COLUMNS, chosen.towns]), chosen.towns
        )
    table(
        "one table per",
        "lives in",
        "choice",
        "tables",
        "cells",
        "primary",
        "complementary",
        "median share left",
        "certainly 1–5",
        "primary, known exactly",
        "any, known exactly",
        "primary, mode right",
        "belief moved",
    )
    for unit in ("town", "tract"):
        for home in ("same town", "outside the state"):
            for ties in ("first", "any"):
                line(f"{workers[unit].nunique()} {unit}s", home, ties, *found_in(workers, unit, home, ties))


def workers_of(jobs: pd.DataFrame, blocks: pd.DataFrame, towns: str) -> pd.DataFrame:
    """Return jobs with the units of their workplace, and whether the home is in the same town or another state."""
    work = blocks.iloc[jobs["destination_index"]].reset_index(drop=True)
    home = blocks.iloc[jobs["origin_index"]].reset_index(drop=True)
    return jobs.assign(
        town=work[towns],
        tract=work["tract_id"],
        **{
            "same town": (work[towns] == home[towns]) & (work[towns] != ""),
            "outside the state": work["state_id"] != home["state_id"],
        },
    )


def found_in(workers: pd.DataFrame, unit: str, home: str, ties: str) -> list[object]:
    """Suppress and attack the tables of all units; return the columns from "tables" on."""
    people, values = _tables(workers, unit), _tables(workers[workers[home]], unit, workers[unit])
    found = list(attacked(people, values, ties))
    shares = [each.share_left for each in found]
    pairs = (
        [sum(one[stage] for one in column) for stage in (0, 1)]
        for column in zip(
            *((u.small, u.exact_primary, u.exact, u.mode_right, u.moved) for u in found), strict=True
        )
    )
    return [
        len(found),
        values.size,
        sum(each.n_primary for each in found),
        sum(each.n_complementary for each in found),
        f"{np.median(shares):.2f}" if shares else "",
        *(f"{before} → {after}" for before, after in pairs),
    ]


def _tables(workers: pd.DataFrame, unit: str, all_units: pd.Series | None = None) -> Counts:
    """Counts by industry and earnings of each unit with workers, int64[n, 3, 3]."""
    units = np.unique(workers[unit] if all_units is None else all_units)
    counts = np.zeros((len(units), *SHAPE), dtype=np.int64)
    place = np.searchsorted(units, workers[unit])
    np.add.at(counts, (place, workers["industry"] - 1, workers["earnings"] - 1), workers["count"])
    return counts


def attacked(people: Counts, values: Counts, ties: str) -> Iterator[Unit]:
    """Suppress each unit's table and attack it; units without stars are left out.

    Parameters
    ----------
    people, values : int64[n, 3, 3]
        All workers, and those who are counted.
    ties : {"any", "first"}
        What the attacker knows about the choice among smallest patterns.
    """
    rule = Rule(low=1, high=5, ties="first" if ties == "first" else "any")
    suppressor = OrdinarySuppressor(Layout(4, 4, total_row=True, total_column=True), rule)
    rates = values.sum(axis=0) / np.maximum(people.sum(axis=0), 1)
    for own_people, own_values in zip(people, values, strict=True):
        whole = np.column_stack([own_values, own_values.sum(axis=1)])
        whole = np.vstack([whole, whole.sum(axis=0)])
        stars = suppressor.suppress(whole)
        if stars.any():
            yield _attack(own_people, whole, stars, suppressor, rates)


def _attack(
    people: Counts,
    whole: Counts,
    stars: npt.NDArray[np.bool_],
    suppressor: OrdinarySuppressor,
    rates: npt.NDArray[np.float64],
) -> Unit:
    most = np.pad(people, (0, 1), constant_values=SUPPRESSED)
    given = GivenTable(values=np.where(stars, SUPPRESSED, whole), most=most)
    sums = given.sums()
    listed = list_consistent(sums)
    agrees = agrees_with_rule(listed, stars_of(given, sums), suppressor)
    inner = stars[:-1, :-1]
    cells = people[inner], rates[inner], whole[:-1, :-1][inner]
    stages = [_stage(tables, *cells, suppressor.rule) for tables in (listed, listed[agrees])]
    n_primary = int(np.count_nonzero((cells[2] >= suppressor.rule.low) & (cells[2] <= suppressor.rule.high)))
    pairs = [(before, after) for before, after in zip(*stages, strict=True)]
    return Unit(n_primary, len(cells[2]) - n_primary, float(agrees.mean()), *pairs)


def _stage(
    tables: Counts, people: Counts, rates: npt.NDArray[np.float64], truth: Counts, rule: Rule
) -> tuple[int, int, int, int, int]:
    """Count cells certainly small, known exactly (all; primary), right by mode (primary), and with a moved belief."""
    low, high = tables.min(axis=0), tables.max(axis=0)
    primary = (truth >= rule.low) & (truth <= rule.high)
    exact = low == high
    weights = _weights(tables, people, rates)
    modes = np.array([_mode(column, weights) for column in tables.T])
    mean = weights @ tables / np.maximum(people, 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        shift = np.maximum(np.abs(1 - mean / rates), np.abs(1 - (1 - mean) / (1 - rates)))
    found = (
        (low >= rule.low) & (high <= rule.high),
        exact,
        exact & primary,
        (modes == truth) & primary,
        (shift > BELIEF_MOVED) & (people > 0),
    )
    small, exact_any, exact_primary, right, moved = (int(np.count_nonzero(each)) for each in found)
    return small, exact_any, exact_primary, right, moved


def _weights(tables: Counts, people: Counts, rates: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Posterior of each table if each worker counts independently, at the rate of all units together."""
    ways = gammaln(people + 1) - gammaln(tables + 1) - gammaln(people - tables + 1)
    log_weight = (ways + xlogy(tables, rates) + xlog1py(people - tables, -rates)).sum(axis=1)
    weight = np.exp(log_weight - log_weight.max())
    return np.asarray(weight / weight.sum(), dtype=np.float64)


def _mode(values: Counts, weights: npt.NDArray[np.float64]) -> int:
    """The most probable value of a cell."""
    distinct, place = np.unique(values, return_inverse=True)
    return int(distinct[np.bincount(place, weights).argmax()])


if __name__ == "__main__":
    main()
