"""P08's two experiments again: `python -m benchmarks.p08_experiments [--data DIR | --dataset DATASET] [--output DIR]`.

Blocks are the support points, without coarsening; 120 workplace blocks are chosen at random, each with all its workers
in one synthesizer; epsilon is 4.6 and delta 1e-5. The domain of a workplace is every block within 200 miles (experiment
1) or within 100 (experiment 2); who lives farther away is left out of the data too. Empty blocks stay with probability
f, the histogram of a public distribution of commute distances, at least 0.0378. Average commutes per workplace are
compared with the real ones, over all commutes and over those shorter than 6.23 miles, the median (Figures 1 to 4).

Three ways to set alpha: as P08 prints it, by its Theorems 4.1 and 4.4 for each workplace's own n and k, and by the
sound accountant at the same whole promise. The choice of `--design auto`, with coarsening, is listed beside them.

Source: P08 section VI; docs/theory/method.md, sections 9 and 10.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas

from benchmarks.p10_sweeps import TITLES, designed
from benchmarks.replications import (
    datasets,
    line,
    one_synthesizer,
    opened,
    replication_parser,
    save,
    table,
    without_elsewhere,
)
from engine.accountant.paper import SynthesizerClasses
from engine.accountant.sound import certify_sound
from engine.accountant.theorems import least_prior_weight, pruned_epsilon
from engine.kernels.units import RETENTION_UNITS, WEIGHT_UNITS
from engine.mechanisms.dirichlet_multinomial import Synthesizers, synthesize
from engine.parameters import PrivacyParameters
from engine.streams import SecretKey
from engine.support.support_table import SupportTable
from geodata.geography.distance import distance_mi
from geodata.store.store import Store
from mapapp.analyst.validity.validity import measure_setting
from mapapp.show.content import palette

Floats = npt.NDArray[np.float64]

EPSILON, DELTA, LEAST_F = Fraction("4.6"), "1e-5", 0.0378
EXPERIMENTS = {200.0: 0.01245, 100.0: 0.039764}
"""Radius of the domain in miles, and the least alpha that P08 prints for it."""

SHORT_MI = 6.23
N_DRAWS, CHOICE = 20, 2008
SURVIVAL = ((0.0, 1.0), (6.23, 0.5), (13.1, 0.25), (21.54, 0.1), (200.0, 0.01))
"""Share of commutes longer than these miles: P08's percentiles of the Minnesota CTPP, the last "beyond the 99th"."""

