"""From measured parts to a result: headline numbers and flat tables."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt
import pandas

from engine.kernels.units import WEIGHT_UNITS
from engine.parameters import PrivacyParameters, SynthesisParameters
from engine.validity import DOMAIN_RANGES, LEVELS, RANGES, range_mass, weighted_mean
from mapapp.analyst.validity.compared_workers import ratio
from mapapp.analyst.validity.confidential_parts import AnalystData
from mapapp.analyst.validity.drawn import DrawnPart, DrawnRelease
from mapapp.analyst.validity.expected_promise import certificate_facts
from mapapp.analyst.validity.part import PriorMass, SettingPart
from mapapp.analyst.validity.prepared_part import DomainPoints
from mapapp.analyst.validity.result import Basis, MeasuredRelease, Scope, Validity
from mapapp.analyst.validity.simulated_draws import NO_CLOSED_FORM
from mapapp.answers.errors.stated_errors import stated_errors
from mapapp.answers.publication import CERTIFICATE
from mapapp.kinds.base.plain_measures import average_commutes, plain_tables, read_sizes, stated_table

Floats = npt.NDArray[np.float64]

SIZE_CLASSES: Final = ((1, 9), (10, 49), (50, 249), (250, 999), (1000, None))
"""Classes of destinations by workers, in which average commutes are compared."""

_LEVEL_ORDER: Final = (2, 1, 0, 3)  # as P10 prints them, and the remainder last


def setting_result(
    data: AnalystData,
    privacy: PrivacyParameters,
    parameters: SynthesisParameters,
    parts: Sequence[SettingPart],
) -> Validity:
    """Put the parts of a setting together."""
    tables = setting_tables(data, parts)
    summary = setting_summary(tables, parts)
    homes = [part.homes for part in parts if part.homes is not None]
    if homes:
        tables |= plain_tables(homes, is_sample=scope(data, parts)["is_sample"])
        real_mi, drawn_mi = average_commutes(homes)
        summary |= {"distance_blocks_real_mi": real_mi, "distance_blocks_drawn_mi": drawn_mi}
    basis: Basis = "simulated" if parameters.mechanism in NO_CLOSED_FORM else "closed form"
    return Validity(
        basis=basis,
        facts={
            "scope": scope(data, parts),
            "parameters": {
                "privacy": privacy.stated(parameters.mechanism),
                "synthesis": parameters.to_dict(),
            },
            "certificate": certificate_facts(privacy, parameters, parts),
        },
        summary=summary,
        tables=tables,
    )


def scope(data: AnalystData, parts: Sequence[SettingPart]) -> Scope:
    """How much of the dataset was measured."""
    n_tracts = sum(part.position.size for part in parts)
    return {
        "tracts_measured": n_tracts,
        "tracts": int(data.tract.size),
        "workers_measured": int(sum(part.n_real[0] for part in parts)),
        "workers": int(data.workplaces.n_workers.sum()),
        "is_sample": n_tracts < data.tract.size,
    }


def setting_tables(data: AnalystData, parts: Sequence[SettingPart]) -> dict[str, pandas.DataFrame]:
    """Tables of a setting; those of a release have more columns."""
    destinations = destination_table(data, parts)
    return {
        "destinations": destinations,
        "tracts": tract_table(data, parts, destinations),
        "ranges": range_table({name: _sum(parts, name) for name in parts[0].cell_sums}),
        "support": _support_table(parts),
        "positive_prior": _positive_table(parts),
        "least_alpha": _least_alpha_table(parts),
        "distances": distance_table(destinations),
    }


def setting_summary(tables: dict[str, pandas.DataFrame], parts: Sequence[SettingPart]) -> dict[str, float]:
    """Headline numbers of a setting."""
    destinations, tracts, classes = tables["destinations"], tables["tracts"], tables["least_alpha"]
    summary = {**average_by_size(destinations, "kl"), **average_by_size(destinations, "imse")}
    times = classes["n_synthesizers"].to_numpy(np.float64)
    n = classes["n_workers"].to_numpy(np.float64)
    for name in ("prior_mass", "kept_prior_mass"):
        summary[name] = weighted_mean(classes[name], times)
    kept = classes["kept_prior_mass"].to_numpy(np.float64)
    summary["prior_worker_share"] = weighted_mean(kept / (n + kept), n * times)
    for name in ("n_support", "n_support_kept"):
        summary[name] = float(tracts[name].mean())
    edited, real = (
        sum((getattr(part, name) for part in parts), np.zeros(2)) for name in ("n_edited_out", "n_real")
    )
    summary["edited_out_all"], summary["edited_out_small"] = ratio(edited, real).tolist()
    for kind in ("real", "expected"):
        summary[f"distance_{kind}_mi"] = weighted_mean(destinations[f"{kind}_mi"], destinations["n_workers"])
    return summary


def average_by_size(destinations: pandas.DataFrame, name: str) -> dict[str, float]:
    """Mean of a measure weighted by workers, over all destinations and over small ones."""
    value, n = destinations[name].to_numpy(np.float64), destinations["n_workers"].to_numpy(np.float64)
    counted = ~np.isnan(value)
    small = destinations["is_small"].to_numpy(np.bool_)
    return {
        f"{name}_all": weighted_mean(value, n, counted),
        f"{name}_small": weighted_mean(value, n, counted & small),
    }


def destination_table(data: AnalystData, parts: Sequence[SettingPart]) -> pandas.DataFrame:
    """One row per destination block."""
    columns: dict[str, npt.NDArray[np.generic]] = {}
    for name in (
        "block",
        "n_workers",
        "is_small",
        "kl",
        "imse",
        "real_mi",
        "expected_mi",
        "real_short_mi",
        "expected_short_mi",
    ):
        columns[name] = np.concatenate([getattr(part.destinations, name) for part in parts])
    block = columns.pop("block")
    return pandas.DataFrame(
        {
            "destination_index": block,
            "block_id": data.block_id[block],
            "tract_index": data.geography.tract_of_block[block],
            **columns,
        }
    )


def tract_table(
    data: AnalystData, parts: Sequence[SettingPart], destinations: pandas.DataFrame
) -> pandas.DataFrame:
    """One row per destination tract, measures weighted by workers."""
    position = np.concatenate([part.position for part in parts])
    tract = data.tract[position]
    row = np.searchsorted(tract, destinations["tract_index"].to_numpy())
    n = destinations["n_workers"].to_numpy(np.float64)
    n_support = np.concatenate([part.domain.after.levels.sum(axis=1) for part in parts])
    table = pandas.DataFrame(
        {
            "position": position,
            "tract_index": tract,
            "tract_id": data.tract_id[tract],
            "n_workers": np.bincount(row, n, tract.size).astype(np.int64),
            "n_destinations": np.bincount(row, minlength=tract.size),
            "n_support": n_support,
            "n_support_kept": np.concatenate([part.n_kept for part in parts]),
        }
    )
    for name in ("kl", "imse", "kl_drawn", "imse_drawn", "moved"):
        if name in destinations:
            table[name] = _weighted_by_row(destinations[name], n, row, tract.size)
    table["kl_small"] = _weighted_by_row(destinations["kl"], n * destinations["is_small"], row, tract.size)
    return table


def _weighted_by_row(
    values: npt.ArrayLike, weight: npt.ArrayLike, row: npt.NDArray[np.int64], n_rows: int
) -> Floats:
    """Weighted means over the destinations of each tract that have a value; NaN where none has."""
    value, n = np.asarray(values, np.float64), np.asarray(weight, np.float64)
    known = ~np.isnan(value) & (n > 0)
    total = np.bincount(row[known], n[known], n_rows)
    return ratio(np.bincount(row[known], (value * n)[known], n_rows), total)


def range_table(cell_sums: dict[str, Floats]) -> pandas.DataFrame:
    """P10's last table: mass by commute range."""
    table: dict[str, object] = {"range": list(RANGES)}
    for row, who in enumerate(("all", "small")):
        for name, cells in cell_sums.items():
            total = cells[row].sum()
            shares = cells[row][None] / total if total > 0 else np.full((1, cells.shape[1]), np.nan)
            table[f"{name}_{who}"] = range_mass(shares, [1.0])
    return pandas.DataFrame(table)


