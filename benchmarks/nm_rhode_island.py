"""Tables with suppressed cells of a real dataset, for three priors; `benchmarks.nm_figures --only ri` prints them.

The priors: "redrawn" draws the data from the prior, the case that the theorem speaks of; "half" takes the prior from a
random half of the jobs and the table from the other half; "column" is one rate for each column, a careless prior made
from the table itself. Every prior has five pseudo-workers at the rate of its column. Rates are rounded to 2^-30.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from benchmarks.replications import line, opened, table
from engine.suppression.cells import releasable, safe_intervals
from engine.suppression.rates import Rates
from engine.suppression.rows import suppress_rows
from engine.suppression.sum_tree import SumTree, suppress_tree
from engine.suppression.suppressed import share_delta
from geodata.store.store import Store, open_store

PROMISES: Final = (("0.2", "0.1"), ("0.5", "0.1"), ("0.5", "0.001"), ("0.9", "0.1"))
UNITS: Final = 2**30
PSEUDO_WORKERS: Final = 5
SEGMENTS: Final = ("industry", "earnings")
MOST_ORIGINS: Final = 60
LEAST_EXPECTED: Final = 0.5

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


class Question(NamedTuple):
    """A table: its unit of work, its columns, and which workers it counts."""

    unit: str
    columns: tuple[str, ...]
    counted: str

    def __str__(self) -> str:
        return f"{self.unit} × {' × '.join(self.columns)}, {self.counted}"


QUESTIONS: Final = (
    Question("county", SEGMENTS, "same town"),
    Question("town", ("industry",), "same town"),
    Question("town", SEGMENTS, "same town"),
    Question("town", ("industry",), "more than $3,333"),
    Question("tract", ("industry",), "outside the state"),
    Question("tract", SEGMENTS, "outside the state"),
)
FLOWS: Final = (("county", "county"), ("puma", "puma"), ("town", "town"), ("tract", "town"))


class Counted(NamedTuple):
    """People and counted people of each cell, and each cell's column."""

    people: Ints
    values: Ints
    column: Ints


def read_jobs(path: Path) -> pd.DataFrame:
    """One row a job: units of work and home, segments, and what can be counted."""
    store = opened(path)
    jobs = with_units(store, store.table("jobs"))
    return jobs.loc[jobs.index.repeat(jobs["count"].to_numpy())].reset_index(drop=True)


def with_units(store: Store, jobs: pd.DataFrame) -> pd.DataFrame:
    """Jobs with the units of work and of home, and what can be counted."""
    town = "layer_ctycsub" if "layer_ctycsub" in store.columns("blocks") else "puma_id"
    sources = {
        "county": "county_id",
        "puma": "puma_id",
        "town": town,
        "tract": "tract_index",
        "state": "state_id",
    }
    blocks = store.table("blocks", list(dict.fromkeys(sources.values())))
    found = jobs[["industry", "earnings", "count"]].copy()
    for name, column in sources.items():
        codes, _ = pd.factorize(blocks[column])
        found[name] = codes[jobs["destination_index"].to_numpy()]
        found[f"home {name}"] = codes[jobs["origin_index"].to_numpy()]
    found["same town"] = found["town"] == found["home town"]
    found["outside the state"] = found["state"] != found["home state"]
    found["more than $3,333"] = found["earnings"] == 3
    return found


def count(
    jobs: pd.DataFrame, question: Question, like: pd.MultiIndex | None = None
) -> tuple[Counted, pd.MultiIndex]:
    """Cells of a table with people in them; with `like`, those of another."""
    keys = [question.unit, *question.columns]
    cells = jobs.groupby(keys)[question.counted].agg(["size", "sum"])
    index = pd.MultiIndex.from_tuples(
        [one if isinstance(one, tuple) else (one,) for one in (cells.index if like is None else like)]
    )
    cells.index = pd.MultiIndex.from_tuples(
        [one if isinstance(one, tuple) else (one,) for one in cells.index]
    )
    cells = cells.reindex(index, fill_value=0)
    column, _ = pd.factorize(pd.Series([one[1:] for one in index]))
    people, values = cells["size"].to_numpy(np.int64), cells["sum"].to_numpy(np.int64)
    return Counted(people, values, column.astype(np.int64)), index


def column_rates(counted: Counted) -> Floats:
    """The rate of each cell's column."""
    people = np.bincount(counted.column, counted.people)
    return (np.bincount(counted.column, counted.values) / np.maximum(people, 1))[counted.column]