SIZES = ((1, 9), (10, 49), (50, None))
LENGTHS = ((0.0, SHORT_MI, "short"), (SHORT_MI, 21.54, "moderate"), (21.54, math.inf, "long"))
WAYS = ("printed", "theorems", "sound")
SMALLEST = ("--only", "metro", "--size", "small", "--destinations", "4", "--output", "{folder}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Workplace:
    """One destination block: its domain and its workers, one synthesizer."""

    block: int
    distance_mi: Floats
    worker_point: npt.NDArray[np.int32]


def histogram_retention(distance: Floats) -> Floats:
    """f of blocks at a distance: share of commutes in their band of 6.23 miles over that of the nearest band."""
    at, share = (np.array(column) for column in zip(*SURVIVAL, strict=True))
    band = np.floor(distance / SHORT_MI)
    longer = [np.exp(np.interp(edge * SHORT_MI, at, np.log(share))) for edge in (band, band + 1)]
    return np.asarray(np.clip((longer[0] - longer[1]) / 0.5, LEAST_F, 1.0))


def workplaces(store: Store, radius_mi: float, n_destinations: int) -> Iterator[Workplace]:
    """The chosen destinations with the blocks and the workers within a radius; none without such workers."""
    blocks = store.table("blocks", ["lon_deg", "lat_deg", "elsewhere"])
    lon, lat = blocks["lon_deg"].to_numpy(), blocks["lat_deg"].to_numpy()
    inside = ~blocks["elsewhere"].to_numpy(bool)
    jobs = store.table("jobs", ["destination_index", "origin_index", "count"]).sort_values(
        "destination_index"
    )
    all_blocks = np.unique(jobs["destination_index"])
    chosen = np.random.default_rng(CHOICE).choice(all_blocks, n_destinations, replace=False)
    for block in np.sort(chosen):
        distance = distance_mi(lon[block], lat[block], lon, lat)
        domain = np.flatnonzero(inside & (distance < radius_mi))
        mine = jobs[jobs["destination_index"] == block]
        home = np.repeat(mine["origin_index"].to_numpy(), mine["count"].to_numpy())
        point = np.minimum(np.searchsorted(domain, home), domain.size - 1)
        known = domain[point] == home
        if known.any():
            yield Workplace(
                block=int(block), distance_mi=distance[domain], worker_point=point[known].astype(np.int32)
            )


def least_alpha(one: Workplace, way: str, radius_mi: float, retention: npt.NDArray[np.int64]) -> float:
    """Prior workers of every block."""
    n, k = one.worker_point.size, one.distance_mi.size
    if way == "printed":
        return EXPERIMENTS[radius_mi]
    if way == "theorems":
        return least_prior_weight(n, n, k, EPSILON, DELTA).weight
    prior = SupportTable(
        support_ptr=np.array([0, k]), base_weight=np.ones(k, dtype=np.int64), retention=retention
    )
    count = np.array([n], dtype=np.int64)
    classes = SynthesizerClasses(tract=np.array([0]), likelihood_count=count, published_count=count)
    least = Fraction(int(retention.min()), RETENTION_UNITS)
    whole = PrivacyParameters(
        epsilon=pruned_epsilon(EPSILON, least), delta=DELTA, min_retention=least, accountant="sound"
    )
    return float(certify_sound(prior, classes, whole).min_weight[0] / WEIGHT_UNITS)


def measured(one: Workplace, way: str, radius_mi: float) -> dict[str, Any]:
    """Average commutes of one workplace: real, expected and drawn."""
    n, k = one.worker_point.size, one.distance_mi.size
    retention = np.minimum(np.ceil(histogram_retention(one.distance_mi) * RETENTION_UNITS), RETENTION_UNITS)
    retention = retention.astype(np.int64)
    units = math.ceil(least_alpha(one, way, radius_mi, retention) * WEIGHT_UNITS)
    alpha = units / WEIGHT_UNITS
    kept = alpha * retention / RETENTION_UNITS
    kept[one.worker_point] = alpha
    real = np.bincount(one.worker_point, minlength=k)
    short = one.distance_mi < SHORT_MI
    row = {"block": one.block, "way": way, "n": n, "k": k, "alpha": alpha, "added": float(kept.sum())}
    for name, weight in (("real", real), ("expected", real + kept)):
        row[name] = mean(one.distance_mi, weight)
        row[f"{name}_short"] = mean(one.distance_mi[short], weight[short])
        row[f"{name}_short_of_all"] = mean(np.where(short, one.distance_mi, 0.0), weight)
    support = SupportTable(
        support_ptr=np.array([0, k]),
        base_weight=np.full(k, units, dtype=np.int64),
        retention=retention,
    )
    drawn = one.distance_mi[draws(one, support, units)]
    row["drawn_once"] = float(drawn[0].mean())
    row["drawn_once_short"] = mean(drawn[0], (drawn[0] < SHORT_MI).astype(float))
    row["error"] = float(np.sqrt(((drawn.mean(axis=1) - row["real"]) ** 2).mean()))
    row["drawn_far"] = float((drawn >= 21.54).mean())
    row["real_far"] = mean((one.distance_mi >= 21.54).astype(float), real)
    return row


def draws(one: Workplace, support: SupportTable, units: int) -> npt.NDArray[np.int32]:
    """Support points of the synthetic workers of some draws under the test key: int32[N_DRAWS, n]."""
    n = one.worker_point.size
    again = np.arange(N_DRAWS)
    synthesizers = Synthesizers(
        tract=np.zeros(N_DRAWS, dtype=np.int32),
        destination=np.full(N_DRAWS, one.block, dtype=np.int64),
        segment=again,
        worker_ptr=np.arange(N_DRAWS + 1) * n,
        worker_point=np.tile(one.worker_point, N_DRAWS),
        min_prior_weight=np.full(N_DRAWS, units, dtype=np.int64),
    )
    drawn = synthesize(SecretKey.for_tests(), synthesizers, support, certain_above=WEIGHT_UNITS)
    return drawn.synthetic_point.reshape(N_DRAWS, n)


def mean(values: npt.NDArray[Any], weight: npt.NDArray[Any]) -> float:
    total = weight.sum()
    return float(values @ weight / total) if total > 0 else math.nan


def experiment(store: Store, radius_mi: float, n_destinations: int) -> pandas.DataFrame:
    """All workplaces with all ways to set alpha."""
    some = workplaces(store, radius_mi, n_destinations)
    rows = [measured(one, way, radius_mi) for one in some for way in WAYS]
    return pandas.DataFrame(rows)


def with_design(store: Store, found: pandas.DataFrame) -> pandas.DataFrame:
    """What the chosen setting is expected to give for the same workplaces, between tract centres."""
    data = without_elsewhere(store)
    least = Fraction(math.ceil(LEAST_F * RETENTION_UNITS), RETENTION_UNITS)
    whole = PrivacyParameters(epsilon=pruned_epsilon(EPSILON, least), delta=DELTA, accountant="sound")
    rows = measure_setting(data, *designed(data, whole)).tables["destinations"]
    rows = rows[rows["destination_index"].isin(found["block"])]
    return pandas.DataFrame(
        {
            "way": "design",
            "n": rows["n_workers"],
            "real": rows["real_mi"],
            "expected": rows["expected_mi"],
            "real_short": rows["real_short_mi"],
            "expected_short": rows["expected_short_mi"],
        }
    )


def summary_tables(found: Mapping[float, pandas.DataFrame], design: pandas.DataFrame) -> None:
    table(
        "domain", "alpha", "mean alpha", "prior workers added", "real mi", "expected mi",
        *(f"root mean squared error, {size_name(*size)}" for size in SIZES), "drawn: the same", "real short mi",
        "expected short mi", "real short miles per worker", "expected", "beyond 21.54 mi: real", "drawn",
    )  # fmt: skip
    for radius_mi, rows in found.items():
        for way in WAYS:
            mine = rows[rows["way"] == way]
            drawn = [f"{root(mine[sized(mine, size)]['error']):.2f}" for size in SIZES]
            line(
                f"{radius_mi:g} mi", way, mine["alpha"].mean(), f"{mine['added'].mean():.0f}", *commutes(mine),
                ", ".join(drawn), *short_commutes(mine),
                *(f"{mine[f'{name}_short_of_all'].mean():.2f}" for name in ("real", "expected")),
                f"{mine['real_far'].mean():.3f}",
                f"{mine['drawn_far'].mean():.3f}",
            )  # fmt: skip
    line("none", "design", "", "", *commutes(design), "", *short_commutes(design), "", "", "", "")


def commutes(rows: pandas.DataFrame) -> list[str]:
    errors = [(rows["expected"] - rows["real"])[sized(rows, size)] for size in SIZES]
    return [f"{rows[name].mean():.2f}" for name in ("real", "expected")] + [
        f"{root(one):.2f}" for one in errors
    ]


def short_commutes(rows: pandas.DataFrame) -> list[str]:
    known = rows.dropna(subset=["real_short"])
    return [f"{known[name].mean():.2f}" for name in ("real_short", "expected_short")]


def root(errors: pandas.Series) -> float:
    return math.sqrt(float((errors**2).mean()))


def sized(rows: pandas.DataFrame, size: tuple[int, int | None]) -> pandas.Series:
    return (rows["n"] >= size[0]) & (rows["n"] <= (size[1] or math.inf))


def size_name(least: int, most: int | None) -> str:
    return f"n {least}–{most}" if most else f"n ≥ {least}"


def bias_table(found: Mapping[float, pandas.DataFrame]) -> None:
    """How much longer commutes are expected to be than they are, by how long they are."""
    print("\nexpected minus real average commute, miles, by the real average of the workplace")
    table("alpha", *(f"{radius:g} mi: {name}" for radius in found for _, _, name in LENGTHS))
    for way in WAYS:
        cells = []
        for rows in found.values():
            for least, most, _ in LENGTHS:
                mine = rows[(rows["way"] == way) & (rows["real"] >= least) & (rows["real"] < most)]
                cells.append(f"{(mine['expected'] - mine['real']).mean():.2f} ({len(mine)})")
        line(way, *cells)


def picture(short: str, found: Mapping[float, pandas.DataFrame], n_destinations: int, output: Path) -> None:
    """P08's Figures 1 to 4."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 7.5), dpi=110, layout="constrained")
    axes = figure.subplots(2, 2, sharex=True)
    for (radius_mi, rows), pair in zip(found.items(), axes, strict=True):
        for ax, which in zip(pair, ("", "_short"), strict=True):
            real = rows[rows["way"] == "printed"]
            ax.scatter(real["n"], real[f"real{which}"], s=16, color=palette.INK, label="real")
            for way, mark, colour in (("printed", "x", palette.WORK), ("sound", "+", palette.HOME)):
                mine = rows[rows["way"] == way]
                label = f"drawn, alpha {'as printed' if way == 'printed' else 'by the sound accountant'}"
                ax.scatter(
                    mine["n"],
                    mine[f"drawn_once{which}"],
                    s=22,
                    marker=mark,
                    linewidths=1,
                    color=colour,
                    label=label,
                )
            ax.set_xscale("log")
            ax.set_ylim(bottom=0)
            number = (1 if radius_mi == 200 else 3) + bool(which)
            ax.set_title(
                f"As Figure {number}: domain within {radius_mi:g} mi, {'short' if which else 'all'} commutes",
                fontsize=9,
            )
            ax.set_ylabel("average commute, miles", fontsize=9)
        pair[0].legend(fontsize=8)
    for ax in axes[1]:
        ax.set_xlabel("workers of the workplace block", fontsize=9)
    figure.suptitle(f"{TITLES[short]}: {n_destinations} workplace blocks at random (P08)", fontsize=11)
    save(figure, output / f"p08-{short}.png")


def argument_parser() -> argparse.ArgumentParser:
    parser = replication_parser(__doc__)
    parser.add_argument("--destinations", type=int, default=120, help="number of workplace blocks")
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    options = argument_parser().parse_args(arguments)
    with datasets(options) as (paths, _):
        for short, path in paths.items():
            store = one_synthesizer(opened(path))
            count = options.destinations
            found = {radius_mi: experiment(store, radius_mi, count) for radius_mi in EXPERIMENTS}
            print(f"\n{TITLES[short]}: epsilon {float(EPSILON):g}, delta {DELTA}")
            for radius_mi, rows in found.items():
                first = rows[rows["way"] == "printed"]
                print(
                    f"within {radius_mi:g} miles: {len(first)} workplaces, n mean {first['n'].mean():.1f}, median "
                    f"{first['n'].median():.0f}; k mean {first['k'].mean():,.0f}, most {first['k'].max():,}"
                )
            summary_tables(found, with_design(store, found[200.0]))
            bias_table(found)
            picture(short, found, count, options.output)


if __name__ == "__main__":
    main()