def _sum(parts: Sequence[SettingPart], name: str) -> Floats:
    return np.asarray(sum(part.cell_sums[name] for part in parts))


def _support_table(parts: Sequence[SettingPart]) -> pandas.DataFrame:
    """P10's table of support points: mean, least and greatest over destination tracts."""
    rows = []
    for when, domains in _domains(parts).items():
        levels = np.concatenate([points.levels for points in domains])
        ranges = np.concatenate([points.ranges for points in domains])
        columns = [("total", "all", levels.sum(axis=1))]
        columns += [("level", LEVELS[level], levels[:, level]) for level in _LEVEL_ORDER]
        columns += [("distance", name, ranges[:, at]) for at, name in enumerate(DOMAIN_RANGES)]
        rows += [
            (f"{when} editing", by, name, float(values.mean()), int(values.min()), int(values.max()))
            for by, name, values in columns
        ]
    return pandas.DataFrame(rows, columns=["when", "by", "name", "mean", "min", "max"])


def _positive_table(parts: Sequence[SettingPart]) -> pandas.DataFrame:
    """P10's two tables of points with positive prior counts: mean and standard deviation over destination tracts."""
    columns: dict[str, list[float]] = {}
    for when, domains in _domains(parts).items():
        share = np.concatenate([points.positive for points in domains])
        known = [column[~np.isnan(column)] for column in share.T]
        columns[f"{when}_mean"] = [float(column.mean()) if column.size else math.nan for column in known]
        columns[f"{when}_sd"] = [float(column.std()) if column.size else math.nan for column in known]
    return pandas.DataFrame({"range": [*DOMAIN_RANGES, "all"], **columns})