def smoothed(counted: Counted) -> Rates:
    """Rates of cells with pseudo-workers at the column's rate."""
    return rounded(
        (counted.values + PSEUDO_WORKERS * column_rates(counted)) / (counted.people + PSEUDO_WORKERS)
    )


def rounded(rates: Floats) -> Rates:
    numerator = np.clip(np.round(rates * UNITS), 1, UNITS - 1).astype(np.int64)
    return Rates(numerator=numerator, denominator=np.full(rates.size, UNITS))


def print_tables(path: Path, seed: int) -> None:
    """Cells released (share of the people in them) of each table, prior, and promise."""
    jobs = read_jobs(path)
    half = np.random.default_rng(seed).random(len(jobs)) < 0.5
    head = [f"epsilon {epsilon}, delta {delta}" for epsilon, delta in PROMISES]
    table(
        "table",
        "prior",
        "cells",
        *head,
        "released outside their interval",
        "released until the first of them",
    )
    for question in QUESTIONS:
        for name, people, rates, values in priors(jobs, half, question, seed):
            results = [decide(people, rates, values, *promise) for promise in PROMISES]
            shown = [f"{one.released} ({one.share:.2f})" for one in results]
            outside, until = (
                " / ".join(str(number) for number in numbers)
                for numbers in ([one.outside for one in results], [one.until_breach for one in results])
            )
            line(question, name, people.size, *shown, outside, until)


def priors(
    jobs: pd.DataFrame, half: npt.NDArray[np.bool_], question: Question, seed: int
) -> Iterator[tuple[str, Ints, Rates, Ints]]:
    """Name, people, prior and values of a table under each prior."""
    counted, index = count(jobs, question)
    rates = smoothed(counted)
    chance = rates.numerator / UNITS
    yield "redrawn", counted.people, rates, np.random.default_rng(seed).binomial(counted.people, chance)
    other, _ = count(jobs[half], question, index)
    table_half, _ = count(jobs[~half], question, index)
    there = table_half.people > 0
    of_half = smoothed(other)
    yield (
        "half",
        table_half.people[there],
        Rates(numerator=of_half.numerator[there], denominator=of_half.denominator[there]),
        table_half.values[there],
    )
    yield "column", counted.people, rounded(column_rates(counted)), counted.values


class Outcome(NamedTuple):
    """Cells released, the share of people in them, those outside their own safe interval, and cells up to the first.

    Only the last number applies the stop at the first breach. The others show all cells that a prior leads astray.
    """

    released: int
    share: float
    outside: int
    until_breach: int


def decide(people: Ints, rates: Rates, values: Ints, epsilon: str, delta: str) -> Outcome:
    """What is released of a table."""
    promised = Fraction(epsilon)
    released = releasable(people, rates, promised, share_delta(Fraction(delta), people.size))
    low, high = safe_intervals(people, rates, promised)
    outside = released & ((values < low) | (values > high))
    stop = int(np.argmax(outside)) + 1 if outside.any() else people.size
    share = float(people[released].sum() / people.sum())
    return Outcome(int(released.sum()), share, int(outside.sum()), int(released[:stop].sum()))


def print_totals(path: Path, seed: int) -> None:
    """Totals released and cells released, if totals are decided first; data drawn from the prior."""
    jobs = read_jobs(path)
    table("with totals, epsilon 0.5, delta 0.1", "totals", "cells", "cells without totals", "derived")
    for question in QUESTIONS[:3]:
        counted, index = count(jobs, question)
        rates = smoothed(counted)
        values = np.random.default_rng(seed).binomial(counted.people, rates.numerator / UNITS)
        alone = decide(counted.people, rates, values, "0.5", "0.1")
        row, _ = pd.factorize(pd.Series([one[0] for one in index]))
        for name, line_of in (("rows", row), ("columns", counted.column)):
            n_lines = int(line_of.max()) + 1
            tree = SumTree(
                parent=np.concatenate((np.full(n_lines, -1), line_of)),
                type_ptr=np.concatenate((np.zeros(n_lines, np.int64), np.arange(row.size + 1))),
                type_people=counted.people,
                type_rates=rates,
            )
            all_values = np.concatenate((np.bincount(line_of, values).astype(np.int64), values))
            found = suppress_tree(
                tree,
                all_values,
                epsilon=Fraction("0.5"),
                decision_delta=share_delta(Fraction("0.1"), len(tree)),
            )
            of_lines, of_cells = found.released[:n_lines], found.released[n_lines:]
            line(
                f"{question}, {name}",
                f"{of_lines.sum()} of {n_lines}",
                f"{of_cells.sum()} of {row.size}",
                alone.released,
                int(found.derived.sum()),
            )


def print_flows(path: Path, release: Path | None, seed: int) -> None:
    """Flows released (share of the jobs) by unit of work and home."""
    jobs = read_jobs(path)
    half = np.random.default_rng(seed).random(len(jobs)) < 0.5
    table("work → home", "prior", "tried", "epsilon 0.2", "epsilon 0.5", "rows with a breach")
    for work, home in FLOWS:
        sources: list[tuple[str, pd.DataFrame, pd.DataFrame]] = [
            ("redrawn", jobs, jobs),
            ("half", jobs[half], jobs[~half]),
        ]
        if release is not None:
            store = open_store(release, "release")
            own = with_units(store, store.table("jobs"))
            sources.append(("our own release", own.loc[own.index.repeat(own["count"].to_numpy())], jobs))
        for name, known, truth in sources:
            flows = Flows.of(known, truth, work, home)
            if name == "redrawn":
                flows = flows.redrawn(seed)
            results = [flows.decide(Fraction(epsilon)) for epsilon in ("0.2", "0.5")]
            shown = [f"{released} ({share:.3f})" for released, share, _ in results]
            line(
                f"{work} → {home}",
                name,
                flows.tried,
                *shown,
                f"{results[0][2]} / {results[1][2]} of {len(flows.rows)}",
            )


class Flows(NamedTuple):
    """Workers of each unit of work, the shares of their homes under the prior, and their counts; [W, H]."""

    rows: Ints
    shares: Floats
    counts: Ints

    @classmethod
    def of(cls, known: pd.DataFrame, truth: pd.DataFrame, work: str, home: str) -> Flows:
        """Flows of some jobs, with a prior from others, smoothed toward the overall shares of homes."""
        works = np.unique(truth[work])
        homes = np.unique(np.concatenate((known[f"home {home}"], truth[f"home {home}"])))
        earlier, counts = (
            pd.crosstab(jobs[work], jobs[f"home {home}"])
            .reindex(index=works, columns=homes, fill_value=0)
            .to_numpy()
            for jobs in (known, truth)
        )
        overall = earlier.sum(axis=0) / earlier.sum()
        shares = earlier + PSEUDO_WORKERS * overall
        return cls(counts.sum(axis=1), shares / shares.sum(axis=1, keepdims=True), counts)

    def redrawn(self, seed: int) -> Flows:
        """The same prior, and counts drawn from it."""
        return self._replace(counts=np.random.default_rng(seed).multinomial(self.rows, self.shares))

    def _order(self) -> list[Ints]:
        """Origins tried in each row, the most expected first."""
        expected = self.rows[:, None] * self.shares
        order = np.argsort(-expected, axis=1, kind="stable")[:, :MOST_ORIGINS]
        return [row[expected[at, row] > LEAST_EXPECTED] for at, row in enumerate(order)]

    @property
    def tried(self) -> int:
        """Origins tried in all rows."""
        return sum(row.size for row in self._order())

    def decide(self, epsilon: Fraction) -> tuple[int, float, int]:
        """Flows released, share of jobs in them, and rows that stop at a breach. Each row is decided by itself."""
        released, jobs, broken, order = 0, 0, 0, self._order()
        q = share_delta(Fraction(1, 10), self.counts.size)
        for row, homes in enumerate(order):
            numerator = np.maximum(1, np.floor(self.shares[row, homes] * (UNITS - MOST_ORIGINS))).astype(
                np.int64
            )
            found = suppress_rows(
                self.rows[row : row + 1],
                np.array([0, homes.size]),
                Rates(numerator=numerator, denominator=np.full(homes.size, UNITS)),
                self.counts[row, homes],
                epsilon=epsilon,
                decision_delta=q,
            )
            released += int(found.released.sum())
            jobs += int(self.counts[row, homes][found.released].sum())
            broken += found.breach >= 0
        return released, jobs / float(self.counts.sum()), broken


def print_all(dataset: Path, release: Path | None, seed: int) -> None:
    """All tables of results."""
    print_tables(dataset, seed)
    print_totals(dataset, seed)
    print_flows(dataset, release, seed)