def _domains(parts: Sequence[SettingPart]) -> dict[str, list[DomainPoints]]:
    return {
        "before": [part.domain.before for part in parts],
        "after": [part.domain.after for part in parts],
    }


def _least_alpha_table(parts: Sequence[SettingPart]) -> pandas.DataFrame:
    """Certified least weights by the workers of a synthesizer."""
    names = (
        "n_workers",
        "n_synthesizers",
        "least_alpha_min",
        "least_alpha_mean",
        "least_alpha_max",
        "prior_mass",
        "kept_prior_mass",
        "prunes",
    )
    masses = [part.prior_mass for part in parts if part.prior_mass]
    if not masses:
        return pandas.DataFrame({name: np.zeros(0) for name in names})
    mass = PriorMass(*map(np.concatenate, zip(*masses, strict=True)))
    certified = [part.certified for part in parts]
    n, row = np.unique(
        np.concatenate([weights.classes.published_count for weights in certified]), return_inverse=True
    )
    n_synthesizers = np.concatenate([weights.n_synthesizers for weights in certified])
    prunes = np.concatenate([weights.prunes for weights in certified])
    alpha = np.concatenate([weights.min_weight for weights in certified]) / WEIGHT_UNITS
    times = np.bincount(row, n_synthesizers, n.size)
    least, most = np.full(n.size, np.inf), np.zeros(n.size)
    np.minimum.at(least, row, alpha)
    np.maximum.at(most, row, alpha)

    def mean(values: Floats) -> Floats:
        return np.asarray(np.bincount(row, values * n_synthesizers, n.size) / times)

    return pandas.DataFrame(
        {
            "n_workers": n,
            "n_synthesizers": times.astype(np.int64),
            "least_alpha_min": least,
            "least_alpha_mean": mean(alpha),
            "least_alpha_max": most,
            "prior_mass": mean(mass.whole),
            "kept_prior_mass": mean(mass.kept),
            "prunes": mean(prunes.astype(np.float64)),
        },
        columns=list(names),
    )


def distance_table(destinations: pandas.DataFrame) -> pandas.DataFrame:
    """Average commutes by class of destinations: means, and how far single destinations are off."""
    n = destinations["n_workers"].to_numpy()
    kinds = [name for name in destinations.columns if name.endswith("_mi")]
    pairs = [
        ("expected_error_mi", "expected_mi", "real_mi"),
        ("expected_short_error_mi", "expected_short_mi", "real_short_mi"),
        ("drawn_error_mi", "drawn_block_mi", "real_block_mi"),
        ("drawn_short_error_mi", "drawn_block_short_mi", "real_block_short_mi"),
    ]
    rows = []
    for least, most in SIZE_CLASSES:
        chosen = destinations[(n >= least) & (n <= (most or np.inf))]
        row: dict[str, object] = {
            "size": f"{least}-{most}" if most else f"{least} or more",
            "n_destinations": len(chosen),
            "n_workers": int(chosen["n_workers"].sum()),
        }
        row |= {name: float(chosen[name].mean()) for name in kinds}
        for name, first, second in pairs:
            if first in chosen:
                row[name] = math.sqrt(float(((chosen[first] - chosen[second]) ** 2).mean()))
        rows.append(row)
    return pandas.DataFrame(rows)


# From measured parts of a release to its result: the tables of a setting with what was drawn beside them, and more.


def _stated_tables(release: DrawnRelease, *, is_sample: bool) -> dict[str, pandas.DataFrame]:
    """What the pages of a release state on average, beside what occurred; nothing on a sample, which it is not of."""
    if is_sample:
        return {}
    stated = stated_errors(release.store, release.store.document(CERTIFICATE), read_sizes())
    return {} if stated is None else {"stated": stated_table(stated)}


def release_result(
    data: AnalystData,
    release: DrawnRelease,
    parts: Sequence[SettingPart],
    drawn: Sequence[DrawnPart],
) -> Validity:
    """Put the parts of a release together."""
    closed = setting_result(data, release.privacy, release.parameters, parts)
    destinations = destination_table(data, parts)
    for name in drawn[0].destinations:
        destinations[name] = np.concatenate([part.destinations[name] for part in drawn])
    is_infinite = destinations.pop("is_infinite")
    cell_sums = {name: np.asarray(sum(part.cell_sums[name] for part in parts)) for name in parts[0].cell_sums}
    cell_sums["drawn"] = np.asarray(sum(part.cells for part in drawn))
    tables = closed.tables | {
        "destinations": destinations,
        "tracts": tract_table(data, parts, destinations),
        "ranges": range_table(cell_sums),
        "distances": distance_table(destinations),
        **plain_tables([part.homes for part in drawn], is_sample=closed.facts["scope"]["is_sample"]),
        **_stated_tables(release, is_sample=closed.facts["scope"]["is_sample"]),
    }
    summary = dict(closed.summary)
    for name in ("kl_drawn", "imse_drawn", "moved"):
        summary |= average_by_size(destinations, name)
    summary |= average_by_size(destinations.assign(infinite=is_infinite), "infinite")
    for who in ("real", "drawn"):
        summary[f"distance_blocks_{who}_mi"] = weighted_mean(
            destinations[f"{who}_block_mi"], destinations["n_workers"]
        )
    n_lone = sum(part.lone_workers for part in drawn)
    summary["lone_in_tract"] = sum(part.lone_in_tract for part in drawn) / n_lone if n_lone else math.nan
    chances = closed.facts["certificate"]["lone_worker"]["true_tract"]
    summary["lone_in_tract_expected"] = float(chances["typical"]) if isinstance(chances, dict) else math.nan
    return Validity(
        basis="release",
        facts={
            **closed.facts,
            "closed_form": closed.basis,
            "release": _release_facts(release),
        },
        summary=summary,
        tables=tables,
    )


def _release_facts(release: DrawnRelease) -> MeasuredRelease:
    certificate = release.certificate
    return {
        "path": str(release.store.path),
        "status": certificate.status,
        "epsilon_final": certificate.epsilon_final.value,
        "delta": certificate.delta.value,
        "is_of_these_counts": release.is_of_these_counts,
    }
